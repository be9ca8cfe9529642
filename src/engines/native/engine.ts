import type { ThreadId } from "../../lib/ids.js";
import { type Lazy, lazily } from "../../lib/promises.js";
import type { Engine, EngineThread, ThreadOpening } from "../../threads/engine.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { RawItem } from "../../threads/items.js";
import type { ThreadSettings } from "../../threads/settings.js";
import { Conversation } from "./conversation.js";
import { findUserInstructions, initialContext } from "./instructions.js";
import type { ModelClient } from "./model/client.js";
import { checkEffort, withOfferedEffort } from "./model/efforts.js";
import { HeardLimits } from "./model/heardLimits.js";
import { History, type RecordedRequests } from "./model/items.js";
import type { ModelChoice } from "./model/modelChoice.js";
import { truncationOf } from "./model/modelTraits.js";
import { ResponsesClient } from "./model/responses.js";
import type { ServiceSources } from "./services/nativeServices.js";
import { openThreadTools } from "./threadTools.js";
import { patchToolOf } from "./tools/declarations.js";
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
  const limits = new HeardLimits();
  const clientFor: ClientFactory = ({ provider }, threadId) =>
    new ResponsesClient({ provider, codexHome, env, userAgent, threadId, heard: (headers) => limits.hear(provider, headers) });
  // Most threads are answered by the model they name, and need none of this.
  const models = lazily(async () => new (await import("./model/modelChoice.js")).ModelChoice({ codexHome, env, userAgent }));
  const loaded =
    services &&
    lazily(async () => {
      const { nativeServices } = await import("./services/nativeServices.js");
      return nativeServices(services, host, { models: await models.get(), limits });
    });
  return {
    name: "native",
    openThread: async (opening) => openNativeThread(opening, host, { clientFor, models }),
    ...(loaded && { services: () => loaded.get() }),
    async close() {
      await (await models.ifLoaded())?.[Symbol.asyncDispose]();
      await host.close();
    },
  };
}

/** What answers the model requests of threads. */
interface ModelSide {
  readonly clientFor: ClientFactory;
  /** Absent: every model that is named is there. */
  readonly models?: Lazy<ModelChoice>;
}

export type ClientFactory = (settings: ThreadSettings, threadId: ThreadId) => ModelClient;

/** A thread of the loop, on whatever answers its model requests. */
export async function openNativeThread(
  { id, settings: asked, history, isReconfigured, reach }: ThreadOpening,
  host: HostEnvironment,
  { clientFor, models }: ModelSide,
): Promise<EngineThread> {
  const { settings, notice } = await settledModel(asked, { models, isNew: !history });
  const instructions = await findUserInstructions(settings, {
    codexHome: host.codexHome,
    // Asked only where there are instructions.
    mayRead: (file) =>
      new ThreadFiles(settings, host, { running: { reach }, workspace: host.workspaceOf(settings.cwd) }).mayReadUnasked(file),
  });
  const context = initialContext(settings, { userInstructions: instructions.text, env: host.env });
  const told = history && isReconfigured ? restated(context, history.items) : history ? [] : context;
  const sandboxBackend = await host.sandboxBackend(settings.sandboxPolicy);
  const threadTools = await openThreadTools(settings, host);
  const conversation = new Conversation({
    threadId: id,
    settings,
    initialContext: context,
    history: new History([...(history?.items ?? []), ...told], recordedRequests(settings)),
    client: clientFor(settings, id),
    threadTools,
    sandboxBackend,
    usage: history?.usage ?? null,
    ...(models && { models: models.get }),
  });
  const leftOut = (settings.leftOutServers ?? []).map(({ warning }) => warning);
  const opening: ThreadEvent[] = [
    ...(settings.recordedNotices ?? []),
    ...told.map((item): ThreadEvent => ({ type: "contextItem", item })),
    ...threadTools.news(),
    ...[...(notice === undefined ? [] : [notice]), ...leftOut, ...instructions.warnings, ...(await threadTools.ruleWarnings())].map(
      (message): ThreadEvent => ({ type: "warning", message }),
    ),
  ];
  return {
    opening,
    settings,
    sandboxBackend,
    run: (input, ctx) => runTurn(conversation, input, ctx),
    get keepsRunning() {
      return threadTools.keepsRunning;
    },
    steer: async (text) => conversation.steering.add(text),
    close: () => threadTools.close(),
  };
}

/** What a thread's model has to be told again when its settings are others: its limits and where it is, and what it was never told. */
function restated(context: readonly RawItem[], past: readonly RawItem[]): RawItem[] {
  const known = new Set(past.map((item) => JSON.stringify(item)));
  return context.filter((item, at) => at === 0 || at === context.length - 1 || !known.has(JSON.stringify(item)));
}

function recordedRequests(settings: ThreadSettings): RecordedRequests | undefined {
  if (!settings.asRecorded) return undefined;
  return { truncation: truncationOf(settings), readsText: patchToolOf(settings) === "freeform" };
}

/** The model that a thread opens with, and an effort that it offers. Throws `EffortNotOffered` where somebody named another just now. */
async function settledModel(
  asked: ThreadSettings,
  { models, isNew }: { readonly models: Lazy<ModelChoice> | undefined; readonly isNew: boolean },
): Promise<{ readonly settings: ThreadSettings; readonly notice?: string }> {
  // Without a list that was read there is nothing to choose by; the newest one is worth reading it for.
  const choice = asked.modelIsOurs === "latest" ? await models?.get() : await models?.ifLoaded();
  const { settings, notice } = choice?.forOpening(asked) ?? { settings: asked };
  const listed = choice?.listedEfforts(settings);
  if (isNew) checkEffort(settings, listed);
  return { settings: withOfferedEffort(settings, listed), ...(notice !== undefined && { notice }) };
}
