import type { Agent, Ask } from "../../agent/agent.js";
import type { FeedEntry } from "../../agent/feed.js";
import { tokenCounts } from "../../agent/receipt.js";
import type { ThreadActivity } from "../../agent/threadActivity.js";
import { contentOfConsent } from "../../approvals/forms.js";
import type { ApprovalRequest, ApprovalSubject } from "../../approvals/model.js";
import { assertNever } from "../../lib/assertNever.js";
import { oneLine } from "../../lib/oneLine.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { ThreadSummary } from "../../threads/store.js";
import type { Turn } from "../../threads/turn.js";
import type { Settlement } from "../schemas/common.js";
import type { Approval, ThreadSummaryResource, TurnResource, TurnStep } from "../schemas/threads.js";
import { beginning, commandTextOf, fileDiffs } from "./shownTexts.js";
import { shownFinding } from "./turnItems.js";

const LONGEST_STEP = 200;
const LONGEST_PROMPT = 10_000;
const LONGEST_ANSWER = 1_000_000;

export function summaryView(
  { id, name, preview, cwd, startedAt, lastUsedAt }: ThreadSummary,
  { archived, activity }: { readonly archived: boolean; readonly activity: ThreadActivity | undefined },
): ThreadSummaryResource {
  return {
    id,
    name: name ?? null,
    preview,
    cwd,
    createdAt: timeText(startedAt),
    updatedAt: timeText(lastUsedAt),
    archived,
    ...activityView(activity),
  };
}

export function activityView(activity: ThreadActivity | undefined): Pick<ThreadSummaryResource, "state" | "activity"> {
  if (!activity || activity.state === "idle") return { state: "idle", activity: null };
  const { state, ms, step, queued, questions } = activity;
  return { state, activity: { ms, step: stepView(step), queued, approvals: questions.map(({ id }) => id) } };
}

/** Other programs may write times in other formats; an unreadable one becomes the earliest time. */
function timeText(text: string): string {
  const at = Date.parse(text);
  return new Date(Number.isNaN(at) ? 0 : at).toISOString();
}

export function stepView(event: ThreadEvent | undefined): TurnStep {
  const step = (kind: TurnStep["kind"], text: string): TurnStep => ({ kind, text: oneLine(text, LONGEST_STEP) });
  switch (event?.type) {
    case "itemStarted":
      switch (event.item.kind) {
        case "agentMessage":
          return step("answering", "writing an answer");
        case "webSearch":
          return step("tool", `searching the web: ${event.item.query}`);
        default:
          return step("thinking", "thinking");
      }
    case "commandStarted":
      return step("command", commandTextOf(event.command));
    case "patchStarted":
      return step("patch", Object.keys(event.changes).join(", "));
    case "mcpToolStarted":
      return step("tool", `${event.invocation.server}: ${event.invocation.tool}`);
    case "planUpdated":
      return step("plan", event.plan.find(({ status }) => status === "in_progress")?.step ?? "planning");
    case "approvalRequested":
      return step("waiting", gistOf(event.request.subject));
    case "modelRetry":
      return step("retrying", event.cause);
    case "historyCompacted":
      return step("compacting", "summarising the thread");
    case "reviewStarted":
      return step("reviewing", event.hint);
    case "approvalDecided":
      return step("thinking", "going on");
    default:
      return step("starting", "starting");
  }
}

function gistOf(subject: ApprovalSubject): string {
  switch (subject.kind) {
    case "command":
      return asWritten(subject);
    case "patch":
      return Object.keys(subject.changes).join(", ");
    case "form":
      return subject.message;
  }
}

/** The view of a turn that runs or has just ended. */
export async function turnView(agent: Agent, turn: Turn, { isWaiting }: { readonly isWaiting: boolean }): Promise<TurnResource> {
  const outcome = turn.ended ? await turn.outcome : undefined;
  const { files, commands, approvals, usage, costUsd, inForce, ms, notices, findings } = await agent.receiptOf(turn);
  const { begunAt } = turn;
  const running = begunAt === undefined ? "queued" : isWaiting ? "waiting" : "running";
  return {
    id: turn.key,
    threadId: turn.threadId,
    status: outcome?.status ?? running,
    prompt: beginning(turn.input.text, LONGEST_PROMPT).text,
    startedAt: begunAt === undefined ? null : new Date(begunAt).toISOString(),
    ms: turn.ended ? ms : turn.ranMs,
    step: turn.ended ? null : stepView(turn.step),
    answer: outcome?.status === "completed" && outcome.lastMessage !== null ? beginning(outcome.lastMessage, LONGEST_ANSWER).text : null,
    error: outcome?.status === "failed" ? outcome.message : null,
    files: files
      ? files.list.map(({ path, kind, added, removed }) => ({ path, kind, added: added ?? null, removed: removed ?? null }))
      : null,
    commands: { run: commands.run, failed: commands.failed },
    approvals: { asked: approvals.asked, allowed: approvals.allowed, denied: approvals.denied },
    usage: usage ? tokenCounts(usage.turn) : null,
    threadUsage: usage ? tokenCounts(usage.thread) : null,
    costUsd: costUsd ?? null,
    model: inForce?.model ?? null,
    sandbox: inForce ? { ...inForce.sandbox } : null,
    notices: [...notices],
    findings: (findings ?? []).map(shownFinding),
  };
}

/** The asking turn and its thread, as far as they are known. */
interface AskingTurn {
  readonly turnId: string;
  readonly name: string | null;
  readonly cwd: string | null;
}

export function approvalView(agent: Agent, ask: Pick<Ask, "caller">, request: ApprovalRequest): Approval {
  const { id, threadId, subject, deadline } = request;
  const { turnId, name, cwd } = askingTurn(agent, ask, request);
  return {
    id,
    threadId,
    turnId,
    threadName: name,
    cwd,
    kind: subject.kind,
    // Codex names no item for some of its questions.
    itemId: subject.kind === "form" || subject.callId === "" ? null : subject.callId,
    reason: subject.reason ?? null,
    deadline: new Date(deadline).toISOString(),
    staysInSandbox: subject.staysInSandbox,
    needsPerson: subject.needsPerson,
    decisions: decisionsOn(subject),
    ...subjectView(subject),
    settlement: null,
  };
}

function decisionsOn(subject: ApprovalSubject): Approval["decisions"] {
  if (subject.kind !== "form") return ["approve", "approve-for-session", "deny", "abort"];
  return ["answer", ...("content" in contentOfConsent(subject.requestedSchema) ? (["approve"] as const) : []), "deny", "abort"];
}

function subjectView(subject: ApprovalSubject): Pick<Approval, "command" | "patch" | "form"> {
  const none = { command: null, patch: null, form: null };
  switch (subject.kind) {
    case "command": {
      const { command, cwd, proposedPrefix } = subject;
      const prefix = proposedPrefix ? [...proposedPrefix] : null;
      return { ...none, command: { command: [...command], commandText: asWritten(subject), cwd, proposedPrefix: prefix } };
    }
    case "patch": {
      const { changes, grantRoot = null, outside = {} } = subject;
      return { ...none, patch: { changes: fileDiffs(changes), grantRoot, outside: { ...outside } } };
    }
    case "form":
      return { ...none, form: { server: subject.server, message: subject.message, schema: { ...subject.requestedSchema } } };
    default:
      return assertNever(subject);
  }
}

/** The command as the agent wrote it: without the shell that runs it. */
function asWritten({ command, commandText }: Extract<ApprovalSubject, { kind: "command" }>): string {
  const isScript = command.length === 3 && /^-l?c$/.test(command[1] ?? "");
  return isScript ? commandTextOf(command) : commandText;
}

export function settlementView({ decision, by, who, at }: Extract<FeedEntry, { type: "questionAnswered" }>): Settlement {
  return { decision, by: by ?? "unknown", who: who ?? null, at: new Date(at).toISOString() };
}

/** The questions that the caller may see, each with what is known about its thread. */
export async function openApprovals(agent: Agent, ask: Ask): Promise<readonly Approval[]> {
  const questions = await agent.questions(ask);
  return questions.map((request) => approvalView(agent, ask, request));
}

function askingTurn(agent: Agent, { caller }: Pick<Ask, "caller">, { id, threadId, turnId }: ApprovalRequest): AskingTurn {
  const asked = agent.feed.lastOf(caller, "questionAsked", ({ questionId }) => questionId === id);
  const opened = agent.feed.lastOf(caller, "threadOpened", (entry) => entry.threadId === threadId);
  const renamed = agent.feed.lastOf(caller, "threadChanged", (entry) => entry.threadId === threadId && entry.change === "renamed");
  return { turnId: asked?.turnKey ?? turnId, name: renamed?.name ?? null, cwd: opened?.cwd ?? null };
}
