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

/** A result that `presented` has not made ready for the wire yet. */
export interface DraftResult extends CallToolResult {
  /** What helps; told where results say more than Codex's did. */
  readonly advice?: string | undefined;
}

/** `recorded`: nothing in a result that Codex 0.92.0 would not have put there. */
export type ResultStyle = "extended" | "recorded";

/** An answer for people and models, and the same for programs. */
export function answer(text: string, structuredContent?: Readonly<Record<string, unknown>>): CallToolResult {
  return { content: [{ text, type: "text" }], ...(structuredContent && { structuredContent }) };
}

/** A call that never reached a thread. The error's code is for programs. */
export function refusal(error: AppError | undefined, why = error?.message ?? ""): DraftResult {
  const draft: DraftResult = { content: [{ text: why, type: "text" }], isError: true };
  return error ? { ...draft, advice: adviceOn(error), _meta: { [ERROR_CODE]: error.code } } : draft;
}

/** A call that failed on a thread before its turn began. */
export function failureOn(threadId: ThreadId, error: AppError): DraftResult {
  return { ...failure(threadId, error.message), advice: adviceOn(error), _meta: { [ERROR_CODE]: error.code } };
}

/** What to do about errors of parts that know no tools. */
const ADVICE: Readonly<Record<string, string>> = {
  thread_not_found:
    "`codex-threads` lists the threads that you can continue (`archived: true`: those that were put away); `codex` begins a new one.",
};

function adviceOn({ advice, code }: AppError): string | undefined {
  return advice ?? (Object.hasOwn(ADVICE, code) ? ADVICE[code] : undefined);
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
  /** Sentences about the call itself. */
  readonly remarks?: readonly string[] | undefined;
}

/** What became of a turn, as the answer of the call that waited for it. */
export function turnResult(
  outcome: TurnOutcome,
  { threadId, engine, receipt, ifSilent, nameThreadInText, results, remarks }: ResultContext,
): CallToolResult {
  const extended = { "codex-mcpd/turn": { engine, status: outcome.status, ...receipt.toJSON() } };
  return presented(outcomeResult(outcome, { threadId, ifSilent, nameThreadInText, _meta: extended }), { results, engine, remarks });
}

interface Presented {
  readonly results: ResultStyle;
  readonly engine?: string;
  readonly remarks?: readonly string[] | undefined;
}

/** A scripted model is never taken for a real one, in no style. */
export function presented({ advice, ...result }: DraftResult, { results, engine, remarks = [] }: Presented): CallToolResult {
  if (results === "extended") return withRemarks(advice === undefined ? result : withAdvice(result, advice), remarks);
  const { _meta, ...recorded } = result;
  return engine === "scripted" ? { ...recorded, _meta: { "codex-mcpd/turn": { engine } } } : recorded;
}

/** Clients show their model the text alone, or `structuredContent` alone. */
function withAdvice({ content: [first, ...rest], structuredContent, ...result }: CallToolResult, advice: string): CallToolResult {
  const advised = (text: unknown) =>
    `${String(text)
      .trimEnd()
      .replace(/[^.!?]$/, "$&.")} ${advice}`;
  return {
    ...result,
    content: [{ text: advised(first?.text ?? ""), type: "text" }, ...rest],
    ...(structuredContent && { structuredContent: { ...structuredContent, content: advised(structuredContent["content"] ?? "") } }),
  };
}

function withRemarks(result: CallToolResult, remarks: readonly string[]): CallToolResult {
  if (remarks.length === 0) return result;
  const text = `\n${remarks.join("\n")}`;
  return { ...result, content: [...result.content, { text, type: "text" }], _meta: { ...result._meta, "codex-mcpd/remarks": remarks } };
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

/** The answer of a call that nobody knows any more: the server it was sent to, or its session, is gone. */
export function lostCall(threadId: string | undefined): CallToolResult {
  const over = "This call is over: the server was restarted, or its session has ended.";
  if (threadId === undefined) return refusal(undefined, `${over} No thread is known to have begun for it; call again.`);
  const why = `${over} What its thread ${threadId} did until then is kept: continue with codex-reply and this threadId.`;
  return { content: [{ text: why, type: "text" }], isError: true, structuredContent: { threadId, content: why } };
}

function failure(threadId: ThreadId, why: string): CallToolResult {
  return { content: [{ text: why, type: "text" }], isError: true, structuredContent: { threadId, content: why } };
}
