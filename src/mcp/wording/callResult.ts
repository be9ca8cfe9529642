import type { ThreadId } from "../../lib/ids.js";
import type { TurnOutcome } from "../../threads/events.js";

export interface CallToolResult {
  readonly content: readonly { readonly text: string; readonly type: "text" }[];
  readonly isError?: true;
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

export interface ResultContext {
  readonly threadId: ThreadId;
  /** The client's model does not see `structuredContent`: name the thread in a text of its own. */
  readonly nameThreadInText: boolean;
  readonly meta: Readonly<Record<string, unknown>>;
}

/** A call that never reached a thread. */
export function refusal(why: string): CallToolResult {
  return { content: [{ text: why, type: "text" }], isError: true };
}

/** A call that failed on a thread, before or in a turn. */
export function failureOn(threadId: ThreadId, why: string): CallToolResult {
  return { content: [{ text: why, type: "text" }], isError: true, structuredContent: { threadId, content: why } };
}

/** What became of a turn, as the answer of the call that waited for it. */
export function resultOf(outcome: TurnOutcome, { threadId, nameThreadInText, meta }: ResultContext): CallToolResult {
  switch (outcome.status) {
    case "completed": {
      const answer = outcome.lastMessage ?? "";
      const texts = nameThreadInText ? [answer, `threadId: ${threadId}`] : [answer];
      return { content: texts.map((text) => ({ text, type: "text" })), structuredContent: { threadId, content: answer }, _meta: meta };
    }
    case "failed":
      return { ...failureOn(threadId, outcome.message), _meta: meta };
    case "interrupted":
      return {
        ...failureOn(threadId, "The turn was interrupted before it ended. The thread can be continued with codex-reply."),
        _meta: meta,
      };
  }
}
