// Long because the result of a turn and the words about its end are one text.
import type { DecidedQuestion, TurnReceipt } from "../../agent/receipt.js";
import { SANDBOX_REMEDY } from "../../exec/errors.js";
import type { AppError } from "../../lib/errors.js";
import type { ThreadId } from "../../lib/ids.js";
import type { TurnOutcome } from "../../threads/events.js";
import type { ClientProfile } from "../clientProfiles.js";
import { CHARACTERS_PER_TOKEN, errorWithinBudget, LONGEST_ESCAPE, roomForFindings, withinBudget } from "./answerBudget.js";
import { describeSubject, type ReportedTurn, reportFields, reportText, wayText } from "./turnReport.js";

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

/** A result before `presented` prepares it for the wire. */
export interface DraftResult extends CallToolResult {
  /** What the caller can do; shown only in the `extended` style. */
  readonly advice?: string | undefined;
}

/**
 * `recorded`: only what Codex 0.92.0 would have put in a result. `plain`: the tools word their results themselves, for callers of other
 * servers.
 */
export type ResultStyle = "extended" | "recorded" | "plain";

/** The end of a turn, for a tool that words its results itself. */
export interface EndedTurn {
  readonly threadId: ThreadId;
  readonly outcome: TurnOutcome;
  readonly receipt: TurnReceipt;
  /** Remarks about the call itself. */
  readonly remarks: readonly string[];
}

export type PresentTurn = (ended: EndedTurn) => CallToolResult;

/** A text for people and models, and the same as data for programs. */
export function answer(text: string, structuredContent?: Readonly<Record<string, unknown>>): CallToolResult {
  return { content: [{ text, type: "text" }], ...(structuredContent && { structuredContent }) };
}

/** What was done to a thread, for models that see the text and for those that see only the data. */
export function confirmation(threadId: ThreadId, text: string): CallToolResult {
  return answer(text, { threadId, content: text });
}

/** The result of a call that never reached a thread. The error's code is for programs. */
export function refusal(error: AppError | undefined, why = error?.message ?? ""): DraftResult {
  const draft: DraftResult = { content: [{ text: why, type: "text" }], isError: true };
  return error ? { ...draft, advice: adviceOn(error), _meta: { [ERROR_CODE]: error.code } } : draft;
}

/** The result of a call that failed on a thread before its turn started. */
export function failureOn(threadId: ThreadId, error: AppError): DraftResult {
  const { message } = error;
  const text = message.includes(threadId) ? message : `${message} (thread ${threadId})`;
  return { ...failure(threadId, { text, why: message }), advice: adviceOn(error), _meta: { [ERROR_CODE]: error.code } };
}

/** Advice for errors of modules that do not know the tools. */
const ADVICE: Readonly<Record<string, string>> = {
  thread_not_found:
    "`codex-threads` lists the threads that you can continue (`archived: true`: the archived ones); `codex` begins a new one. " +
    "Over HTTP, a thread that another of your sessions has used is available one minute after the client of that session has left.",
  thread_in_use: "`codex-wait` returns its answer, `codex-manage` with `stop` ends it.",
  thread_busy_elsewhere: "`codex-threads` with its threadId shows when it is idle. Only the server that runs the turn can stop it.",
  nothing_to_steer: "That is `codex-reply`.",
  nothing_to_stop: "`codex-wait` returns its last answer, `codex-reply` goes on.",
};

function adviceOn({ advice, code }: AppError): string | undefined {
  return advice ?? (Object.hasOwn(ADVICE, code) ? ADVICE[code] : undefined);
}

/** The `_meta` key of results with a stable error code. */
const ERROR_CODE = "codex-mcpd/error";

/** Properties of the client that decide the form of a result. */
export interface ResultReader {
  readonly client: Pick<ClientProfile, "shows">;
  /** Whether its MCP revision has `structuredContent`. */
  readonly takesStructured: boolean;
}

export interface ResultContext {
  readonly threadId: ThreadId;
  readonly receipt: TurnReceipt;
  /** The text if the turn completes without a message. */
  readonly ifSilent?: string | undefined;
  /** Why the turn was interrupted, if somebody else than the caller interrupted it. */
  readonly interruption?: string | undefined;
  /** It ended while it waited behind another turn: the agent never saw it. */
  readonly neverBegan?: boolean | undefined;
  readonly engine: string;
  readonly reader: ResultReader;
  readonly results: ResultStyle;
  /** Maximum tokens of the result. */
  readonly resultTokens: number;
  /** Remarks about the call itself. */
  readonly remarks?: readonly string[] | undefined;
  readonly present?: PresentTurn | undefined;
}

/** The outcome of a turn as the result of the call that waited for it. */
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

/** In every style the result shows if the model was scripted. */
export function presented({ advice, ...result }: DraftResult, { results, engine, remarks = [] }: Presented): CallToolResult {
  if (results === "extended") return withRemarks(advice === undefined ? result : withAdvice(result, advice), remarks);
  const { _meta, ...rest } = result;
  const shown = results === "recorded" ? asRecorded(rest) : plainRemarks(result, remarks);
  return engine === "scripted" ? { ...shown, _meta: { ...shown._meta, [TURN_META]: { engine } } } : shown;
}

/** Clients show their model either only the text or only `structuredContent`. */
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

/** Codex reported only the cause. */
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
    ...(receipt.findings && { roomForFindings: roomForFindings(resultTokens) }),
  };
  const fields = reportFields(turn);
  const report = reportText(turn);
  const spentCharacters = Math.max(JSON.stringify(fields).length, report.length);
  const within = (text: string) => {
    if (resultTokens === Infinity) return text;
    const fits = text.length * LONGEST_ESCAPE <= resultTokens * CHARACTERS_PER_TOKEN - spentCharacters;
    return fits ? text : withinBudget(text, { tokens: resultTokens, spentCharacters, threadId });
  };
  if (outcome.status === "completed") {
    const content = within(outcome.lastMessage ?? ifSilent ?? "");
    const texts = seesReport(context.reader, { isError: false }) ? [content, `\n${report}`] : [content];
    return { content: texts.map((text) => ({ text, type: "text" })), structuredContent: { threadId, content, ...fields } };
  }
  const why =
    outcome.status === "failed" ? errorWithinBudget(outcome.message, { tokens: resultTokens, spentCharacters }) : interruptedText(context);
  const first = `${why}\n\n${turn.next ?? ""}`;
  // The first text of an error already contains the next step.
  const texts = seesReport(context.reader, { isError: true }) ? [first, `\n${reportText({ ...turn, next: undefined })}`] : [first];
  return {
    content: texts.map((text) => ({ text, type: "text" })),
    isError: true,
    structuredContent: { threadId, content: why, ...fields },
  };
}

/**
 * Whether the texts must repeat the structured part: for clients that are not known to show it to their model. Nearly all clients show only
 * the texts of errors.
 */
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

/**
 * Contains the engine, for programs. Omitted for clients that show their model everything, because the model has seen the engine already.
 */
function withMeta(result: CallToolResult, { engine, receipt }: ResultContext, { client }: ResultReader): CallToolResult {
  if (client.shows === "everything" && engine !== "scripted") return result;
  const { approvalPolicy } = receipt.inForce ?? {};
  return { ...result, _meta: { [TURN_META]: { engine, ...(approvalPolicy !== undefined && { approvalPolicy }) } } };
}

/** The result of a task whose turn ended with its server. */
export function lostTurn(threadId: ThreadId): CallToolResult {
  const why = `The turn was interrupted: the server ended before it. Its thread ${threadId} can be continued with codex-reply.`;
  return failure(threadId, { text: why, why });
}

/** The result of a call that is no longer known: its server was restarted, or its session has ended. */
export function lostCall(threadId: string | undefined): CallToolResult {
  const over = "This call is over: the server was restarted, or its session has ended.";
  if (threadId === undefined) return refusal(undefined, `${over} No thread is known to have begun for it; call again.`);
  const why = `${over} What its thread ${threadId} did until then is kept: continue with codex-reply and this threadId.`;
  return { content: [{ text: why, type: "text" }], isError: true, structuredContent: { threadId, content: why, status: "interrupted" } };
}

function failure(threadId: ThreadId, { text, why }: { readonly text: string; readonly why: string }): CallToolResult {
  return { content: [{ text, type: "text" }], isError: true, structuredContent: { threadId, content: why, status: "failed" } };
}

/** Why a turn left no answer. */
function interruptedText({ interruption, neverBegan, receipt }: ResultContext): string {
  const why = interruption ?? abortText(receipt);
  const cause = why === undefined ? "" : `: ${why}`;
  return neverBegan
    ? `The turn was stopped before it began${cause}. The agent has not seen its prompt.`
    : `The turn was interrupted before it ended${cause}.`;
}

function abortText({ approvals }: TurnReceipt): string | undefined {
  const aborted = approvals.decisions.findLast(({ decision }) => decision === "abort");
  return aborted && `the question about ${describeSubject(aborted.subject)} was answered "abort" ${wayText(aborted.by)}`;
}

/** What the caller should do next, if anything. */
function nextStep(outcome: TurnOutcome, { threadId, receipt, ifSilent, neverBegan }: ResultContext): string | undefined {
  const goOn = `codex-reply with threadId "${threadId}"`;
  switch (outcome.status) {
    case "completed":
      if (receipt.lacksSandbox) return COMMANDS_NOT_RUN;
      if (receipt.isWriteRefused && receipt.files?.list.length === 0) return notWritten(receipt);
      if (receipt.approvals.decisions.some(isDeniedUnasked)) return NOBODY_ASKED;
      return (outcome.lastMessage ?? ifSilent ?? "") === ""
        ? `The agent ended without a message. Ask what it did with ${goOn}.`
        : undefined;
    case "failed":
      return receipt.failedAs === "context_window_exceeded"
        ? `Thread ${threadId} is too long for the model. codex-manage with \`compact\` shortens it; then go on with ${goOn}, or start over with codex.`
        : `The turn on thread ${threadId} failed. When the cause is gone, go on with ${goOn}.`;
    case "interrupted":
      return neverBegan
        ? `If it is still wanted, send the prompt again with ${goOn}.`
        : `Thread ${threadId} keeps what it has done. Go on with ${goOn}.`;
  }
}

/** What was approved may have written where nobody looks. */
function notWritten({ approvals }: TurnReceipt): string {
  const what = approvals.allowed === 0 ? "Nothing was written" : "A write was refused";
  return `${what}: the sandbox is read-only. If files should change, start the task again with codex and sandbox "workspace-write".`;
}

function isDeniedUnasked({ decision, by }: DecidedQuestion): boolean {
  return decision === "denied" && (by === "fallback" || by === "client");
}

const NOBODY_ASKED =
  "Approval was denied because no person could be asked. If it is needed, ask the user: with --approval-fallback hold this server lets codex-answer answer, and a wider `sandbox` needs fewer approvals.";

const COMMANDS_NOT_RUN = `Commands did not run: no sandbox works on this machine, and nobody allowed them without one; ${SANDBOX_REMEDY}.`;
