import type { ThreadEvent } from "../threads/model.js";

/** What a person should read while a turn runs; undefined for events that change nothing for them. */
export function progressText(event: ThreadEvent): string | undefined {
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
    case "modelRetry":
      return `Asking the model again (${event.attempt} of ${event.limit})`;
    case "historyCompacted":
      return "Summarised the earlier conversation";
    case "warning":
      return event.message;
    case "turnCompleted":
      return "Done";
    case "turnFailed":
      return `Failed: ${event.message}`;
    case "turnAborted":
      return "Interrupted";
    default:
      return undefined;
  }
}

/** At least one message in this time, so that a client never takes a long turn for a dead one. */
export const HEARTBEAT_MS = 10_000;

/** Sends numbered progress for one call: each change once, and the last text again when nothing changes. */
export class ProgressReporter {
  readonly #heartbeat: NodeJS.Timeout;
  readonly #since = Date.now();
  #count = 0;
  #text: string;

  constructor(
    private readonly send: (progress: number, message: string) => void,
    firstText: string,
  ) {
    this.#text = firstText;
    this.#heartbeat = setInterval(() => this.#beat(), HEARTBEAT_MS);
    this.#heartbeat.unref();
  }

  observe(event: ThreadEvent): void {
    const text = progressText(event);
    if (text === undefined || text === this.#text) return;
    this.#text = text;
    this.send(++this.#count, text);
    this.#heartbeat.refresh();
  }

  stop(): void {
    clearInterval(this.#heartbeat);
  }

  #beat(): void {
    this.send(++this.#count, `${this.#text} (${Math.round((Date.now() - this.#since) / 1000)} s)`);
  }
}
