import type { FollowedBatch } from "../../agent/threadFollower.js";
import type { ApprovalId } from "../../approvals/model.js";
import type { JsonRpcPeer } from "../../jsonrpc/peer.js";
import type { ThreadId, TurnId, TurnKey } from "../../lib/ids.js";
import { type Deferred, deferred } from "../../lib/promises.js";
import type { ThreadEvent } from "../../threads/events.js";
import { isTurnEnd } from "../../threads/turn.js";
import type { ApprovalRequests } from "./approvalRequests.js";
import { eventNotifications } from "./eventNotifications.js";

interface ListenerParts {
  readonly threadId: ThreadId;
  readonly peer: Pick<JsonRpcPeer, "notify" | "congested">;
  readonly approvals: ApprovalRequests;
  /** Whether the model's own conversation is included. */
  readonly raw: boolean;
}

/** Sends the events of a conversation to one subscription, and its questions to the client. */
export class Listener {
  readonly threadId: ThreadId;
  readonly #parts: ListenerParts;
  readonly #stop = new AbortController();
  /** The open questions of the current turn that the client was asked for this listener. */
  readonly #questions = new Set<ApprovalId>();
  readonly #awaited = new Map<TurnKey, Deferred<void>>();
  #isOver = false;
  #isMuted = false;

  constructor(parts: ListenerParts) {
    this.threadId = parts.threadId;
    this.#parts = parts;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Whether the listener was removed and only waits for its open questions. */
  get isMuted(): boolean {
    return this.#isMuted;
  }

  /** Runs until it is stopped. Waits for a slow client: unread events stay in the turn's log. */
  async run(batches: AsyncIterable<FollowedBatch>): Promise<void> {
    try {
      for await (const { turn, events } of batches) {
        const settled = new Set(events.flatMap((event) => (event.type === "approvalDecided" ? [event.id] : [])));
        for (const event of events) {
          if (this.signal.aborted) return;
          if (!this.#isMuted) this.#tell(event, turn.id);
          this.#follow(event, { turn: turn.key, settled });
          const congestion = this.#parts.peer.congested();
          if (congestion) await congestion;
        }
      }
    } finally {
      this.#isOver = true;
      for (const waiting of this.#awaited.values()) waiting.resolve();
    }
  }

  /** Resolves when the end of a turn was sent, or when the listener has ended. */
  turnEndSent(key: TurnKey): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    const waiting = this.#awaited.get(key) ?? deferred<void>();
    this.#awaited.set(key, waiting);
    return waiting.promise;
  }

  /** Sends nothing more. A question that the client was asked stays open until it is decided: nobody else would withdraw it. */
  mute(): void {
    this.#isMuted = true;
    if (this.#questions.size === 0) this.stop();
  }

  stop(): void {
    this.#stop.abort(new Error("the listener was removed"));
  }

  #tell(event: ThreadEvent, turnId: TurnId): void {
    for (const { method, params, about } of eventNotifications(event, { threadId: this.threadId, turnId }, this.#parts))
      this.#parts.peer.notify(method, params, about);
  }

  #follow(event: ThreadEvent, { turn, settled }: { readonly turn: TurnKey; readonly settled: ReadonlySet<ApprovalId> }): void {
    const { approvals } = this.#parts;
    if (event.type === "approvalRequested" && !settled.has(event.request.id) && !this.#isMuted) {
      if (approvals.consider(event.request, turn)) this.#questions.add(event.request.id);
    }
    if (event.type === "approvalDecided") this.#settle(event.id);
    if (!isTurnEnd(event)) return;
    for (const id of this.#questions) this.#settle(id);
    this.#awaited.get(turn)?.resolve();
    this.#awaited.delete(turn);
  }

  #settle(id: ApprovalId): void {
    this.#questions.delete(id);
    this.#parts.approvals.withdraw(id);
    if (this.#isMuted && this.#questions.size === 0) this.stop();
  }
}
