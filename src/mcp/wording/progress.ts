import type { ApprovalSubject } from "../../approvals/model.js";
import { visible } from "../../lib/visibleText.js";
import type { ThreadEvent } from "../../threads/events.js";
import { isTurnEnd } from "../../threads/turn.js";

/**
 * The progress text of an event; undefined for events without one. The end of a turn has none: the official clients report progress that
 * arrives together with the result as an error.
 */
export function progressText(event: ThreadEvent | undefined): string | undefined {
  const text = event && textOf(event);
  return text === undefined ? undefined : visible(text);
}

function textOf(event: ThreadEvent): string | undefined {
  switch (event.type) {
    case "turnStarted":
      return "Thinking";
    case "itemStarted":
      return { userMessage: undefined, reasoning: "Thinking", agentMessage: "Writing the answer", webSearch: "Searching the web" }[
        event.item.kind
      ];
    case "planUpdated": {
      const current = event.plan.find(({ status }) => status === "in_progress");
      return current ? `Plan: ${current.step}` : "Plan updated";
    }
    // A command that needs approval does not run yet; the question follows.
    case "commandStarted":
      return event.awaitsApproval ? undefined : `Running ${commandGist(event.command)}`;
    case "patchStarted": {
      if (!event.autoApproved) return undefined;
      const files = Object.keys(event.changes).length;
      return files === 1 ? "Changing a file" : `Changing ${files} files`;
    }
    case "approvalRequested":
      return waitingFor(event.request.subject);
    case "approvalDecided":
      return "Going on";
    case "mcpToolStarted":
      return `Calling ${event.invocation.tool} of ${event.invocation.server}`;
    case "modelRetry":
      return `Asking the model again (${event.attempt} of ${event.limit})`;
    case "historyCompacted":
      return "Summarised the earlier conversation";
    case "reviewStarted":
      return `Reviewing ${event.hint}`;
    case "warning":
    case "backgroundNote":
      return event.message;
    default:
      return undefined;
  }
}

/** What a question blocks. */
function waitingFor(subject: ApprovalSubject): string {
  switch (subject.kind) {
    case "command":
      return `Waiting for approval to run ${commandGist(subject.command)}`;
    case "patch":
      return "Waiting for approval to change files";
    case "form":
      return `Waiting for an answer to ${subject.server}`;
  }
}

const GIST_LENGTH = 80;

/** The command as a person would type it, in one short line. */
export function commandGist(command: readonly string[]): string {
  const script = command.length === 3 && /^-l?c$/.test(command[1] ?? "") ? (command[2] ?? "") : command.join(" ");
  const [line = ""] = script.trim().split("\n");
  return line.length > GIST_LENGTH ? `${line.slice(0, GIST_LENGTH - 1)}…` : line;
}

/** A client gets a notification at least every ten seconds, so that a long turn does not look dead. The margin covers late timers. */
const HEARTBEAT_MS = 9_000;

/**
 * Delays a text that may be outdated at once: a command by its approval question, and the start of a short answer by the result. The
 * official clients report progress that arrives together with the result as an error.
 */
const HELD_BACK_MS = 50;

/** The first progress of a call. */
export interface FirstProgress {
  /** Repeated until something happens. */
  readonly waiting: string;
  /** Names the thread once, in the first notification, so that a client that times out knows where to continue. */
  readonly subject?: string | undefined;
  /** Sent at once as step 0. The next step is 2, as the npm wrapper counted. */
  readonly startText?: string | undefined;
}

/** Sends numbered progress for one call: each change once, and the last text again while nothing changes. */
export class ProgressReporter {
  readonly #heartbeat: NodeJS.Timeout;
  readonly #since = Date.now();
  #count = 0;
  #text: string;
  #subject: string | undefined;
  /** The delayed text, cancelled if another event comes first. */
  #held: NodeJS.Timeout | undefined;

  readonly #notify: (progress: number, message: string) => void;

  constructor(notify: (progress: number, message: string) => void, { waiting, subject, startText }: FirstProgress) {
    this.#notify = notify;
    this.#text = startText ?? waiting;
    this.#subject = subject;
    if (startText !== undefined) {
      this.#notify(0, startText);
      this.#count = 1;
    }
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT_MS);
    this.#heartbeat.unref();
  }

  observe(event: ThreadEvent): void {
    // A delayed text would come between the end and the result. The result may take a while, because the changed files are determined
    // first.
    if (isTurnEnd(event)) clearTimeout(this.#held);
    const text = progressText(event);
    if (text === undefined || text === this.#text) return;
    this.#text = text;
    clearTimeout(this.#held);
    if (isHeldBack(event)) this.#held = setTimeout(() => this.#say(text), HELD_BACK_MS);
    else this.#say(text);
  }

  stop(): void {
    clearInterval(this.#heartbeat);
    clearTimeout(this.#held);
  }

  #say(text: string): void {
    this.#send(text);
    this.#heartbeat.refresh();
  }

  #beat(): void {
    this.#send(`${this.#text} (${Math.round((Date.now() - this.#since) / 1000)} s)`);
  }

  #send(text: string): void {
    this.#notify(++this.#count, this.#subject === undefined ? text : `${this.#subject}: ${text}`);
    this.#subject = undefined;
  }
}

function isHeldBack(event: ThreadEvent): boolean {
  return event.type === "commandStarted" || (event.type === "itemStarted" && event.item.kind === "agentMessage");
}
