import type { ThreadActivity } from "../../agent/threadActivity.js";
import type { ApprovalRequest, ApprovalSubject } from "../../approvals/model.js";
import { oneLine } from "../../lib/oneLine.js";
import { visible } from "../../lib/visibleText.js";
import type { ThreadEvent } from "../../threads/events.js";
import { questionText } from "./elicitation.js";
import { progressText } from "./progress.js";

const LONGEST_QUESTION = 200;

interface ActivityOptions {
  /** A list of threads shows one line per question; the view of one thread shows the whole question. */
  readonly wholeQuestions?: boolean;
}

/** What a thread does, as far as this server knows. `elsewhere`: another server with the same CODEX_HOME runs a turn on it. */
export type Standing = ThreadActivity | "elsewhere";

/** The activity of a thread in a few words. An unknown thread counts as idle. */
export function activityLine(activity: Standing | undefined, options: ActivityOptions = {}): string {
  if (activity === "elsewhere") return "running in another server";
  if (!activity || activity.state === "idle") return "idle";
  const { state, ms, questions, queued } = activity;
  const behind = queued === 0 ? "" : `, ${queued} waiting behind it`;
  if (state === "running") return `running ${span(ms)}: ${doingText(activity.step)}${behind}`;
  return `waiting ${span(ms)} for an answer: ${questions.map((request) => `${asked(request, options)} (id ${request.id})`).join("; ")}${behind}`;
}

/** The same for programs. */
export function shownActivity(activity: Standing | undefined, options: ActivityOptions = {}): Readonly<Record<string, unknown>> {
  if (activity === "elsewhere") return { state: "running", doing: "A turn of another server" };
  if (!activity || activity.state === "idle") return { state: "idle" };
  const { state, ms, questions, queued } = activity;
  return {
    state,
    ms: Math.round(ms),
    doing: doingText(activity.step),
    ...(queued > 0 && { queued }),
    ...(questions.length > 0 && { approvals: questions.map((request) => ({ id: request.id, question: asked(request, options) })) }),
  };
}

function asked(request: ApprovalRequest, { wholeQuestions = false }: ActivityOptions): string {
  return wholeQuestions ? questionText(request.subject) : questionLine(request);
}

/** A question in one line. */
export function questionLine({ subject }: Pick<ApprovalRequest, "subject">): string {
  return oneLine(visible(gistOf(subject)), LONGEST_QUESTION);
}

function gistOf(subject: ApprovalSubject): string {
  switch (subject.kind) {
    case "command":
      return `run \`${subject.commandText}\` in ${subject.cwd}`;
    case "patch":
      return `change ${Object.keys(subject.changes).join(", ")}`;
    case "form":
      return `${subject.server} asks: ${subject.message}`;
  }
}

/** The current activity of a turn, from its last step. */
export function doingText(step: ThreadEvent | undefined): string {
  return progressText(step) ?? "starting";
}

/** A duration in words. */
export function span(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
