import type { RequestId } from "../../../jsonrpc/message.js";
import type { About, Outlet } from "../../../jsonrpc/wire.js";
import { callMarkText } from "./callMarks.js";
import { ReplayBuffer } from "./replayBuffer.js";
import { StreamNames, type StreamPlace } from "./stream.js";
import { type DeliveryCounts, type StreamLimits, Streams } from "./streams.js";

export interface OutboxLimits extends StreamLimits {
  /** What is kept for streams that are behind or come back. */
  readonly replayBytes: number;
  /** What is kept of answered requests for a client that lost their last messages. */
  readonly answeredBytes: number;
}

/** A POST that waits for the answer to its request. */
export interface Exchange {
  readonly ids: readonly RequestId[];
  /** Its client is still connected. */
  readonly isOpen: boolean;
  /** The stream on which everything about it goes; undefined when that goes to the session's streams. */
  readonly stream: string | undefined;
  /** Something about it is to be said before the answer. */
  spoken(): void;
  /** True when it handed over the answer by itself, as the body of its response. */
  answered(text: string, about: About): boolean;
  /** There will be no answer: the session is over. */
  givenUp(): void;
}

/** Everything one session says: numbered, routed to the POST it is about or to the session's streams, and kept as long as it may be asked for. */
export class Outbox implements Outlet {
  readonly answersCancelled: boolean;
  readonly counts: DeliveryCounts = { sent: 0, dropped: 0, disconnected: 0 };
  readonly names = new StreamNames();
  /** What carries it. */
  readonly streams: Streams;
  readonly #replay: ReplayBuffer;
  readonly #exchanges = new Map<RequestId, Exchange>();
  /** What the ids of events about a call say of it, until it is answered. */
  readonly #marks = new Map<RequestId, string>();
  #lastAnsweredAt = 0;
  #state: "open" | "closed" = "open";

  constructor(limits: OutboxLimits, { answersCancelled }: { readonly answersCancelled: boolean }) {
    this.answersCancelled = answersCancelled;
    this.#replay = new ReplayBuffer({ total: limits.replayBytes, answered: limits.answeredBytes });
    this.streams = new Streams(this.#replay, limits, this.counts);
  }

  get keptBytes(): number {
    return this.#replay.weight;
  }

  /** A client is connected that waits for an answer. */
  get isAwaited(): boolean {
    for (const { isOpen } of this.#exchanges.values()) if (isOpen) return true;
    return false;
  }

  /** When a connected client got an answer; 0 for never. */
  get lastAnsweredAt(): number {
    return this.#lastAnsweredAt;
  }

  send(text: string, about: About = {}): void {
    if (this.#state === "closed") return;
    this.counts.sent++;
    const exchange = about.relatedTo === undefined ? undefined : this.#exchanges.get(about.relatedTo);
    const answer = about.answer !== undefined;
    if (answer && exchange) {
      if (exchange.isOpen) this.#lastAnsweredAt = Date.now();
      for (const id of exchange.ids) {
        this.#exchanges.delete(id);
        this.#marks.delete(id);
        this.#replay.finish(id);
      }
      if (exchange.answered(text, about) && !this.streams.wantEverything) return;
    }
    this.#keep(text, about, exchange?.stream);
    if (!answer) exchange?.spoken();
  }

  /** A call that a client may come back for to another server: the ids of its events say which it is. */
  concerns(id: RequestId, thread?: string): void {
    if (this.#state === "open" && this.#exchanges.has(id)) this.#marks.set(id, callMarkText({ requestId: id, thread }));
  }

  /** The id of an event on a stream, and of the place before one, if it has no message. */
  eventId(streamName: string, { seq, request }: { readonly seq: number; readonly request: RequestId | undefined }): string {
    const mark = request === undefined ? "" : (this.#marks.get(request) ?? "");
    return `${this.names.eventId(streamName, seq)}${mark}`;
  }

  unanswered(id: RequestId): void {
    this.#marks.delete(id);
    this.#replay.finish(id);
  }

  congested(): Promise<void> | undefined {
    return this.streams.congested();
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    this.streams.handOver();
    this.#state = "closed";
    for (const exchange of this.#exchanges.values()) exchange.givenUp();
    this.#exchanges.clear();
    this.#marks.clear();
    this.streams.close();
  }

  /** From now on messages about these requests go to this POST. */
  expect(exchange: Exchange): void {
    for (const id of exchange.ids) {
      this.#exchanges.set(id, exchange);
      this.#replay.begin(id);
    }
  }

  /** A POST waits for the answer to a request of this id. */
  isExpected(id: RequestId): boolean {
    return this.#exchanges.has(id);
  }

  /** A message of this number may have been seen; 0 is what a client has that saw none. */
  hasSaid(seq: number): boolean {
    return Number.isSafeInteger(seq) && seq >= 0 && seq <= this.#replay.lastSeq;
  }

  /** Where a client left; undefined when the id is not one that this session has given out. */
  placeOf(eventId: string): StreamPlace | undefined {
    const place = this.names.placeOf(eventId);
    return place && this.hasSaid(place.seq) ? place : undefined;
  }

  /** True while messages about a POST may still come or wait to be fetched. */
  hasMoreFor(name: string, seq: number): boolean {
    for (const exchange of this.#exchanges.values()) if (exchange.stream === name) return true;
    for (const { route } of this.#replay.after(seq)) if (route === name) return true;
    return false;
  }

  /** Regular maintenance: signs of life, streams nobody reads, messages nobody will ask for. */
  tick(options: { readonly now: number; readonly keepAlive: boolean; readonly retainMs: number }): void {
    this.streams.tick(options);
    this.#replay.settle(this.streams.delivered);
    this.#replay.forgetBefore(options.now - options.retainMs);
  }

  #keep(text: string, about: About, route: string | undefined): void {
    const { relatedTo, answer, pieceOf, whole } = about;
    const message = {
      seq: this.#replay.nextSeq(),
      text,
      keptAt: Date.now(),
      route,
      carried: false,
      request: relatedTo,
      answer: answer !== undefined,
      pieceOf,
      whole,
    };
    this.counts.dropped += this.#replay.add(message, this.streams.delivered);
    this.streams.added(message);
  }
}
