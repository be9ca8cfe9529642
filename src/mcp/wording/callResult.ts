import type { Receipt } from "../../agent/receipt.js";
import type { AppError } from "../../lib/errors.js";
import type { ThreadId } from "../../lib/ids.js";
import type { TurnOutcome } from "../../threads/events.js";

export interface CallToolResult {
  readonly content: readonly { readonly text: string; readonly type: "text" }[];
  readonly isError?: true;
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** `recorded`: nothing in a result that Codex 0.92.0 would not have put there. */
export type ResultStyle = "extended" | "recorded";

/** An answer for people and models, and the same for programs. */
export function answer(text: string, structuredContent?: Readonly<Record<string, unknown>>): CallToolResult {
  return { content: [{ text, type: "text" }], ...(structuredContent && { structuredContent }) };
}

/** A call that never reached a thread. The error's code is for programs. */
export function refusal(error: AppError | undefined, why = error?.message ?? ""): CallToolResult {
  return { content: [{ text: why, type: "text" }], isError: true, ...(error && { _meta: { [ERROR_CODE]: error.code } }) };
}

/** A call that failed on a thread before its turn began. */
export function failureOn(threadId: ThreadId, error: AppError): CallToolResult {
  return { ...failure(threadId, error.message), _meta: { [ERROR_CODE]: error.code } };
}

/** In `_meta` of results: why a call was refused, in a word that does not change. */
const ERROR_CODE = "codex-mcpd/error";
const INTERRUPTED = "The turn was interrupted before it ended. The thread can be continued with codex-reply.";

export interface ResultContext {
  readonly threadId: ThreadId;
  readonly engine: string;
  readonly receipt: Receipt;
  /** The answer, when the turn completes without a word. */
  readonly ifSilent?: string | undefined;
  /** The client's model does not see `structuredContent`: name the thread in a text of its own. */
  readonly nameThreadInText: boolean;
  readonly results: ResultStyle;
}

/** What became of a turn, as the answer of the call that waited for it. */
export function turnResult(
  outcome: TurnOutcome,
  { threadId, engine, receipt, ifSilent, nameThreadInText, results }: ResultContext,
): CallToolResult {
  const extended = { "codex-mcpd/turn": { engine, status: outcome.status, ...receipt.toJSON() } };
  return presented(outcomeResult(outcome, { threadId, ifSilent, nameThreadInText, _meta: extended }), { results, engine });
}

/** A scripted model is never taken for a real one, in no style. */
export function presented(
  result: CallToolResult,
  { results, engine }: { readonly results: ResultStyle; readonly engine?: string },
): CallToolResult {
  if (results === "extended") return result;
  const { _meta, ...recorded } = result;
  return engine === "scripted" ? { ...recorded, _meta: { "codex-mcpd/turn": { engine } } } : recorded;
}

type Outcome = Pick<ResultContext, "threadId" | "ifSilent" | "nameThreadInText"> & { readonly _meta: Readonly<Record<string, unknown>> };

function outcomeResult(outcome: TurnOutcome, { threadId, ifSilent, nameThreadInText, _meta }: Outcome): CallToolResult {
  switch (outcome.status) {
    case "completed": {
      const content = outcome.lastMessage ?? ifSilent ?? "";
      const texts = nameThreadInText ? [content, `threadId: ${threadId}`] : [content];
      return { content: texts.map((text) => ({ text, type: "text" })), structuredContent: { threadId, content }, _meta };
    }
    case "failed":
      return { ...failure(threadId, outcome.message), _meta };
    case "interrupted":
      return { ...failure(threadId, INTERRUPTED), _meta };
  }
}

/** The answer of a task whose turn nobody can tell the end of any more. */
export function lostTurn(threadId: ThreadId): CallToolResult {
  return failure(
    threadId,
    `The turn was interrupted: the server ended before it. Its thread ${threadId} can be continued with codex-reply.`,
  );
}

function failure(threadId: ThreadId, why: string): CallToolResult {
  return { content: [{ text: why, type: "text" }], isError: true, structuredContent: { threadId, content: why } };
}
