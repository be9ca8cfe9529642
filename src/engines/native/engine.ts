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
import { RequestTemplate } from "./request.js";
import { planTool } from "./tools/plan.js";
import type { Tool } from "./tools/tool.js";

const TOOLS: readonly Tool[] = [planTool];

export interface NativeEngineOptions {
  readonly codexHome: string;
  readonly env: NodeJS.ProcessEnv;
  readonly userAgent: string;
}

/** The agent loop in this process, on the Responses API of any configured provider. */
export function createNativeEngine({ codexHome, env, userAgent }: NativeEngineOptions): Engine {
  return {
    name: "native",
    openThread: async (opening) =>
      openNativeThread(
        opening,
        codexHome,
        (settings, threadId) => new ResponsesClient({ provider: settings.provider, codexHome, env, userAgent, threadId }),
      ),
  };
}

/** The same loop on the scripted model: no key, no network, and it says so. */
export function createScriptedEngine({ codexHome }: Pick<NativeEngineOptions, "codexHome">): Engine {
  const model = new ScriptedModel();
  return {
    name: "scripted",
    openThread: async (opening) =>
      openNativeThread(opening, codexHome, (settings) => new ScriptedClient(model, settings.provider.streamIdleTimeoutMs)),
  };
}

type ClientFactory = (settings: ThreadSettings, threadId: ThreadId) => ModelClient;

function openNativeThread({ id, settings, history }: ThreadOpening, codexHome: string, clientFor: ClientFactory): EngineThread {
  const context = initialContext(settings, findUserInstructions(settings, codexHome));
  const conversation = new Conversation({
    threadId: id,
    settings,
    initialContext: context,
    history: new History(history?.items ?? context),
    client: clientFor(settings, id),
    template: new RequestTemplate({ threadId: id, settings, tools: TOOLS }),
    tools: new Map(TOOLS.map((tool) => [tool.name, tool])),
    usage: history?.usage ?? null,
  });
  const opening: ThreadEvent[] = [
    ...context.map((item): ThreadEvent => ({ type: "contextItem", item })),
    { type: "mcpStartupCompleted", ready: [], failed: [], cancelled: [] },
  ];
  return { opening, run: (input, ctx) => runTurn(conversation, input, ctx.signal) };
}
