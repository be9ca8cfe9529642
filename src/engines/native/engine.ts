import type { ThreadId } from "../../lib/ids.js";
import type { Engine, EngineThread, ThreadOpening } from "../../threads/engine.js";
import type { ThreadEvent, ThreadSettings } from "../../threads/model.js";
import { findUserInstructions } from "./agentsMd.js";
import { Conversation } from "./conversation.js";
import { History } from "./history.js";
import { runTurn } from "./loop.js";
import type { ModelClient } from "./model/client.js";
import { ResponsesClient } from "./model/responses.js";
import { ScriptedModel } from "./model/script.js";
import { ScriptedClient } from "./model/scripted.js";
import { initialContext } from "./prompt.js";
import { Machine } from "./tools/machine.js";
import { openToolbox } from "./tools/toolbox.js";
import { Workbench } from "./tools/workbench.js";

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

/** The same loop on the scripted model: no key, no network, and it says so. */
export function createScriptedEngine(options: Omit<NativeEngineOptions, "userAgent">): Engine {
  const machine = new Machine(options);
  const model = new ScriptedModel();
  const clientFor: ClientFactory = ({ provider }) => new ScriptedClient(model, provider.streamIdleTimeoutMs);
  return { name: "scripted", openThread: (opening) => openNativeThread(opening, machine, clientFor), close: () => machine.close() };
}

type ClientFactory = (settings: ThreadSettings, threadId: ThreadId) => ModelClient;

async function openNativeThread(
  { id, settings, history }: ThreadOpening,
  machine: Machine,
  clientFor: ClientFactory,
): Promise<EngineThread> {
  const context = initialContext(settings, findUserInstructions(settings, machine.codexHome));
  const bench = new Workbench(settings, machine);
  const toolbox = openToolbox(bench);
  const conversation = new Conversation({
    threadId: id,
    settings,
    initialContext: context,
    history: new History(history?.items ?? context),
    client: clientFor(settings, id),
    toolbox,
    bench,
    usage: history?.usage ?? null,
  });
  const opening: ThreadEvent[] = [
    ...context.map((item): ThreadEvent => ({ type: "contextItem", item })),
    ...toolbox.news(),
    ...bench.ruleWarnings().map((message): ThreadEvent => ({ type: "warning", message })),
  ];
  return {
    opening,
    sandboxBackend: await bench.sandboxBackend(),
    run: (input, ctx) => runTurn(conversation, input, ctx),
    async close() {
      await Promise.all([bench.sessions.endAll(), toolbox.close()]);
    },
  };
}
