import type { AttendedTurn } from "../../agent/attendance.js";
import type { LastAnswer, SilentEnd } from "../../agent/lastAnswer.js";
import type { ApprovalRequest } from "../../approvals/model.js";
import type { ThreadId } from "../../lib/ids.js";
import { oneLine } from "../../lib/oneLine.js";
import { doingText, span } from "./activity.js";
import { type AnswerBudget, errorWithinBudget, roomForFindings, withinBudget } from "./answerBudget.js";
import { answer, type CallToolResult } from "./callResult.js";
import { questionText } from "./elicitation.js";
import { findingsField } from "./turnReport.js";

export interface RunningTurn {
  readonly threadId: ThreadId;
  /** Its current activity, in one line. */
  readonly doing: string;
  /** The time since it was requested. */
  readonly ms: number;
  /** It waits behind another turn of its thread. */
  readonly isQueued?: boolean;
  /** The open questions that no client is being asked. */
  readonly questions: readonly ApprovalRequest[];
  /** The URL of the console, if it is served. */
  readonly console?: string | undefined;
  /** Remarks about the call itself. */
  readonly remarks?: readonly string[] | undefined;
}

/** Without a question, the result should cost a model at most 120 tokens. */
const DOING_LENGTH = 80;
const MOST_QUESTIONS = 3;
const WAIT = "Call codex-wait (or codex-reply without a prompt) with this threadId; do not resend the task.";
const ANSWER = "Ask the user, then call codex-answer with the id, then codex-wait.";

/** The result of a call that returns while its turn goes on: the thread, its activity and what to do next. */
export function runningResult({ threadId, questions, console: address, remarks = [], ...turn }: RunningTurn): CallToolResult {
  const told = questions.slice(0, MOST_QUESTIONS).map(({ id, subject }) => ({ id, what: questionText(subject) }));
  const content =
    told.length > 0
      ? ["Waiting for an answer:", ...told.map(({ id, what }) => `${what} (id ${id})`), ...furtherQuestions(questions)].join("\n")
      : stateOf(turn);
  const next = told.length > 0 ? ANSWER : WAIT;
  const place = address === undefined ? "" : `\nThe user can watch and answer at ${address}`;
  const fields = {
    threadId,
    content,
    status: "running",
    ...(told.length > 0 && { questions: told }),
    ...(remarks.length > 0 && { notices: remarks }),
    next,
  };
  return {
    content: [{ text: [content, `threadId: ${threadId}`, ...remarks, `${next}${place}`].join("\n"), type: "text" }],
    structuredContent: { ...fields, ...(address !== undefined && { console: address }) },
  };
}

function stateOf({ doing, ms, isQueued = false }: Pick<RunningTurn, "doing" | "ms" | "isQueued">): string {
  return isQueued
    ? `Queued for ${span(ms)}: an earlier turn of this thread still runs`
    : `Still running after ${span(ms)}: ${oneLine(doing, DOING_LENGTH)}`;
}

function furtherQuestions({ length }: readonly ApprovalRequest[]): string[] {
  return length > MOST_QUESTIONS ? [`${length - MOST_QUESTIONS} more questions are shown when these are answered.`] : [];
}

/** A model that sent a reply without its prompt must not take the old answer for a new one. */
const LAST_ANSWER = "No turn runs: this is the thread's last answer. Go on with codex-reply and a prompt.";

/** The result for a thread without a running turn: its last answer again, within the budget. */
export function idleResult(threadId: ThreadId, last: LastAnswer | SilentEnd, { tokens }: Pick<AnswerBudget, "tokens">): CallToolResult {
  if ("text" in last) {
    const findings = last.findings && findingsField(last.findings, { cwd: last.cwd, room: roomForFindings(tokens) });
    const fields = { threadId, content: "", status: "completed", ...findings, next: LAST_ANSWER };
    const content = withinBudget(last.text, { tokens, spentCharacters: JSON.stringify(fields).length, threadId });
    const { content: texts, structuredContent } = answer(content, { ...fields, content });
    return { content: [...texts, { text: `\nthreadId: ${threadId}\nnext: ${LAST_ANSWER}`, type: "text" }], structuredContent };
  }
  const { status, what } = endText(last);
  const text = `No turn runs on thread ${threadId}: its last one ${what}. Go on with codex-reply and a prompt; codex-threads with this threadId shows what was done.`;
  const content = errorWithinBudget(text, { tokens, spentCharacters: 0 });
  const result = answer(content, { threadId, content, status });
  return status === "completed" ? result : { ...result, isError: true };
}

function endText(end: SilentEnd): { readonly status: string; readonly what: string } {
  switch (end.how) {
    case "failed":
      return { status: "failed", what: `failed (${end.error.trim()})` };
    case "completed":
      return { status: "completed", what: "ended without a message" };
    case "interrupted":
      return { status: "interrupted", what: "was interrupted before it answered" };
    case "unknown":
      return { status: "interrupted", what: "left no answer: it failed, was interrupted, or ended without a message" };
  }
}

/** Each one makes the results of all further calls in the folder longer. */
const MOST_LOST = 3;

/** Adds the newest threads whose calls timed out before their clients learned the thread id, because no other result names them. */
export function withLostTurns(result: CallToolResult, lost: readonly AttendedTurn[]): CallToolResult {
  const named = lost.slice(-MOST_LOST).map((attended) => ({ threadId: attended.turn.threadId, ...standingOf(attended) }));
  const text = named
    .map(({ threadId, state, next }) => `\nAn earlier call here timed out; its thread ${threadId} ${state}. ${next}`)
    .join("");
  const more = lost.length > MOST_LOST ? `\n${lost.length - MOST_LOST} more such threads are in codex-threads.` : "";
  const alsoRunning = named.map(({ threadId, state, next }) => ({ threadId, state, next: `An earlier call here timed out. ${next}` }));
  return {
    ...result,
    content: [...result.content, { text: `${text}${more}`, type: "text" }],
    ...(result.structuredContent && { structuredContent: { ...result.structuredContent, alsoRunning } }),
  };
}

function standingOf({ turn, since, wasInterrupted }: AttendedTurn): { readonly state: string; readonly next: string } {
  if (wasInterrupted) return { state: "was interrupted", next: "codex-reply goes on there." };
  const ms = () => span(Date.now() - since);
  const runs = () =>
    turn.begunAt === undefined
      ? `has been queued for ${ms()}`
      : `has been running for ${ms()}: ${oneLine(doingText(turn.step), DOING_LENGTH)}`;
  return { state: turn.ended ? "has an answer" : runs(), next: "codex-wait gets its answer." };
}

/** Tells a caller that repeated a request that no new turn was started, and how to start one. */
export function joinedRemark(ms: number): string {
  return `This turn was started ${span(ms)} ago by a call with the same arguments that timed out; it was not started again. To run it again, repeat the call once it has ended.`;
}
