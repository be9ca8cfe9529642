import type { ThreadId } from "../../lib/ids.js";
import { type Lazy, lazily } from "../../lib/promises.js";
import { inSlices } from "../../lib/slices.js";
import type { Engine, EngineThread, ThreadOpening } from "../../threads/engine.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { RawItem } from "../../threads/items.js";
import type { ThreadSettings } from "../../threads/settings.js";
import { spokenText } from "./compact.js";
import { Conversation } from "./conversation.js";
import { findUserInstructions, initialContext } from "./instructions.js";
import type { ModelClient } from "./model/client.js";
import { History, type RecordedRequests } from "./model/items.js";
import type { ModelChoice } from "./model/modelChoice.js";
import { checkEffort, isEffortOfSomeModel, truncationOf, withOfferedEffort } from "./model/modelTraits.js";
import { ReportedLimits } from "./model/provider.js";
import { ResponsesClient } from "./model/responses.js";
import type { ServiceSources } from "./services/nativeServices.js";
import { openThreadTools } from "./threadTools.js";
import { patchToolOf } from "./tools/declarations.js";
import { HostEnvironment, type HostOptions } from "./tools/hostEnvironment.js";
import { ThreadFiles } from "./tools/threadFiles.js";
import { runTurn } from "./turn.js";
import type { TurnNotifier } from "./turnNotifier.js";

export interface NativeEngineOptions extends HostOptions {
  readonly userAgent: string;
  readonly report?: (line: string) => void;
  /** Absent: the engine only runs turns. */
  readonly services?: ServiceSources;
  /** Shared with other users of programs; created by the engine if absent. The engine closes it. */
  readonly host?: HostEnvironment;
}

/** The agent loop in this process, on the Responses API of any configured provider. */
export function createNativeEngine(options: NativeEngineOptions): Engine {
  const { codexHome, env, userAgent, services } = options;
  const host = options.host ?? new HostEnvironment(options);
  const limits = new ReportedLimits();
  const clientFor: ClientFactory = ({ provider }, threadId) =>
    new ResponsesClient({ provider, codexHome, env, userAgent, threadId, onHeaders: (headers) => limits.record(provider, headers) });
  // Most threads use the model they name, and need none of this.
  const models = lazily(async () => new (await import("./model/modelChoice.js")).ModelChoice({ codexHome, env, userAgent }));
  const notifier = notifierFor(host, options.report);
  const loaded =
    services &&
    lazily(async () => {
      const { nativeServices } = await import("./services/nativeServices.js");
      return nativeServices(services, host, { models: await models.get(), limits });
    });
  return {
    name: "native",
    openThread: async (opening) => openNativeThread(opening, host, { clientFor, models, notifier }),
    ...(loaded && { services: () => loaded.get() }),
    async close() {
      await (await models.ifLoaded())?.[Symbol.asyncDispose]();
      await (await notifier.ifLoaded())?.[Symbol.asyncDispose]();
      await host.close();
    },
  };
}

/** Responds to the threads' model requests. */
interface ModelSide {
  readonly clientFor: ClientFactory;
  /** Absent: every named model is assumed to exist. */
  readonly models?: Lazy<ModelChoice>;
}

/** What a thread needs from its engine. */
interface ThreadNeeds extends ModelSide {
  readonly notifier: Lazy<TurnNotifier>;
}

/** Loaded with the first thread whose user wants notifications about its turns. */
export function notifierFor(host: HostEnvironment, report: (line: string) => void = () => {}): Lazy<TurnNotifier> {
  return lazily(async () => new (await import("./turnNotifier.js")).TurnNotifier(host, report));
}

export type ClientFactory = (settings: ThreadSettings, threadId: ThreadId) => ModelClient;

/** A thread of the agent loop on any model client. */
export async function openNativeThread(
  { id, settings: asked, history, isReconfigured, reach }: ThreadOpening,
  host: HostEnvironment,
  { clientFor, models, notifier }: ThreadNeeds,
): Promise<EngineThread> {
  const { settings, notice } = await settledModel(asked, { models, isNew: !history });
  const instructions = await findUserInstructions(settings, {
    codexHome: host.codexHome,
    // Only called if there are instructions.
    mayRead: (file) =>
      new ThreadFiles(settings, host, { running: { reach }, workspace: host.workspaceOf(settings.cwd) }).mayReadUnasked(file),
  });
  const context = initialContext(settings, { userInstructions: instructions.text, env: host.env });
  const told = history && isReconfigured ? restated(context, history.items) : history ? [] : context;
  const sandboxBackend = await host.sandboxBackend(settings.sandboxPolicy);
  const threadTools = await openThreadTools(settings, host);
  const past = new History(history ? [] : told, recordedRequests(settings));
  if (history) await inSlices([...history.items, ...told], (item) => past.append([item]));
  const conversation = new Conversation({
    threadId: id,
    settings,
    initialContext: context,
    history: past,
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
    ...[
      ...[settings.callNotice, notice].filter((message) => message !== undefined),
      ...leftOut,
      ...instructions.warnings,
      ...(await threadTools.ruleWarnings()),
    ].map((message): ThreadEvent => ({ type: "warning", message })),
  ];
  return {
    opening,
    settings,
    sandboxBackend,
    run: settings.notify ? await notifyingTurns(conversation, notifier) : (input, ctx) => runTurn(conversation, input, ctx),
    get keepsRunning() {
      return threadTools.keepsRunning;
    },
    steer: async (text) => conversation.steering.add(text),
    close: () => threadTools.close(),
  };
}

/** Turns of a thread whose user is notified when they complete; reviews and summaries are not reported. */
async function notifyingTurns(conversation: Conversation, notifier: Lazy<TurnNotifier>): Promise<EngineThread["run"]> {
  const [{ notifyingCompletion }, told] = [await import("./turnNotifier.js"), await notifier.get()];
  return (input, ctx) => {
    const turn = runTurn(conversation, input, ctx);
    if (input.work) return turn;
    return notifyingCompletion(turn, (lastMessage) => {
      const inputMessages = conversation.history
        .items()
        .map(spokenText)
        .filter((text) => text !== "");
      told.tell({ settings: conversation.settings, turn: ctx, inputMessages, lastMessage });
    });
  };
}

/**
 * The context that the model must get again when its settings changed: its permissions and environment, and anything it has not seen yet.
 */
function restated(context: readonly RawItem[], past: readonly RawItem[]): RawItem[] {
  const known = new Set(past.map((item) => JSON.stringify(item)));
  return context.filter((item, at) => at === 0 || at === context.length - 1 || !known.has(JSON.stringify(item)));
}

function recordedRequests(settings: ThreadSettings): RecordedRequests | undefined {
  if (!settings.asRecorded) return undefined;
  return { truncation: truncationOf(settings), readsText: patchToolOf(settings) === "freeform" };
}

/** The thread's initial model, with an effort that it offers. Throws `EffortNotOffered` if the caller named another effort. */
async function settledModel(
  asked: ThreadSettings,
  { models, isNew }: { readonly models: Lazy<ModelChoice> | undefined; readonly isNew: boolean },
): Promise<{ readonly settings: ThreadSettings; readonly notice?: string }> {
  // Without a model list there is nothing to choose from; `latest` justifies reading it.
  const choice = asked.modelIsOurs === "latest" ? await models?.get() : await models?.ifLoaded();
  const { settings, notice } = choice?.forOpening(asked) ?? { settings: asked };
  // Codex 0.92.0 let the provider refuse unknown efforts.
  if (settings.asRecorded && !["max", "ultra"].includes(settings.reasoningEffort ?? ""))
    return { settings, ...(notice !== undefined && { notice }) };
  const listed = choice?.listedEfforts(settings);
  const { reasoningEffort: word } = asked;
  // The effort of another model was translated; a misspelt one must not become the weakest.
  const isTranslated = word === undefined || isEffortOfSomeModel(word);
  if (isNew) checkEffort(isTranslated ? settings : { ...settings, reasoningEffort: word }, listed);
  return { settings: withOfferedEffort(settings, listed), ...(notice !== undefined && { notice }) };
}
