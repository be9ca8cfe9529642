import type { ApprovalSubject } from "../../approvals/model.js";
import { visible } from "../../lib/visibleText.js";
import type { ThreadEvent } from "../../threads/events.js";
import { isTurnEnd } from "../../threads/turn.js";

/**
 * What a person should read while a turn runs; undefined for events that change nothing for them. How it ended is the answer's
 * to say: progress that arrives together with the answer comes too late for the official clients, which report it as an error.
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
    // What somebody is asked about does not run yet; the question is told next.
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

/** What a question keeps waiting. */
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

/** A client hears something at least every ten seconds, so that it never takes a long turn for a dead one; timers are late at times. */
const HEARTBEAT_MS = 9_000;

/**
 * Some things are followed at once by what makes them wrong or late: a command of Codex by the question whether it may run; the beginning of a short answer
 * by the answer, and progress that comes together with it is reported as an error by the official clients.
 */
const HELD_BACK_MS = 50;

/** What a call begins with. */
export interface FirstProgress {
  /** What is repeated until something happens. */
  readonly waiting: string;
  /** Whose turn it is: said once, with the first message, so that a client that gives up knows where to go on. */
  readonly subject?: string | undefined;
  /** Said at once, as the zeroth step; as the npm wrapper counted, the next one is the second. */
  readonly startText?: string | undefined;
}

/** Sends numbered progress for one call: each change once, and the last text again when nothing changes. */
export class ProgressReporter {
  readonly #heartbeat: NodeJS.Timeout;
  readonly #since = Date.now();
  #count = 0;
  #text: string;
  #subject: string | undefined;
  /** What is said unless something else comes first. */
  #held: NodeJS.Timeout | undefined;

  constructor(
    private readonly send: (progress: number, message: string) => void,
    { waiting, subject, startText }: FirstProgress,
  ) {
    this.#text = startText ?? waiting;
    this.#subject = subject;
    if (startText !== undefined) {
      this.send(0, startText);
      this.#count = 1;
    }
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT_MS);
    this.#heartbeat.unref();
  }

  observe(event: ThreadEvent): void {
    // What is still held back would come between the end and the answer, which may take a while: what the turn changed is looked up first.
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
    this.send(++this.#count, this.#subject === undefined ? text : `${this.#subject}: ${text}`);
    this.#subject = undefined;
  }
}

function isHeldBack(event: ThreadEvent): boolean {
  return event.type === "commandStarted" || (event.type === "itemStarted" && event.item.kind === "agentMessage");
}
