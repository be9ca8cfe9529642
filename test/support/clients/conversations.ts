import { Conversation, type ConversationParts } from "../../../src/engines/native/conversation.js";
import type { ModelClient } from "../../../src/engines/native/model/client.js";
import { History, message } from "../../../src/engines/native/model/items.js";
import { UPDATE_PLAN } from "../../../src/engines/native/tools/declarations.js";
import { planTool } from "../../../src/engines/native/tools/nativeTools.js";
import type { DeclaredTool } from "../../../src/engines/native/tools/tool.js";
import { newThreadId } from "../../../src/lib/ids.js";
import type { ThreadEvent } from "../../../src/threads/events.js";
import type { RawItem } from "../../../src/threads/items.js";
import type { ThreadSettings } from "../../../src/threads/settings.js";
import { settingsIn } from "../threads/rollouts.js";

/** The first items of the tests' conversations. */
export const CONTEXT: readonly RawItem[] = [
  message("developer", "rules"),
  message("user", "<environment_context>here</environment_context>"),
];

export const declaredPlanTool: DeclaredTool = { ...planTool, declaration: UPDATE_PLAN };

export interface ConversationOptions {
  readonly settings?: Partial<ThreadSettings>;
  readonly items?: readonly RawItem[];
  readonly tools?: readonly DeclaredTool[];
  readonly usage?: ConversationParts["usage"];
}

export function conversationWith(client: ModelClient, options: ConversationOptions = {}): Conversation {
  const { tools = [declaredPlanTool], items = CONTEXT, usage = null } = options;
  const declarations = tools.map(({ declaration }) => declaration);
  const threadId = newThreadId();
  const settings = settingsIn("/repo", { model: "mock-model", asRecorded: true, ...options.settings });
  return new Conversation({
    threadId,
    settings,
    history: new History(items),
    initialContext: CONTEXT,
    client,
    threadTools: {
      declarations: async () => declarations,
      find: async (name) => tools.find((tool) => tool.name === name),
      news: () => [],
      useSettings: () => {},
      callsEnded: () => {},
      beginTurn: () => {},
      leftBehind: async () => [],
      endTurn: () => {},
      turnDiff: async () => undefined,
      lateEvents: undefined,
      keepsRunning: false,
      close: async () => {},
    },
    sandboxBackend: "none",
    usage,
  });
}

/** Settings with immediate retries, up to `limit`. */
export function retrying(limit: number): Partial<ThreadSettings> {
  return { provider: { ...settingsIn("/").provider, requestMaxRetries: limit, streamMaxRetries: limit } };
}

/** Everything a generator of events yields, and what it returns. */
export async function drain<T>(running: AsyncGenerator<readonly ThreadEvent[], T>): Promise<{ events: ThreadEvent[]; result: T }> {
  const events: ThreadEvent[] = [];
  for (;;) {
    const step = await running.next();
    if (step.done) return { events, result: step.value };
    events.push(...step.value);
  }
}
