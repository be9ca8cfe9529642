import { sendScheduler } from "../../../http/fairScheduler.js";
import type { RequestId } from "../../../jsonrpc/message.js";
import type { About, Outlet } from "../../../jsonrpc/wire.js";
import { type Deferred, deferred } from "../../../lib/deferred.js";
import { type Kept, KeptMessages } from "./replayBuffer.js";
import { type Carrier, Stream, type StreamKind } from "./stream.js";
import { StreamNames, type StreamPlace } from "./streamNames.js";

/** What a message may weigh in one write: enough to be fast, little enough to notice soon that a client does not read. */
const WRITE_LENGTH = 64 * 1024;

/** What a session may say before it lets others have their turn. */
const TURN_LENGTH = 16 * 1024;

/** What happens to a stream that is behind by more than its queue. */
export type LagPolicy = "disconnect" | "drop-oldest";

export interface OutboxLimits {
  /** Messages that may wait for one stream. */
  readonly queueLength: number;
  readonly lagPolicy: LagPolicy;
  /** How long a stream may stay at its limit before it is disconnected. */
  readonly slowReaderMs: number;
  /** What is kept for streams that are behind or come back. */
  readonly replayBytes: number;
  /** What is kept of answered requests for a client that lost their last messages. */
  readonly answeredBytes: number;
}

/** A POST that waits for the answer to its request. */
export interface Exchange {
  readonly ids: readonly RequestId[];
  /** The stream on which everything about it goes; undefined when that goes to the session's streams. */
  readonly stream: string | undefined;
  /** Something about it is to be said before the answer. */
  spoken(): void;
  /** True when it handed over the answer by itself, as the body of its response. */
  answered(text: string, about: About): boolean;
  /** There will be no answer: the session is over. */
  givenUp(): void;
}

export interface OutboxCounts {
  sent: number;
  /** Messages that a client will not get: pieces of texts that are told whole. */
  dropped: number;
  /** Streams that were ended because nobody read them. */
  disconnected: number;
}

/** Everything one session says: numbered, kept as long as it may be asked for, and carried by whatever streams are open. */
export class Outbox implements Outlet {
  readonly answersCancelled: boolean;
  readonly counts: OutboxCounts = { sent: 0, dropped: 0, disconnected: 0 };
  readonly names = new StreamNames();
  readonly #kept: KeptMessages;
  /** Newest last. */
  readonly #streams: Stream[] = [];
  readonly #exchanges = new Map<RequestId, Exchange>();
  #lastSeq = 0;
  readonly #takeTurn = () => this.#carry();
  /** What was said since the streams last had their turn. */
  #unsent = 0;
  /** A client may come back for everything: one of its streams broke, and when. */
  #everythingWantedUntil = 0;
  #congestion: Deferred<void> | undefined;
  #overdue: NodeJS.Timeout | undefined;
  #state: "open" | "closed" = "open";

  constructor(
    private readonly limits: OutboxLimits,
    { answersCancelled }: { readonly answersCancelled: boolean },
  ) {
    this.answersCancelled = answersCancelled;
    this.#kept = new KeptMessages({ total: limits.replayBytes, answered: limits.answeredBytes });
  }

  get streamCount(): number {
    return this.#streams.length;
  }

  /** Messages that wait for the stream that is furthest behind. */
  get longestQueue(): number {
    return this.#streams.reduce((longest, { waiting }) => Math.max(longest, waiting), 0);
  }

  get keptBytes(): number {
    return this.#kept.weight;
  }

  send(text: string, about: About = {}): void {
    if (this.#state === "closed") return;
    this.counts.sent++;
    const exchange = about.relatedTo === undefined ? undefined : this.#exchanges.get(about.relatedTo);
    const answer = about.answer !== undefined;
    if (answer && exchange) {
      for (const id of exchange.ids) {
        this.#exchanges.delete(id);
        this.#kept.finish(id);
      }
      if (exchange.answered(text, about) && !this.#everythingIsWanted()) return;
    }
    this.#keep(text, about, exchange?.stream);
    this.#unsent += text.length;
    if (!answer) exchange?.spoken();
    this.#schedulePump();
  }

  unanswered(id: RequestId): void {
    this.#kept.finish(id);
  }

  congested(): Promise<void> | undefined {
    if (!this.#isHeldUp() && this.#unsent < TURN_LENGTH) return undefined;
    this.#congestion ??= deferred<void>();
    const { promise } = this.#congestion;
    if (this.#isHeldUp()) this.#relieveIfRead();
    return promise;
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    for (const stream of [...this.#streams].reverse()) this.#handOver(stream);
    this.#state = "closed";
    for (const exchange of this.#exchanges.values()) exchange.givenUp();
    this.#exchanges.clear();
    for (const stream of this.#streams.splice(0)) stream.carrier.end("politely");
    this.#relieve();
  }

  /** From now on messages about these requests go to this POST. */
  expect(exchange: Exchange): void {
    for (const id of exchange.ids) {
      this.#exchanges.set(id, exchange);
      this.#kept.begin(id);
    }
  }

  /** A POST waits for the answer to a request of this id. */
  isExpected(id: RequestId): boolean {
    return this.#exchanges.has(id);
  }

  /** Opens a stream. One of the same name that is still open is the same client's, and given up. */
  attach(options: {
    readonly name: string;
    readonly kind: StreamKind;
    readonly carrier: Carrier;
    readonly after?: number;
    readonly until?: RequestId;
  }): Stream {
    const stream = new Stream({ ...options, after: options.after ?? this.#firstFor(options.kind) });
    if (stream.kind !== "everything")
      for (const former of this.#streams.filter(({ name }) => name === stream.name)) this.#end(former, "at once");
    this.#streams.push(stream);
    this.#schedulePump();
    return stream;
  }

  endStreams(): void {
    for (const stream of this.#streams.slice()) this.#end(stream, "at once");
  }

  /** The connection of a stream is gone. */
  detach(stream: Stream, { now, comesBackWithinMs }: { readonly now: number; readonly comesBackWithinMs: number }): void {
    const at = this.#streams.indexOf(stream);
    if (at < 0 && !stream.disconnected) return;
    if (at >= 0) this.#streams.splice(at, 1);
    if (stream.kind === "everything") this.#everythingWantedUntil = now + comesBackWithinMs;
    this.#relieveIfRead();
  }

  /** The socket of a stream takes more. */
  drained(stream: Stream): void {
    stream.blockedSince = undefined;
    stream.waiting = 0;
    this.#schedulePump();
  }

  /** A message of this number may have been seen; 0 is what a client has that saw none. */
  hasSaid(seq: number): boolean {
    return Number.isSafeInteger(seq) && seq >= 0 && seq <= this.#lastSeq;
  }

  /** Where a client left; undefined when the id is not one that this session has given out. */
  placeOf(eventId: string): StreamPlace | undefined {
    const place = this.names.placeOf(eventId);
    return place && this.hasSaid(place.seq) ? place : undefined;
  }

  /** True while messages about a POST may still come or wait to be fetched. */
  hasMoreFor(name: string, seq: number): boolean {
    for (const exchange of this.#exchanges.values()) if (exchange.stream === name) return true;
    for (const entry of this.#kept.after(seq)) if (entry.route === name) return true;
    return false;
  }

  /** Regular upkeep: signs of life, streams nobody reads, messages nobody will ask for. */
  tick({ now, keepAlive, retainMs }: { readonly now: number; readonly keepAlive: boolean; readonly retainMs: number }): void {
    for (const stream of this.#streams.slice()) {
      if (stream.blockedSince !== undefined && now - stream.blockedSince > retainMs) this.#disconnect(stream);
      else if (keepAlive && stream.blockedSince === undefined) stream.carrier.keepAlive();
    }
    this.#kept.settle(this.#delivered());
    this.#kept.forgetBefore(now - retainMs);
  }

  #keep(text: string, about: About, route: string | undefined): void {
    const { relatedTo, answer, pieceOf, whole } = about;
    const entry: Kept = {
      seq: ++this.#lastSeq,
      text,
      keptAt: Date.now(),
      route,
      carried: false,
      request: relatedTo,
      answer: answer !== undefined,
      pieceOf,
      whole,
    };
    this.counts.dropped += this.#kept.add(entry, this.#delivered());
    for (const stream of this.#streams) if (stream.blockedSince !== undefined && stream.carries(entry)) this.#noteWaiting(stream);
  }

  #noteWaiting(stream: Stream): void {
    stream.waiting++;
    if (this.limits.lagPolicy === "drop-oldest" && this.#isAtLimit(stream)) stream.skipPiecesUpTo = this.#lastSeq - this.limits.queueLength;
  }

  #isAtLimit({ blockedSince, waiting }: Stream): boolean {
    return blockedSince !== undefined && waiting >= this.limits.queueLength;
  }

  /** A stream has to be waited for, or given up: nothing may be left out of it. */
  #isHeldUp(): boolean {
    return this.limits.lagPolicy === "disconnect" && this.#streams.some((stream) => this.#isAtLimit(stream));
  }

  /** What is said until the streams have their turn leaves in one write. */
  #schedulePump(): void {
    sendScheduler.soon(this.#takeTurn);
  }

  #carry(): void {
    if (this.#state === "open") this.#pump();
    this.#unsent = 0;
    this.#relieveIfRead();
  }

  #pump(): void {
    // The newest first: of two streams that could take a message, the older one may be a connection that is dead already.
    for (const stream of [...this.#streams].reverse()) this.#pumpStream(stream);
  }

  #pumpStream(stream: Stream): void {
    while (stream.blockedSince === undefined) {
      const { batch, over } = this.#nextFor(stream);
      if (batch.length > 0 && !stream.carrier.write(batch, stream.name)) stream.blockedSince = Date.now();
      if (over) {
        this.#end(stream, "politely");
        this.#kept.settle(this.#delivered());
        return;
      }
      if (batch.length === 0) return;
    }
  }

  /** There is no later: whoever is behind gets the rest at once, and reads it or not. */
  #handOver(stream: Stream): void {
    for (let batch = this.#nextFor(stream).batch; batch.length > 0; batch = this.#nextFor(stream).batch)
      stream.carrier.write(batch, stream.name);
  }

  #nextFor(stream: Stream): { batch: Kept[]; over: boolean } {
    const batch: Kept[] = [];
    let length = 0;
    for (const entry of this.#kept.after(stream.cursor)) {
      stream.cursor = entry.seq;
      if (!stream.carries(entry)) continue;
      if (entry.pieceOf !== undefined && entry.seq <= stream.skipPiecesUpTo) {
        this.counts.dropped++;
        continue;
      }
      if (stream.kind === "shared") entry.route = stream.name;
      entry.carried = true;
      batch.push(entry);
      length += entry.text.length;
      if (stream.endsWith(entry)) return { batch, over: true };
      if (length > WRITE_LENGTH) break;
    }
    if (batch.length === 0) stream.cursor = this.#lastSeq;
    return { batch, over: false };
  }

  /** What every open stream has carried. */
  #delivered(): number {
    return this.#streams.reduce((least, { cursor }) => Math.min(least, cursor), this.#lastSeq);
  }

  #everythingIsWanted(): boolean {
    return (
      this.#streams.some(({ kind }) => kind === "everything") ||
      (this.#everythingWantedUntil > 0 && Date.now() < this.#everythingWantedUntil)
    );
  }

  /** A stream that carries everything begins with what comes; a shared one also takes what nobody took yet. */
  #firstFor(kind: StreamKind): number {
    return kind === "everything" ? this.#lastSeq : 0;
  }

  #disconnectSlow(): void {
    this.#overdue = undefined;
    for (const stream of this.#streams.filter((candidate) => this.#isAtLimit(candidate))) this.#disconnect(stream);
    this.#relieveIfRead();
  }

  #disconnect(stream: Stream): void {
    this.counts.disconnected++;
    stream.disconnected = true;
    this.#end(stream, "at once");
  }

  #end(stream: Stream, how: "politely" | "at once"): void {
    const at = this.#streams.indexOf(stream);
    if (at >= 0) this.#streams.splice(at, 1);
    stream.carrier.end(how);
  }

  /** Whoever waits goes on, or knows when at the latest. */
  #relieveIfRead(): void {
    if (!this.#isHeldUp()) this.#relieve();
    else if (this.#congestion) this.#overdue ??= setTimeout(() => this.#disconnectSlow(), this.limits.slowReaderMs);
  }

  #relieve(): void {
    clearTimeout(this.#overdue);
    this.#overdue = undefined;
    this.#congestion?.resolve();
    this.#congestion = undefined;
  }
}
