import { sendScheduler } from "../../../http/fairScheduler.js";
import { type Deferred, deferred } from "../../../lib/promises.js";
import type { ReplayBuffer, SentMessage } from "./replayBuffer.js";
import { Stream, type StreamOptions } from "./stream.js";

/** What a message may weigh in one write: enough to be fast, little enough to notice soon that a client does not read. */
const WRITE_LENGTH = 64 * 1024;

/** What a session may say before it lets others have their turn. */
const TURN_LENGTH = 16 * 1024;

/** What happens to a stream that is behind by more than its queue. */
export type LagPolicy = "disconnect" | "drop-oldest";

export interface StreamLimits {
  /** Messages that may wait for one stream. */
  readonly queueLength: number;
  readonly lagPolicy: LagPolicy;
  /** How long a stream may stay at its limit before it is disconnected. */
  readonly slowReaderMs: number;
}

export interface DeliveryCounts {
  sent: number;
  /** Messages that a client will not get: pieces of texts that are told whole. */
  dropped: number;
  /** Streams that were ended because nobody read them. */
  disconnected: number;
}

/** The open streams of one session: each carries the session's messages at its own pace, and the session waits for those that must not miss any. */
export class Streams {
  readonly #messages: ReplayBuffer;
  readonly #limits: StreamLimits;
  readonly #counts: DeliveryCounts;
  /** Newest last. */
  readonly #streams: Stream[] = [];
  readonly #takeTurn = () => this.#carry();
  /** What was said since the streams last had their turn. */
  #unsent = 0;
  /** A client may come back for everything: one of its streams broke, and when. */
  #everythingWantedUntil = 0;
  #backpressure: Deferred<void> | undefined;
  #overdue: NodeJS.Timeout | undefined;
  #state: "open" | "closed" = "open";

  constructor(messages: ReplayBuffer, limits: StreamLimits, counts: DeliveryCounts) {
    this.#messages = messages;
    this.#limits = limits;
    this.#counts = counts;
  }

  get count(): number {
    return this.#streams.length;
  }

  /** Messages that wait for the stream that is furthest behind. */
  get longestQueue(): number {
    return this.#streams.reduce((longest, { waiting }) => Math.max(longest, waiting), 0);
  }

  /** The last number that every open stream has carried. */
  get delivered(): number {
    return this.#streams.reduce((least, { cursor }) => Math.min(least, cursor), this.#messages.lastSeq);
  }

  /** Somebody listens to everything, or may come back for it. */
  get wantEverything(): boolean {
    return (
      this.#streams.some(({ kind }) => kind === "everything") ||
      (this.#everythingWantedUntil > 0 && Date.now() < this.#everythingWantedUntil)
    );
  }

  /** Opens a stream. One of the same name that is still open is the same client's, and given up. */
  attach({ after, ...options }: Omit<StreamOptions, "after"> & { readonly after?: number | undefined }): Stream {
    // A stream that carries everything begins with what comes; a shared one also takes what nobody took yet.
    const stream = new Stream({ ...options, after: after ?? (options.kind === "everything" ? this.#messages.lastSeq : 0) });
    if (stream.kind !== "everything")
      for (const former of this.#streams.filter(({ name }) => name === stream.name)) this.#end(former, "at once");
    this.#streams.push(stream);
    this.#schedule();
    return stream;
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
    this.#schedule();
  }

  /** A message was added: it leaves with all else that is said until the streams have their turn. */
  added(message: SentMessage): void {
    for (const stream of this.#streams) if (stream.blockedSince !== undefined && stream.carries(message)) this.#noteWaiting(stream);
    this.#unsent += message.text.length;
    this.#schedule();
  }

  /** See `Outlet.congested`. */
  congested(): Promise<void> | undefined {
    if (!this.#isHeldUp() && this.#unsent < TURN_LENGTH) return undefined;
    this.#backpressure ??= deferred<void>();
    const { promise } = this.#backpressure;
    if (this.#isHeldUp()) this.#relieveIfRead();
    return promise;
  }

  /** Signs of life, and the end of streams that nobody reads. */
  tick({ now, keepAlive, retainMs }: { readonly now: number; readonly keepAlive: boolean; readonly retainMs: number }): void {
    for (const stream of this.#streams.slice()) {
      if (stream.blockedSince !== undefined && now - stream.blockedSince > retainMs) this.#disconnect(stream);
      else if (keepAlive && stream.blockedSince === undefined) stream.sink.keepAlive();
    }
  }

  /** Ends the streams that are open now, whatever they have carried. */
  endAll(): void {
    for (const stream of this.#streams.slice()) this.#end(stream, "at once");
  }

  /** There is no later: whoever is behind gets the rest at once, and reads it or not. */
  handOver(): void {
    this.#state = "closed";
    for (const stream of [...this.#streams].reverse())
      for (let batch = this.#nextFor(stream).batch; batch.length > 0; batch = this.#nextFor(stream).batch)
        stream.sink.write(batch, stream.name);
  }

  close(): void {
    this.#state = "closed";
    for (const stream of this.#streams.splice(0)) stream.sink.end("politely");
    this.#relieve();
  }

  #noteWaiting(stream: Stream): void {
    stream.waiting++;
    if (this.#limits.lagPolicy === "drop-oldest" && this.#isAtLimit(stream))
      stream.skipPiecesUpTo = this.#messages.lastSeq - this.#limits.queueLength;
  }

  #isAtLimit({ blockedSince, waiting }: Stream): boolean {
    return blockedSince !== undefined && waiting >= this.#limits.queueLength;
  }

  /** A stream has to be waited for, or given up: nothing may be left out of it. */
  #isHeldUp(): boolean {
    return this.#limits.lagPolicy === "disconnect" && this.#streams.some((stream) => this.#isAtLimit(stream));
  }

  #schedule(): void {
    sendScheduler.soon(this.#takeTurn);
  }

  #carry(): void {
    // The newest first: of two streams that could take a message, the older one may be a connection that is dead already.
    if (this.#state === "open") for (const stream of [...this.#streams].reverse()) this.#pump(stream);
    this.#unsent = 0;
    this.#relieveIfRead();
  }

  #pump(stream: Stream): void {
    while (stream.blockedSince === undefined) {
      const { batch, over } = this.#nextFor(stream);
      if (batch.length > 0 && !stream.sink.write(batch, stream.name)) stream.blockedSince = Date.now();
      if (over) {
        this.#end(stream, "politely");
        this.#messages.settle(this.delivered);
        return;
      }
      if (batch.length === 0) return;
    }
  }

  #nextFor(stream: Stream): { batch: SentMessage[]; over: boolean } {
    const batch: SentMessage[] = [];
    let length = 0;
    for (const message of this.#messages.after(stream.cursor)) {
      stream.cursor = message.seq;
      if (!stream.carries(message)) continue;
      if (message.pieceOf !== undefined && message.seq <= stream.skipPiecesUpTo) {
        this.#counts.dropped++;
        continue;
      }
      if (stream.kind === "shared") message.route = stream.name;
      message.carried = true;
      batch.push(message);
      length += message.text.length;
      if (stream.endsWith(message)) return { batch, over: true };
      if (length > WRITE_LENGTH) break;
    }
    if (batch.length === 0) stream.cursor = this.#messages.lastSeq;
    return { batch, over: false };
  }

  #disconnectSlow(): void {
    this.#overdue = undefined;
    for (const stream of this.#streams.filter((candidate) => this.#isAtLimit(candidate))) this.#disconnect(stream);
    this.#relieveIfRead();
  }

  #disconnect(stream: Stream): void {
    this.#counts.disconnected++;
    stream.disconnected = true;
    this.#end(stream, "at once");
  }

  #end(stream: Stream, how: "politely" | "at once"): void {
    const at = this.#streams.indexOf(stream);
    if (at >= 0) this.#streams.splice(at, 1);
    stream.sink.end(how);
  }

  /** Whoever waits goes on, or knows when at the latest. */
  #relieveIfRead(): void {
    if (!this.#isHeldUp()) this.#relieve();
    else if (this.#backpressure) this.#overdue ??= setTimeout(() => this.#disconnectSlow(), this.#limits.slowReaderMs);
  }

  #relieve(): void {
    clearTimeout(this.#overdue);
    this.#overdue = undefined;
    this.#backpressure?.resolve();
    this.#backpressure = undefined;
  }
}
