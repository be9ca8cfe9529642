import { sendScheduler } from "../../../http/fairScheduler.js";
import { type Deferred, deferred } from "../../../lib/promises.js";
import type { ReplayBuffer, SentMessage } from "./replayBuffer.js";
import { Stream, type StreamOptions } from "./stream.js";

/** Maximum length of one write: large enough to be fast, small enough to detect soon that a client does not read. */
const WRITE_LENGTH = 64 * 1024;

/** The length that a session may send before other sessions are served. */
const TURN_LENGTH = 16 * 1024;

/** How many times the kept bytes may be queued for one stream. Deltas do not count. */
const MOST_BEHIND = 4;

/** What happens to a stream that exceeds its queue limit. */
export type LagPolicy = "disconnect" | "drop-oldest";

export interface StreamLimits {
  /** Bytes kept for streams that are behind or reconnect. */
  readonly replayBytes: number;
  /** Messages that may be queued for one stream. */
  readonly queueLength: number;
  readonly lagPolicy: LagPolicy;
  /** How long a stream may stay at its limit before it is disconnected. */
  readonly slowReaderMs: number;
}

export interface DeliveryCounts {
  sent: number;
  /** Messages that a client does not get: deltas of texts that are also sent whole. */
  dropped: number;
  /** Streams that were closed because the client did not read. */
  disconnected: number;
}

/**
 * The open streams of one session. Each sends the session's messages at its own pace. The session applies backpressure for streams that
 * must not miss messages.
 */
export class Streams {
  readonly #messages: ReplayBuffer;
  readonly #limits: StreamLimits;
  readonly #counts: DeliveryCounts;
  /** Newest last. */
  readonly #streams: Stream[] = [];
  readonly #takeTurn = () => this.#carry();
  /** The length added since the streams last sent. */
  #unsent = 0;
  /** Until when a client may reconnect to its broken `everything` stream. */
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

  /** The queue length of the stream that is furthest behind. */
  get longestQueue(): number {
    return this.#streams.reduce((longest, { waiting }) => Math.max(longest, waiting), 0);
  }

  /** The last number that every open stream has sent. */
  get delivered(): number {
    return this.#streams.reduce((least, { cursor }) => Math.min(least, cursor), this.#messages.lastSeq);
  }

  /** Whether an `everything` stream is open, or its client may reconnect. */
  get wantEverything(): boolean {
    return (
      this.#streams.some(({ kind }) => kind === "everything") ||
      (this.#everythingWantedUntil > 0 && Date.now() < this.#everythingWantedUntil)
    );
  }

  /** Opens a stream. An open stream with the same name belongs to the same client and is closed. */
  attach({ after, ...options }: Omit<StreamOptions, "after"> & { readonly after?: number | undefined }): Stream {
    // An `everything` stream starts with new messages; a shared one also takes messages that no stream has taken.
    const stream = new Stream({ ...options, after: after ?? (options.kind === "everything" ? this.#messages.lastSeq : 0) });
    if (stream.kind !== "everything")
      for (const former of this.#streams.filter(({ name }) => name === stream.name)) this.#end(former, "immediately");
    this.#streams.push(stream);
    this.#schedule();
    return stream;
  }

  /** The connection of a stream has closed. */
  detach(stream: Stream, { now, comesBackWithinMs }: { readonly now: number; readonly comesBackWithinMs: number }): void {
    const at = this.#streams.indexOf(stream);
    if (at < 0 && !stream.disconnected) return;
    if (at >= 0) this.#streams.splice(at, 1);
    if (stream.kind === "everything") this.#everythingWantedUntil = now + comesBackWithinMs;
    this.#relieveIfRead();
  }

  /** The socket of a stream accepts more data. */
  drained(stream: Stream): void {
    stream.blockedSince = undefined;
    stream.waiting = 0;
    this.#schedule();
  }

  /** A message was added. It is sent together with the others when the streams are next scheduled. */
  added(message: SentMessage): void {
    for (const stream of this.#streams)
      if (stream.blockedSince !== undefined && stream.carries(message)) this.#noteWaiting(stream, message);
    this.#unsent += message.text.length;
    this.#schedule();
  }

  congested(): Promise<void> | undefined {
    if (!this.#isHeldUp() && this.#unsent < TURN_LENGTH) return undefined;
    this.#backpressure ??= deferred<void>();
    const { promise } = this.#backpressure;
    if (this.#isHeldUp()) this.#relieveIfRead();
    return promise;
  }

  /** Sends keep-alives and closes streams that nobody reads. */
  tick({ now, keepAlive, retainMs }: { readonly now: number; readonly keepAlive: boolean; readonly retainMs: number }): void {
    for (const stream of this.#streams.slice()) {
      if (stream.blockedSince !== undefined && now - stream.blockedSince > retainMs) this.#disconnect(stream);
      else if (keepAlive && stream.blockedSince === undefined) stream.sink.keepAlive();
    }
  }

  /** Closes the open streams, whatever they have sent. */
  endAll(): void {
    for (const stream of this.#streams.slice()) this.#end(stream, "immediately");
  }

  /** The server is shutting down: sends the rest to every stream at once, whether or not the client reads. */
  handOver(): void {
    this.#state = "closed";
    for (const stream of [...this.#streams].reverse())
      for (let batch = this.#nextFor(stream).batch; batch.length > 0; batch = this.#nextFor(stream).batch)
        stream.sink.write(batch, stream.name);
  }

  close(): void {
    this.#state = "closed";
    for (const stream of this.#streams.splice(0)) stream.sink.end("gracefully");
    this.#relieve();
  }

  #noteWaiting(stream: Stream, { text, deltaOf }: SentMessage): void {
    stream.waiting++;
    if (deltaOf === undefined) stream.waitingLength += text.length;
    if (this.#limits.lagPolicy === "drop-oldest" && stream.waiting >= this.#limits.queueLength)
      stream.skipDeltasUpTo = this.#messages.lastSeq - this.#limits.queueLength;
    // Responses are sent without waiting for the stream.
    if (this.#isHeldUp()) this.#limitWait();
  }

  /** A stream is so far behind that the session must wait for it or disconnect it. */
  #isAtLimit({ blockedSince, waiting, waitingLength }: Stream): boolean {
    if (blockedSince === undefined) return false;
    const hasTooMany = this.#limits.lagPolicy === "disconnect" && waiting >= this.#limits.queueLength;
    return hasTooMany || waitingLength >= MOST_BEHIND * this.#limits.replayBytes;
  }

  #isHeldUp(): boolean {
    return this.#streams.some((stream) => this.#isAtLimit(stream));
  }

  #schedule(): void {
    sendScheduler.soon(this.#takeTurn);
  }

  #carry(): void {
    // Newest first: of two streams that could take a message, the older may be a dead connection.
    if (this.#state === "open") for (const stream of [...this.#streams].reverse()) this.#pump(stream);
    this.#unsent = 0;
    this.#relieveIfRead();
  }

  #pump(stream: Stream): void {
    while (stream.blockedSince === undefined) {
      const { batch, over } = this.#nextFor(stream);
      if (batch.length > 0 && !stream.sink.write(batch, stream.name)) stream.blockedSince = Date.now();
      if (over) {
        this.#end(stream, "gracefully");
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
      if (message.deltaOf === undefined) stream.waitingLength = Math.max(0, stream.waitingLength - message.text.length);
      if (message.deltaOf !== undefined && message.seq <= stream.skipDeltasUpTo) {
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
    if (batch.length === 0) {
      stream.cursor = this.#messages.lastSeq;
      // Messages that were dropped while they waited were never counted off.
      stream.waitingLength = 0;
    }
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
    this.#end(stream, "immediately");
  }

  #end(stream: Stream, how: "gracefully" | "immediately"): void {
    const at = this.#streams.indexOf(stream);
    if (at >= 0) this.#streams.splice(at, 1);
    stream.sink.end(how);
  }

  /** Releases the waiting sender, or starts the timer that disconnects slow streams. */
  #relieveIfRead(): void {
    if (!this.#isHeldUp()) this.#relieve();
    else this.#limitWait();
  }

  #limitWait(): void {
    this.#overdue ??= setTimeout(() => this.#disconnectSlow(), this.#limits.slowReaderMs);
  }

  #relieve(): void {
    clearTimeout(this.#overdue);
    this.#overdue = undefined;
    this.#backpressure?.resolve();
    this.#backpressure = undefined;
  }
}
