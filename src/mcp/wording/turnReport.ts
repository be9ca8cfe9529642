import path from "node:path";
import { type DecidedQuestion, type FailedCommand, type TurnReceipt, tokenCounts } from "../../agent/receipt.js";
import type { ApprovalSubject, DecidedBy } from "../../approvals/model.js";
import type { ChangedFile } from "../../exec/changes/countedFiles.js";
import type { ChangedFiles } from "../../exec/changes/workspaceChanges.js";
import type { ThreadId } from "../../lib/ids.js";
import { oneLine } from "../../lib/oneLine.js";
import { visible } from "../../lib/visibleText.js";
import type { ReviewFinding } from "../../threads/reviewFindings.js";
import type { RateLimits, RateLimitWindow } from "../../threads/usage.js";
import { commandGist } from "./progress.js";

export type ReportedStatus = "completed" | "failed" | "interrupted" | "running";

/** What a result reports about a turn besides its answer. */
export interface ReportedTurn {
  readonly threadId: ThreadId;
  readonly status: ReportedStatus;
  readonly receipt: TurnReceipt;
  /** Remarks about the call itself. */
  readonly remarks?: readonly string[];
  /** What the caller should do next, if anything. */
  readonly next?: string | undefined;
  /** How many characters the findings of a review may take; its text contains them too. */
  readonly roomForFindings?: number;
}

/** More would fill the reader's context; the folder itself shows the rest. */
const MAX_FILES = 50;
const MAX_DECISIONS = 5;

/** For programs, and for models that see structured data. Unknown fields are omitted. */
export function reportFields({
  status,
  receipt,
  remarks = [],
  next,
  roomForFindings = Number.POSITIVE_INFINITY,
}: ReportedTurn): Readonly<Record<string, unknown>> {
  const { commands, approvals, usage, costUsd, rateLimits, inForce, ms } = receipt;
  const files = knownFiles(receipt);
  const list = files?.list ?? [];
  const failures = commands.failures.map(failureField);
  const decisions = approvals.decisions.slice(-MAX_DECISIONS).map(decisionField);
  return {
    status,
    ...(receipt.findings && findingsField(receipt.findings, { cwd: inForce?.cwd, room: roomForFindings })),
    files: files ? list.slice(0, MAX_FILES).map((file) => ({ ...file, path: shortPath(file.path, inForce?.cwd) })) : "unknown",
    ...(files && list.length > 0 && { filesFrom: files.from }),
    ...(list.length > MAX_FILES && { filesOmitted: list.length - MAX_FILES }),
    commands: {
      run: commands.run,
      failed: commands.failed,
      ...(commands.refused > 0 && { refused: commands.refused }),
      ...(commands.stillRunning > 0 && { stillRunning: commands.stillRunning }),
      ...(failures.length > 0 && { failures }),
    },
    approvals: {
      asked: approvals.asked,
      allowed: approvals.allowed,
      denied: approvals.denied,
      ...(decisions.length > 0 && { decisions }),
    },
    ...(usage && { usage: { turn: tokenCounts(usage.turn), thread: tokenCounts(usage.thread) } }),
    ...(costUsd !== undefined && { cost: { usd: costUsd } }),
    ...limitsField(rateLimits),
    ...(inForce && { cwd: inForce.cwd, sandbox: inForce.sandbox, model: inForce.model }),
    ms,
    ...(remarks.length + receipt.notices.length > 0 && { notices: [...remarks, ...receipt.notices] }),
    ...(next !== undefined && { next }),
  };
}

/** Undefined where commands ran in a folder that was not compared: an empty list would say that they changed nothing. */
function knownFiles({ files, commands }: TurnReceipt): ChangedFiles | undefined {
  const isUnknown = files?.from === "patches" && files.list.length === 0 && commands.run + commands.stillRunning > 0;
  return isUnknown ? undefined : files;
}

const MAX_LINES = 12;
const MAX_FILE_LINES = 4;
const MAX_NOTES = 2;
const NOTE_LENGTH = 300;

/** The same for people, and for models that see text: the thread first, at most twelve lines, no empty statements. */
export function reportText(turn: ReportedTurn): string {
  const { threadId, status, receipt, remarks = [], next } = turn;
  const { usage, costUsd, inForce, rateLimits, ms } = receipt;
  const lines = [
    `threadId: ${threadId}`,
    `status: ${status} after ${seconds(ms)}`,
    ...[...remarks, ...receipt.notices].slice(0, MAX_NOTES).map((note) => `note: ${visible(oneLine(note, NOTE_LENGTH))}`),
    ...fileLines(receipt),
    ...commandLine(receipt),
    ...approvalLine(receipt),
    ...(usage
      ? [`tokens: ${grouped(usage.turn.total_tokens)} in this turn, ${grouped(usage.thread.total_tokens)} on the thread${price(costUsd)}`]
      : []),
    ...limitLine(rateLimits),
    ...(inForce
      ? [
          `cwd: ${visible(inForce.cwd)}, sandbox: ${inForce.sandbox.policy} (${inForce.sandbox.enforcedBy}), model: ${visible(inForce.model)}`,
        ]
      : []),
  ];
  return [...lines.slice(0, MAX_LINES - (next === undefined ? 0 : 1)), ...(next === undefined ? [] : [`next: ${next}`])].join("\n");
}

function fileLines(receipt: TurnReceipt): string[] {
  const { commands, inForce } = receipt;
  const files = knownFiles(receipt);
  if (!files)
    return [`files changed: unknown (${receipt.files ? "only the agent's own patches are known" : "the comparison took too long"})`];
  const { list, from } = files;
  if (list.length === 0)
    return commands.run + commands.stillRunning > 0 ? [`files changed: none${from === "git" ? " that git sees" : SEEN_BY[from]}`] : [];
  const shown = list.slice(0, list.length > MAX_FILE_LINES ? MAX_FILE_LINES - 1 : MAX_FILE_LINES);
  const rest = list.length - shown.length;
  return [
    `files changed: ${list.length}${SEEN_BY[from]}`,
    ...shown.map((file) => `  ${LETTERS[file.kind]} ${visible(shortPath(file.path, inForce?.cwd))}${lineText(file)}`),
    ...(rest > 0 ? [`  and ${rest} more`] : []),
  ];
}

const LETTERS = { add: "A", update: "M", delete: "D" } as const;
const SEEN_BY = {
  git: "",
  nothing: "",
  folder: " (without git: the folder was compared)",
  patches: " (from the agent's own patches only)",
} as const;

function lineText({ added, removed }: ChangedFile): string {
  return added === undefined && removed === undefined ? "" : ` +${added ?? 0} -${removed ?? 0}`;
}

function commandLine({ commands: { run, failed, refused, stillRunning, failures } }: TurnReceipt): string[] {
  if (run + refused + stillRunning === 0) return [];
  const counts = [
    `${run} run`,
    `${failed} failed`,
    ...(refused > 0 ? [`${refused} refused`] : []),
    ...(stillRunning > 0 ? [`${stillRunning} still running`] : []),
  ];
  const last = failures.at(-1);
  return [`commands: ${counts.join(", ")}${last ? ` (last: ${visible(commandGist(last.command))}, ${failureText(last)})` : ""}`];
}

function failureText({ exitCode, refusal }: FailedCommand): string {
  if (refusal !== undefined) return shortReason(refusal);
  return exitCode === undefined ? "which did not end by itself" : `exit code ${exitCode}`;
}

function failureField({ command, exitCode, refusal }: FailedCommand): Readonly<Record<string, unknown>> {
  return {
    command: visible(commandGist(command)),
    ...(exitCode !== undefined && { exitCode }),
    ...(refusal !== undefined && { refusal: shortReason(refusal) }),
  };
}

function approvalLine({ approvals: { asked, allowed, denied, decisions } }: TurnReceipt): string[] {
  if (asked === 0) return [];
  const no = decisions.findLast(({ decision }) => decision === "denied" || decision === "abort");
  const why =
    no &&
    ` (${describeSubject(no.subject)}: ${no.decision} ${wayText(no.by)}${no.reason === undefined ? "" : `: ${shortReason(no.reason)}`})`;
  return [`approvals: ${asked} asked, ${allowed} allowed, ${denied} denied${why ?? ""}`];
}

/** Reviewers list the most severe findings first, so those that do not fit are dropped at the end. */
export function findingsField(
  found: readonly ReviewFinding[],
  { cwd, room }: { readonly cwd: string | undefined; readonly room: number },
): Readonly<Record<string, unknown>> {
  const findings: ReviewFinding[] = [];
  let taken = 0;
  for (const { priority, title, file, lines, body, confidence } of found) {
    const told = { priority, title, file: shortPath(file, cwd), lines, body, confidence };
    taken += JSON.stringify(told).length;
    if (taken > room) break;
    findings.push(told);
  }
  return { findings, ...(findings.length < found.length && { findingsOmitted: found.length - findings.length }) };
}

function decisionField(question: DecidedQuestion): Readonly<Record<string, unknown>> {
  const { decision, by, reason } = question;
  return {
    what: describeSubject(question.subject),
    decision,
    ...(by !== undefined && { by }),
    ...(reason !== undefined && { reason: shortReason(reason) }),
  };
}

/** Who decided, worded so that a program is not presented as a person. */
export function wayText(way: DecidedBy | undefined): string {
  switch (way) {
    case "console":
      return "in the console";
    case "elicitation":
      return "in the client";
    case "client":
      return "by the client itself, without asking a person";
    case "fallback":
      return "by --approval-fallback";
    case "deadline":
      return "because nobody answered";
    case "withdrawal":
      return "because it was withdrawn";
    case "tool":
      return "with codex-answer";
    case "http":
      return "over HTTP";
    case "ceiling":
    case undefined:
      return "by the limits of this server";
  }
}

export function describeSubject(subject: ApprovalSubject): string {
  switch (subject.kind) {
    case "command":
      return visible(commandGist(subject.command));
    case "patch": {
      const [first = "", ...others] = Object.keys(subject.changes);
      return visible(others.length === 0 ? `change ${path.basename(first)}` : `change ${others.length + 1} files`);
    }
    case "form":
      return visible(`a form of ${subject.server}`);
  }
}

function limitsField(limits: RateLimits | undefined): { readonly rateLimits?: unknown } {
  const windows = Object.entries({ primary: limits?.primary, secondary: limits?.secondary }).flatMap(([name, window]) =>
    window ? [[name, { usedPercent: window.used_percent, windowMinutes: window.window_minutes, resetsAt: window.resets_at }] as const] : [],
  );
  return windows.length > 0 ? { rateLimits: Object.fromEntries(windows) } : {};
}

function limitLine(limits: RateLimits | undefined): string[] {
  const windows = [limits?.primary, limits?.secondary].filter((window): window is RateLimitWindow => (window ?? undefined) !== undefined);
  return windows.length === 0 ? [] : [`rate limits: ${windows.map(windowText).join("; ")}`];
}

function windowText({ used_percent, window_minutes, resets_at }: RateLimitWindow): string {
  const span =
    window_minutes === null ? "" : ` of ${window_minutes >= 60 ? `${Math.round(window_minutes / 60)} h` : `${window_minutes} min`}`;
  const reset = resets_at === null ? "" : momentText(resets_at);
  return `${Math.round(used_percent)} %${span} used${reset}`;
}

/** A provider may send any number. */
function momentText(unixSeconds: number): string {
  const moment = new Date(unixSeconds * 1_000);
  return Number.isNaN(moment.getTime()) ? "" : `, resets at ${moment.toISOString().slice(0, 16)}Z`;
}

function shortPath(file: string, cwd: string | undefined): string {
  if (cwd === undefined || !path.isAbsolute(file)) return file;
  const relative = path.relative(cwd, file);
  return relative === "" || relative.startsWith("..") || path.isAbsolute(relative) ? file : relative;
}

function seconds(ms: number): string {
  return ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

function price(costUsd: number | undefined): string {
  return costUsd === undefined ? "" : `; this turn cost $${costUsd.toFixed(4)}`;
}

function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** The end of a reason often says what to do. */
const REASON_LENGTH = 240;

function shortReason(text: string): string {
  return visible(oneLine(text, REASON_LENGTH));
}
