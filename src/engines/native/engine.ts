import type { ThreadId } from "../../lib/ids.js";
import type { Engine, EngineThread, ThreadOpening } from "../../threads/engine.js";
import type { ThreadEvent, ThreadSettings } from "../../threads/model.js";
import { findUserInstructions } from "./agentsMd.js";
import { Conversation } from "./conversation.js";
import { History } from "./history.js";
import { runTurn } from "./loop.js";
import type { ModelClient } from "./model/client.js";
import { ResponsesClient } from "./model/responses.js";
import { initialContext } from "./prompt.js";
import { Machine } from "./tools/machine.js";
import { openToolbox } from "./tools/toolbox.js";

export interface NativeEngineOptions {
  readonly codexHome: string;
  readonly env: NodeJS.ProcessEnv;
  readonly serverCwd: string;
  readonly userAgent: string;
  /** A bubblewrap to use instead of the one that is found. */
  readonly sandboxBin?: string;
}

/** The agent loop in this process, on the Responses API of any configured provider. */
export function createNativeEngine(options: NativeEngineOptions): Engine {
  const { codexHome, env, userAgent } = options;
  const machine = new Machine(options);
  const clientFor: ClientFactory = ({ provider }, threadId) => new ResponsesClient({ provider, codexHome, env, userAgent, threadId });
  return { name: "native", openThread: (opening) => openNativeThread(opening, machine, clientFor), close: () => machine.close() };
}

export type ClientFactory = (settings: ThreadSettings, threadId: ThreadId) => ModelClient;

/** A thread of the loop, on whatever answers its model requests. */
export async function openNativeThread(
  { id, settings, history }: ThreadOpening,
  machine: Machine,
  clientFor: ClientFactory,
): Promise<EngineThread> {
  const context = initialContext(settings, findUserInstructions(settings, machine.codexHome));
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
    ...(await toolbox.ruleWarnings()).map((message): ThreadEvent => ({ type: "warning", message })),
  ];
  return {
    opening,
    sandboxBackend,
    run: (input, ctx) => runTurn(conversation, input, ctx),
    close: () => toolbox.close(),
  };
}
