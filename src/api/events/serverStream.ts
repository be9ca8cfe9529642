import type { Agent, Ask } from "../../agent/agent.js";
import type { FeedEntry } from "../../agent/feed.js";
import { assertNever } from "../../lib/assertNever.js";
import type { ApiEvent } from "../schemas/events.js";
import { type EventSource, type PlacedEvent, resetEvent } from "../timeline/eventSource.js";
import { approvalView, settlementView } from "../timeline/views.js";
import { Onlooker } from "./onlooker.js";

export interface ServerStreamOptions {
  readonly agent: Agent;
  readonly ask: Ask;
  /** The feed's own cursor. */
  readonly after: string;
}

/** Thread-level events of all threads that a caller may watch; events inside a turn are on its thread's stream. */
export class ServerStream implements EventSource {
  readonly #options: ServerStreamOptions;
  #place: string;

  constructor(options: ServerStreamOptions) {
    this.#options = options;
    this.#place = options.after;
  }

  get place(): string {
    return this.#place;
  }

  async *read(): AsyncGenerator<PlacedEvent> {
    const { agent, ask, after } = this.#options;
    using onlooker = new Onlooker(agent, ask);
    for (const id of agent.feed.threadsOf(ask.caller)) await onlooker.watch(id);
    for await (const entry of agent.feed.read(ask.caller, { after, signal: ask.signal })) {
      if (entry.type === "gap") {
        // A client that reloads everything has the state up to here.
        this.#place = agent.feed.now;
        yield { id: this.#place, event: resetEvent() };
        continue;
      }
      this.#place = entry.cursor;
      if (entry.type === "turnQueued") await onlooker.watch(entry.threadId);
      if (entry.type === "turnEnded") onlooker.leave(entry.turnKey);
      yield { id: entry.cursor, event: await eventOfEntry(agent, ask, entry) };
    }
  }
}

/** The API event for a feed entry. */
export async function eventOfEntry(agent: Agent, ask: Ask, entry: FeedEntry): Promise<ApiEvent> {
  const { threadId } = entry;
  const about = { threadId, at: new Date(entry.at).toISOString() };
  switch (entry.type) {
    case "threadOpened":
      return { type: "thread.opened", ...about, cwd: entry.cwd, model: entry.model, origin: entry.origin };
    case "threadChanged":
      return { type: "thread.changed", ...about, change: entry.change, name: entry.name ?? null };
    case "threadClosed":
      return { type: "thread.closed", ...about };
    case "turnQueued":
      return { type: "turn.queued", ...about, turnId: entry.turnKey };
    case "turnBegun":
      return { type: "turn.started", ...about, turnId: entry.turnKey };
    case "turnEnded":
      return { type: "turn.ended", ...about, turnId: entry.turnKey, status: entry.status };
    case "questionAsked": {
      const { turnKey: turnId, questionId: approvalId, kind } = entry;
      // The question may be settled by now; that event comes next.
      const request = (await agent.questions(ask)).find(({ id }) => id === approvalId);
      const approval = request && approvalView(agent, ask, request);
      return { type: "approval.asked", ...about, turnId, approvalId, kind, ...(approval && { approval }) };
    }
    case "questionAnswered": {
      const { turnKey: turnId, questionId: approvalId } = entry;
      return { type: "approval.settled", ...about, turnId, approvalId, settlement: settlementView(entry) };
    }
    default:
      return assertNever(entry);
  }
}
