import type { ThreadId } from "../../lib/ids.js";
import { lazily } from "../../lib/lazily.js";
import type { Engine, EngineThread, ThreadOpening } from "../../threads/engine.js";
import type { ThreadEvent } from "../../threads/events.js";
import { leftOutWarnings, type ThreadSettings } from "../../threads/settings.js";
import { findUserInstructions } from "./agentsMd.js";
import { Conversation } from "./conversation.js";
import { History } from "./history.js";
import type { ModelClient } from "./model/client.js";
import { ResponsesClient } from "./model/responses.js";
import { initialContext } from "./prompt.js";
import type { ServiceSources } from "./services/nativeServices.js";
import { Machine, type MachineOptions } from "./tools/machine.js";
import { ThreadFiles } from "./tools/threadFiles.js";
import { openToolbox } from "./tools/toolbox.js";
import { runTurn } from "./turn.js";

export interface NativeEngineOptions extends MachineOptions {
  readonly userAgent: string;
  /** Absent: the engine runs turns and does nothing else. */
  readonly services?: ServiceSources;
}

/** The agent loop in this process, on the Responses API of any configured provider. */
export function createNativeEngine(options: NativeEngineOptions): Engine {
  const { codexHome, env, userAgent, services } = options;
  const machine = new Machine(options);
  const clientFor: ClientFactory = ({ provider }, threadId) => new ResponsesClient({ provider, codexHome, env, userAgent, threadId });
  return {
    name: "native",
    openThread: (opening) => openNativeThread(opening, machine, clientFor),
    ...(services && {
      services: lazily(async () => (await import("./services/nativeServices.js")).nativeServices(services, machine, { userAgent })).get,
    }),
    close: () => machine.close(),
  };
}

export type ClientFactory = (settings: ThreadSettings, threadId: ThreadId) => ModelClient;

/** A thread of the loop, on whatever answers its model requests. */
export async function openNativeThread(
  { id, settings, history, reach }: ThreadOpening,
  machine: Machine,
  clientFor: ClientFactory,
): Promise<EngineThread> {
  const instructions = await findUserInstructions(settings, {
    codexHome: machine.codexHome,
    mayRead: new ThreadFiles(settings, machine, { running: { reach }, workspace: machine.workspaceOf(settings.cwd) }).mayReadUnasked,
  });
  const context = initialContext(settings, instructions.text);
  const sandboxBackend = await machine.sandboxBackend(settings.sandboxPolicy);
  const toolbox = await openToolbox(settings, machine);
  const conversation = new Conversation({
    threadId: id,
    settings,
    initialContext: context,
    history: new History(history?.items ?? context),
    client: clientFor(settings, id),
    toolbox,
    sandboxBackend,
    usage: history?.usage ?? null,
  });
  const opening: ThreadEvent[] = [
    ...context.map((item): ThreadEvent => ({ type: "contextItem", item })),
    ...toolbox.news(),
    ...[...leftOutWarnings(settings), ...instructions.warnings, ...(await toolbox.ruleWarnings())].map(
      (message): ThreadEvent => ({ type: "warning", message }),
    ),
  ];
  return {
    opening,
    sandboxBackend,
    run: (input, ctx) => runTurn(conversation, input, ctx),
    get keepsRunning() {
      return toolbox.keepsRunning;
    },
    steer: async (text) => conversation.steering.offer(text),
    close: () => toolbox.close(),
  };
}
