import type { TurnReceipt } from "../../agent/receipt.js";
import type { AppError } from "../../lib/errors.js";
import type { ThreadId } from "../../lib/ids.js";
import type { TurnOutcome } from "../../threads/events.js";
import type { ClientProfile } from "../clientProfiles.js";
import { roomForFindings, withinBudget } from "./answerBudget.js";
import { type ReportedTurn, reportFields, reportText } from "./turnReport.js";

export interface TextBlock {
  readonly text: string;
  readonly type: "text";
  readonly _meta?: Readonly<Record<string, unknown>>;
}

export interface CallToolResult {
  readonly content: readonly TextBlock[];
  readonly isError?: true;
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** A result that `presented` has not made ready for the wire yet. */
export interface DraftResult extends CallToolResult {
  /** What helps; told where results say more than Codex's did. */
  readonly advice?: string | undefined;
}

/** `recorded`: nothing in a result that Codex 0.92.0 would not have put there. `plain`: tools word their results themselves, for callers that know no others. */
export type ResultStyle = "extended" | "recorded" | "plain";

/** What a tool that words its results itself gets to know of a turn. */
export interface EndedTurn {
  readonly threadId: ThreadId;
  readonly outcome: TurnOutcome;
  readonly receipt: TurnReceipt;
  /** Sentences about the call itself. */
  readonly remarks: readonly string[];
}

export type PresentTurn = (ended: EndedTurn) => CallToolResult;

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
  const { message } = error;
  const text = message.includes(threadId) ? message : `${message} (thread ${threadId})`;
  return { ...failure(threadId, { text, why: message }), advice: adviceOn(error), _meta: { [ERROR_CODE]: error.code } };
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

/** How a result must look for the one who reads it. */
export interface ResultReader {
  readonly client: Pick<ClientProfile, "shows">;
  /** Its revision of MCP has results for programs. */
  readonly takesStructured: boolean;
}

export interface ResultContext {
  readonly threadId: ThreadId;
  readonly engine: string;
  readonly receipt: TurnReceipt;
  /** The answer, when the turn completes without a word. */
  readonly ifSilent?: string | undefined;
  readonly reader: ResultReader;
  readonly results: ResultStyle;
  /** What it may cost the context of whoever reads it. */
  readonly resultTokens: number;
  /** Sentences about the call itself. */
  readonly remarks?: readonly string[] | undefined;
  readonly present?: PresentTurn | undefined;
}

/** What became of a turn, as the answer of the call that waited for it. */
export function turnResult(outcome: TurnOutcome, context: ResultContext): CallToolResult {
  const { engine, results, reader, present, threadId, receipt, remarks = [] } = context;
  if (present) return presented(present({ threadId, outcome, receipt, remarks }), { results, engine });
  return results === "recorded"
    ? presented(recordedResult(outcome, context), { results, engine })
    : withMeta(extendedResult(outcome, context), context, reader);
}

interface Presented {
  readonly results: ResultStyle;
  readonly engine?: string;
  readonly remarks?: readonly string[] | undefined;
}

/** A scripted model is never taken for a real one, in no style. */
export function presented({ advice, ...result }: DraftResult, { results, engine, remarks = [] }: Presented): CallToolResult {
  if (results === "extended") return withRemarks(advice === undefined ? result : withAdvice(result, advice), remarks);
  const { _meta, ...rest } = result;
  const shown = results === "recorded" ? asRecorded(rest) : plainRemarks(result, remarks);
  return engine === "scripted" ? { ...shown, _meta: { ...shown._meta, [TURN_META]: { engine } } } : shown;
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

function plainRemarks(result: CallToolResult, remarks: readonly string[]): CallToolResult {
  if (remarks.length === 0) return result;
  return { ...result, content: [...result.content, { text: remarks.join("\n"), type: "text" }] };
}

const TURN_META = "codex-mcpd/turn";

/** Codex said the cause and no more. */
function asRecorded(result: CallToolResult): CallToolResult {
  const { threadId, content } = result.structuredContent ?? {};
  if (threadId === undefined || typeof content !== "string" || !result.isError) return result;
  return { content: [{ text: content, type: "text" }], isError: true, structuredContent: { threadId, content } };
}

function recordedResult(outcome: TurnOutcome, { threadId, ifSilent, reader }: ResultContext): CallToolResult {
  if (outcome.status !== "completed") {
    const why = outcome.status === "failed" ? outcome.message : INTERRUPTED_AS_EVER;
    return failure(threadId, { text: why, why });
  }
  const content = outcome.lastMessage ?? ifSilent ?? "";
  const texts = reader.takesStructured ? [content] : [content, `threadId: ${threadId}`];
  return { content: texts.map((text) => ({ text, type: "text" })), structuredContent: { threadId, content } };
}

const INTERRUPTED_AS_EVER = "The turn was interrupted before it ended. The thread can be continued with codex-reply.";

function extendedResult(outcome: TurnOutcome, context: ResultContext): CallToolResult {
  const { threadId, receipt, ifSilent, resultTokens, remarks = [] } = context;
  const turn: ReportedTurn = {
    threadId,
    status: outcome.status,
    receipt,
    remarks,
    next: nextStep(outcome, context),
    roomForFindings: roomForFindings(resultTokens),
  };
  const fields = reportFields(turn);
  const report = reportText(turn);
  const spentCharacters = Math.max(JSON.stringify(fields).length, report.length);
  const within = (text: string) => withinBudget(text, { tokens: resultTokens, spentCharacters, threadId });
  if (outcome.status === "completed") {
    const content = within(outcome.lastMessage ?? ifSilent ?? "");
    const texts = seesReport(context.reader, { isError: false }) ? [content, `\n${report}`] : [content];
    return { content: texts.map((text) => ({ text, type: "text" })), structuredContent: { threadId, content, ...fields } };
  }
  const why = outcome.status === "failed" ? within(outcome.message) : INTERRUPTED;
  const first = `${why}\n\n${turn.next ?? ""}`;
  const texts = seesReport(context.reader, { isError: true }) ? [first, `\n${report}`] : [first];
  return {
    content: texts.map((text) => ({ text, type: "text" })),
    isError: true,
    structuredContent: { threadId, content: why, ...fields },
  };
}

const INTERRUPTED = "The turn was interrupted before it ended.";

/** Whether the texts say what the structured part says: for whoever is not known to show that to its model. Of errors nearly all show texts alone. */
function seesReport({ client, takesStructured }: ResultReader, { isError }: { readonly isError: boolean }): boolean {
  switch (client.shows) {
    case "everything":
      return false;
    case "both":
      return !takesStructured;
    case "structured":
      return isError || !takesStructured;
    case "text":
    case "unknown":
      return true;
  }
}

function nextStep(outcome: TurnOutcome, { threadId, receipt }: ResultContext): string | undefined {
  const goOn = `codex-reply with threadId "${threadId}"`;
  switch (outcome.status) {
    case "completed":
      return receipt.isWriteRefused && receipt.files?.list.length === 0 ? NOTHING_WRITTEN : undefined;
    case "failed":
      return `The turn on thread ${threadId} failed. When the cause is gone, go on with ${goOn}.`;
    case "interrupted":
      return `Thread ${threadId} keeps what it has done. Go on with ${goOn}.`;
  }
}

const NOTHING_WRITTEN =
  'Nothing was written: the sandbox is read-only. If files should change, start the task again with codex and sandbox "workspace-write".';

/** Programs find the engine there. Whoever shows its model everything is spared what it has already. */
function withMeta(result: CallToolResult, { engine, receipt }: ResultContext, { client }: ResultReader): CallToolResult {
  if (client.shows === "everything" && engine !== "scripted") return result;
  const { approvalPolicy } = receipt.inForce ?? {};
  return { ...result, _meta: { [TURN_META]: { engine, ...(approvalPolicy !== undefined && { approvalPolicy }) } } };
}

/** The answer of a task whose turn nobody can tell the end of any more. */
export function lostTurn(threadId: ThreadId): CallToolResult {
  const why = `The turn was interrupted: the server ended before it. Its thread ${threadId} can be continued with codex-reply.`;
  return failure(threadId, { text: why, why });
}

/** The answer of a call that nobody knows any more: the server it was sent to, or its session, is gone. */
export function lostCall(threadId: string | undefined): CallToolResult {
  const over = "This call is over: the server was restarted, or its session has ended.";
  if (threadId === undefined) return refusal(undefined, `${over} No thread is known to have begun for it; call again.`);
  const why = `${over} What its thread ${threadId} did until then is kept: continue with codex-reply and this threadId.`;
  return { content: [{ text: why, type: "text" }], isError: true, structuredContent: { threadId, content: why, status: "interrupted" } };
}

function failure(threadId: ThreadId, { text, why }: { readonly text: string; readonly why: string }): CallToolResult {
  return { content: [{ text, type: "text" }], isError: true, structuredContent: { threadId, content: why, status: "failed" } };
}
