import type { ThreadId } from "../../lib/ids.js";
import { lazily } from "../../lib/promises.js";
import type { Engine, EngineThread, ThreadOpening } from "../../threads/engine.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { ThreadSettings } from "../../threads/settings.js";
import { Conversation } from "./conversation.js";
import { findUserInstructions, initialContext } from "./instructions.js";
import type { ModelClient } from "./model/client.js";
import { checkEffort, withOfferedEffort } from "./model/efforts.js";
import { History } from "./model/items.js";
import { ResponsesClient } from "./model/responses.js";
import type { ServiceSources } from "./services/nativeServices.js";
import { openThreadTools } from "./threadTools.js";
import { HostEnvironment, type HostOptions } from "./tools/hostEnvironment.js";
import { ThreadFiles } from "./tools/threadFiles.js";
import { runTurn } from "./turn.js";

export interface NativeEngineOptions extends HostOptions {
  readonly userAgent: string;
  /** Absent: the engine runs turns and does nothing else. */
  readonly services?: ServiceSources;
  /** What is shared with others who run programs; made by the engine where it is not given. The engine closes it. */
  readonly host?: HostEnvironment;
}

/** The agent loop in this process, on the Responses API of any configured provider. */
export function createNativeEngine(options: NativeEngineOptions): Engine {
  const { codexHome, env, userAgent, services } = options;
  const host = options.host ?? new HostEnvironment(options);
  const clientFor: ClientFactory = ({ provider }, threadId) => new ResponsesClient({ provider, codexHome, env, userAgent, threadId });
  const loaded =
    services && lazily(async () => (await import("./services/nativeServices.js")).nativeServices(services, host, { userAgent }));
  return {
    name: "native",
    openThread: (opening) => openNativeThread(opening, host, clientFor),
    ...(loaded && { services: () => loaded.get() }),
    close: () => host.close(),
  };
}

export type ClientFactory = (settings: ThreadSettings, threadId: ThreadId) => ModelClient;

/** A thread of the loop, on whatever answers its model requests. */
export async function openNativeThread(
  { id, settings: asked, history, reach }: ThreadOpening,
  host: HostEnvironment,
  clientFor: ClientFactory,
): Promise<EngineThread> {
  if (!history) checkEffort(asked);
  const settings = withOfferedEffort(asked);
  const instructions = await findUserInstructions(settings, {
    codexHome: host.codexHome,
    // Asked only where there are instructions.
    mayRead: (file) =>
      new ThreadFiles(settings, host, { running: { reach }, workspace: host.workspaceOf(settings.cwd) }).mayReadUnasked(file),
  });
  const context = initialContext(settings, { userInstructions: instructions.text, env: host.env });
  const sandboxBackend = await host.sandboxBackend(settings.sandboxPolicy);
  const threadTools = await openThreadTools(settings, host);
  const conversation = new Conversation({
    threadId: id,
    settings,
    initialContext: context,
    history: new History(history?.items ?? context),
    client: clientFor(settings, id),
    threadTools,
    sandboxBackend,
    usage: history?.usage ?? null,
  });
  const leftOut = (settings.leftOutServers ?? []).map(({ warning }) => warning);
  const opening: ThreadEvent[] = [
    ...context.map((item): ThreadEvent => ({ type: "contextItem", item })),
    ...threadTools.news(),
    ...[...leftOut, ...instructions.warnings, ...(await threadTools.ruleWarnings())].map(
      (message): ThreadEvent => ({ type: "warning", message }),
    ),
  ];
  return {
    opening,
    sandboxBackend,
    run: (input, ctx) => runTurn(conversation, input, ctx),
    get keepsRunning() {
      return threadTools.keepsRunning;
    },
    steer: async (text) => conversation.steering.add(text),
    close: () => threadTools.close(),
  };
}
