// Long because a receipt is one account of everything that a turn did, tokens included.
import type { ApprovalDecision, ApprovalId, ApprovalRequest, ApprovalSubject, DecidedBy } from "../approvals/model.js";
import type { ModelPrice } from "../config/resolve.js";
import type { FileChange } from "../exec/actions.js";
import type { ChangedFile } from "../exec/changes/countedFiles.js";
import type { ChangedFiles } from "../exec/changes/workspaceChanges.js";
import { monotonicMs } from "../lib/promises.js";
import type { CodexErrorInfo, ThreadEvent } from "../threads/events.js";
import type { RawItem } from "../threads/items.js";
import { findingsIn, type ReviewFinding } from "../threads/reviewFindings.js";
import type { ThreadSettings } from "../threads/settings.js";
import { addUsage, NO_USAGE, type RateLimits, type TokenUsage, type TokenUsageInfo } from "../threads/usage.js";

/** What a turn did: files, commands, questions, cost, and the settings in force. Independent of any protocol. */
export interface TurnReceipt {
  /** Undefined if the changes could not be determined in time. */
  readonly files: ChangedFiles | undefined;
  readonly commands: {
    /** How many ran, including those that were cut off by the end of their turn. */
    readonly run: number;
    readonly failed: number;
    /** How many did not run: a policy refused them without asking anybody, or they could not be started. */
    readonly refused: number;
    /** How many still ran when the turn was completed. */
    readonly stillRunning: number;
    /** The last of those that failed, were refused, or were cut off when their turn was interrupted or failed. */
    readonly failures: readonly FailedCommand[];
  };
  readonly approvals: {
    readonly asked: number;
    readonly allowed: number;
    readonly denied: number;
    readonly decisions: readonly DecidedQuestion[];
  };
  /** Absent if the model reported no usage. */
  readonly usage?: { readonly turn: TokenUsage; readonly thread: TokenUsage };
  /** The cost of the turn in US dollars, if the model's price is configured. */
  readonly costUsd?: number;
  readonly rateLimits?: RateLimits;
  /** Absent for a turn that never started. */
  readonly inForce?: {
    readonly cwd: string;
    readonly model: string;
    readonly approvalPolicy: ThreadSettings["approvalPolicy"];
    readonly sandbox: { readonly policy: string; readonly enforcedBy: string };
  };
  readonly ms: number;
  /** The engine's warnings, verbatim. */
  readonly notices: readonly string[];
  /** A write was refused by a read-only sandbox. */
  readonly isWriteRefused: boolean;
  /** A command did not run because no sandbox works on this machine. */
  readonly lacksSandbox?: true;
  /** How Codex classifies the failure that ended it. */
  readonly failedAs?: CodexErrorInfo;
  /** The findings of a review, in its order. Present only for a review that was completed. */
  readonly findings?: readonly ReviewFinding[];
}

export interface FailedCommand {
  readonly command: readonly string[];
  /** Absent for a command that did not run or did not end. */
  readonly exitCode?: number;
  /** Why it did not run. */
  readonly refusal?: string;
}

export interface DecidedQuestion {
  readonly subject: ApprovalSubject;
  readonly decision: ApprovalDecision["kind"];
  readonly by: DecidedBy | undefined;
  readonly reason?: string;
}

/** A result has room for few warnings, and a turn may warn without end. */
const MOST_NOTICES = 20;
const MAX_FAILURES = 5;
const MAX_DECISIONS = 20;

/** Collects the receipt of a turn from its events, first to last. */
export class ReceiptCollector {
  readonly #patched = new Map<string, ChangedFile>();
  readonly #commands = { run: 0, failed: 0, refused: 0 };
  /** How many of those that failed have no exit code, since the agent last went on. If the turn is cut off then, that is what ended them. */
  #withoutExitCode = 0;
  /** The commands that have not ended, by call id. */
  readonly #runningCommands = new Map<string, readonly string[]>();
  #stillRunning = 0;
  readonly #failures: FailedCommand[] = [];
  readonly #open = new Map<ApprovalId, ApprovalRequest>();
  readonly #approvals = { asked: 0, allowed: 0, denied: 0 };
  readonly #decisions: DecidedQuestion[] = [];
  readonly #usage = new UsageOfTurn();
  #settings: ThreadSettings | undefined;
  #sandbox: string | undefined;
  #rateLimits: RateLimits | undefined;
  readonly #notices: string[] = [];
  /** Commands and patches that were denied, and whether a person denied them. */
  readonly #deniedCalls = new Map<string, { readonly byPerson: boolean }>();
  #isWriteRefused = false;
  #lacksSandbox = false;
  #failedAs: CodexErrorInfo | undefined;
  #findings: readonly ReviewFinding[] | undefined;
  #began: number | undefined;
  #ended: number | undefined;
  readonly #now: () => number;

  constructor(now: () => number = monotonicMs) {
    this.#now = now;
  }

  observe(event: ThreadEvent): void {
    this.#began ??= this.#now();
    this.#usage.observe(event);
    switch (event.type) {
      case "threadConfigured":
      case "turnContext":
        this.#settings = event.settings;
        this.#sandbox = event.sandboxBackend;
        return;
      case "tokenCount":
        if (tellsAnything(event.rateLimits)) this.#rateLimits = event.rateLimits;
        return;
      case "warning":
        if (this.#notices.length < MOST_NOTICES) this.#notices.push(event.message);
        return;
      case "itemStarted":
      case "modelRetry":
        this.#withoutExitCode = 0;
        return;
      case "commandStarted":
        this.#withoutExitCode = 0;
        this.#runningCommands.set(event.callId, event.command);
        return;
      case "commandEnded":
        return this.#noteCommand(event);
      case "patchEnded":
        return this.#notePatch(event);
      case "rawItem":
      case "unseenItem":
        if (this.#isReadOnly && isRefusedPatch(event.item)) this.#isWriteRefused = true;
        return;
      case "approvalRequested":
        this.#approvals.asked++;
        this.#open.set(event.request.id, event.request);
        return;
      case "approvalDecided":
        return this.#noteDecision(event.id, event.decision);
      case "reviewEnded":
        this.#findings = event.text === null ? undefined : findingsIn(event.text);
        return;
      case "turnCompleted":
      case "turnFailed":
      case "turnAborted":
        if (event.type === "turnFailed") this.#failedAs = event.info;
        if (event.type === "turnCompleted") this.#stillRunning = this.#runningCommands.size;
        else this.#noteCutOff();
        this.#ended = this.#now();
        return;
      default:
    }
  }

  /** The file changes of the agent's own patches only. */
  get patches(): readonly ChangedFile[] {
    return [...this.#patched.values()];
  }

  /** `files`: the changes found on disk, if the disk was checked. */
  receipt(files: ChangedFiles | undefined): TurnReceipt {
    const settings = this.#settings;
    const usage = this.#usage.total();
    return {
      files,
      commands: { ...this.#commands, stillRunning: this.#stillRunning, failures: [...this.#failures] },
      approvals: { ...this.#approvals, decisions: [...this.#decisions] },
      ...(usage && { usage }),
      ...(this.#rateLimits && { rateLimits: this.#rateLimits }),
      ...(settings && {
        inForce: {
          cwd: settings.cwd,
          model: settings.model,
          approvalPolicy: settings.approvalPolicy,
          sandbox: { policy: settings.sandboxPolicy.type, enforcedBy: this.#sandbox ?? "nothing" },
        },
      }),
      ms: this.#began === undefined ? 0 : Math.round((this.#ended ?? this.#now()) - this.#began),
      notices: [...this.#notices],
      isWriteRefused: this.#isWriteRefused,
      ...(this.#lacksSandbox && { lacksSandbox: true }),
      ...(this.#failedAs && { failedAs: this.#failedAs }),
      ...(this.#findings && { findings: this.#findings }),
    };
  }

  get #isReadOnly(): boolean {
    return this.#settings?.sandboxPolicy.type === "read-only";
  }

  #noteCommand(event: Extract<ThreadEvent, { type: "commandEnded" }>): void {
    const { callId, command, exitCode, aggregatedOutput, lacksSandbox, declined, neverStarted, stillRuns, cutOff } = event;
    // The event at the end of the turn counts these.
    if (stillRuns || cutOff) return;
    const beganHere = this.#runningCommands.delete(callId);
    // An earlier turn began this command, and the result of that turn reported it.
    if (event.ofTurn !== undefined && !beganHere) return;
    if (lacksSandbox) this.#lacksSandbox = true;
    // A denied command has begin and end events but did not run. A command that was denied a second run outside the sandbox did run once.
    if (exitCode === NO_EXIT_CODE && this.#deniedCalls.has(callId)) return;
    if (declined || neverStarted || lacksSandbox) {
      this.#commands.refused++;
      return this.#noteFailure({ command, refusal: aggregatedOutput.replace(EXECUTION_ERROR, "") });
    }
    this.#commands.run++;
    if (exitCode === 0) return;
    this.#commands.failed++;
    if (exitCode === NO_EXIT_CODE) this.#withoutExitCode++;
    this.#noteFailure({ command, ...(exitCode !== NO_EXIT_CODE && { exitCode }) });
    if (this.#isReadOnly && READ_ONLY_DISK.test(aggregatedOutput)) this.#isWriteRefused = true;
  }

  /** Counts the commands that an interrupted or failed turn cut off. Those that waited for an approval, or were denied it, did not run. */
  #noteCutOff(): void {
    this.#commands.failed -= this.#withoutExitCode;
    const asked = new Set([...this.#open.values()].map(({ subject }) => subject.callId));
    for (const [callId, command] of this.#runningCommands) {
      if (asked.has(callId) || this.#deniedCalls.has(callId)) continue;
      this.#commands.run++;
      this.#noteFailure({ command });
    }
  }

  #noteFailure(failure: FailedCommand): void {
    this.#failures.push(failure);
    if (this.#failures.length > MAX_FAILURES) this.#failures.shift();
  }

  #notePatch({ callId, success, changes }: Extract<ThreadEvent, { type: "patchEnded" }>): void {
    if (success) for (const [path, change] of Object.entries(changes)) this.#noteFile(path, change);
    else if (this.#isReadOnly && !this.#deniedCalls.get(callId)?.byPerson) this.#isWriteRefused = true;
  }

  #noteFile(named: string, change: FileChange): void {
    const movedTo = change.type === "update" ? change.move_path : null;
    if (movedTo !== null) this.#noteFile(named, { type: "delete", content: "" });
    const path = movedTo ?? named;
    const known = this.#patched.get(path);
    if (known?.kind === "add" && change.type === "delete") return void this.#patched.delete(path);
    const { added, removed } = linesOf(change);
    const kind = known?.kind === "add" && change.type === "update" ? "add" : change.type;
    this.#patched.set(path, { path, kind, added: (known?.added ?? 0) + added, removed: (known?.removed ?? 0) + removed });
  }

  /** A person's refusal is not the sandbox's, so it must not lead to advice to ask for more access. */
  #noteDenial(subject: Exclude<ApprovalSubject, { kind: "form" }>, decision: ApprovalDecision): void {
    const byPerson = isByPerson(decision);
    this.#deniedCalls.set(subject.callId, { byPerson });
    if (this.#isReadOnly && !byPerson) this.#isWriteRefused ||= !subject.staysInSandbox;
  }

  #noteDecision(id: ApprovalId, decision: ApprovalDecision): void {
    const question = this.#open.get(id);
    this.#open.delete(id);
    const isAllowed = decision.kind !== "denied" && decision.kind !== "abort";
    if (isAllowed) this.#approvals.allowed++;
    else this.#approvals.denied++;
    if (!question) return;
    if (!isAllowed && question.subject.kind !== "form") this.#noteDenial(question.subject, decision);
    const reason = decision.kind === "denied" ? decision.reason : undefined;
    this.#decisions.push({
      subject: question.subject,
      decision: decision.kind,
      by: decision.by,
      ...(reason === undefined ? {} : { reason }),
    });
    if (this.#decisions.length > MAX_DECISIONS) this.#decisions.shift();
  }
}

/** How Codex's tools begin the reason why a command could not be started. */
const EXECUTION_ERROR = /^(execution error|Failed to create unified exec process): /;
/** Shown for a command that has none: it was not started, or something ended it. */
const NO_EXIT_CODE = -1;

/** Channels on which a person decides. */
const OF_PERSONS: readonly (DecidedBy | undefined)[] = ["elicitation", "tool", "http", "console"];

function isByPerson(decision: ApprovalDecision): boolean {
  const isAnswer = decision.kind !== "denied" || !(decision.failed || decision.dismissed);
  return isAnswer && OF_PERSONS.includes(decision.by);
}

function tellsAnything({ primary, secondary, credits }: RateLimits): boolean {
  return primary !== null || secondary !== null || credits !== null;
}

/** The kernel's error, as programs print it. */
const READ_ONLY_DISK = /read-only file ?system|EROFS/i;

/** Codex rejects such a patch before it becomes a patch event. */
function isRefusedPatch(item: RawItem): boolean {
  if (!item.type.endsWith("_output")) return false;
  const { output } = item;
  return typeof output === "string" && output.includes("patch rejected: writing outside of the project");
}

function linesOf(change: FileChange): { added: number; removed: number } {
  const count = (text: string, start: string) => text.split("\n").filter((line) => line.startsWith(start)).length;
  switch (change.type) {
    case "add":
      return { added: lineCount(change.content), removed: 0 };
    case "delete":
      return { added: 0, removed: lineCount(change.content) };
    case "update":
      return { added: count(change.unified_diff, "+"), removed: count(change.unified_diff, "-") };
  }
}

function lineCount(text: string): number {
  return text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

/**
 * Sums the usage of a turn's requests. Engines report the thread's total and the last request. A report that comes before the model has
 * answered belongs to an earlier turn; if it is empty, the thread had used nothing before.
 */
export class UsageOfTurn {
  #hasAnswered = false;
  /** The thread's total in the previous report. */
  #usedBefore: TokenUsage | undefined;
  #latest: TokenUsageInfo | undefined;
  #reports = 0;
  #turn: TokenUsage | undefined;

  observe(event: ThreadEvent): void {
    switch (event.type) {
      case "messageDelta":
      case "reasoningDelta":
      case "rawReasoningDelta":
      case "historyCompacted":
      // A reviewer's answer is reported once, at its end; its requests are counted before.
      case "reviewStarted":
      case "reviewEnded":
      case "commandStarted":
      case "patchStarted":
      case "mcpToolStarted":
        this.#hasAnswered = true;
        return;
      // User messages are reported as items too.
      case "rawItem":
        this.#hasAnswered ||= event.item.type !== "message" || event.item["role"] === "assistant";
        return;
      case "itemCompleted":
        this.#hasAnswered ||= event.item.kind !== "userMessage";
        return;
      case "tokenCount":
        if (event.usage) this.#count(event.usage);
        else this.#usedBefore ??= NO_USAGE;
        return;
      case "turnCompleted":
        // If a turn was completed without a message, the only report in it is about the turn itself.
        if (this.#reports === 1) this.#turn ??= this.#latest?.last_token_usage;
        return;
      default:
    }
  }

  total(): { readonly turn: TokenUsage; readonly thread: TokenUsage } | undefined {
    if (!this.#latest) return undefined;
    return { turn: this.#turn ?? NO_USAGE, thread: this.#latest.total_token_usage };
  }

  #count(usage: TokenUsageInfo): void {
    const before = this.#usedBefore;
    this.#latest = usage;
    this.#reports++;
    const { total_token_usage: total, last_token_usage: last } = usage;
    this.#usedBefore = total;
    if (before) {
      const more = difference(total, before);
      this.#turn = this.#turn ? addUsage(this.#turn, more) : more;
    } else if (this.#hasAnswered) this.#turn = last;
  }
}

const MILLION = 1_000_000;

/** The cost of tokens in US dollars. Cached tokens are part of the input tokens. */
export function costOf({ input_tokens, cached_input_tokens, output_tokens }: TokenUsage, price: ModelPrice): number {
  const fresh = Math.max(input_tokens - cached_input_tokens, 0);
  return (fresh * price.input + cached_input_tokens * price.cachedInput + output_tokens * price.output) / MILLION;
}

/** The counts under the names that results and the API use. */
export function tokenCounts(usage: TokenUsage) {
  return {
    input: usage.input_tokens,
    cachedInput: usage.cached_input_tokens,
    output: usage.output_tokens,
    reasoning: usage.reasoning_output_tokens,
    total: usage.total_tokens,
  };
}

function difference(one: TokenUsage, other: TokenUsage): TokenUsage {
  const beyond = (a: number, b: number) => Math.max(a - b, 0);
  return {
    input_tokens: beyond(one.input_tokens, other.input_tokens),
    cached_input_tokens: beyond(one.cached_input_tokens, other.cached_input_tokens),
    output_tokens: beyond(one.output_tokens, other.output_tokens),
    reasoning_output_tokens: beyond(one.reasoning_output_tokens, other.reasoning_output_tokens),
    total_tokens: beyond(one.total_tokens, other.total_tokens),
  };
}
