import type { Readable, Writable } from "node:stream";
import { type Deferred, deferred } from "../lib/promises.js";
import type { Frame, Wire } from "./wire.js";

/** The maximum length of a line. A prompt of 5 MB is normal; a sender that exceeds this limit is broken. */
const MAX_LINE_LENGTH = 64 * 1024 * 1024;
/** Backpressure on turns starts at this much unread output, so a client that stops reading costs about this much memory. */
const CONGESTED_LENGTH = 1024 * 1024;
/** Input also waits at this much unread output. The limit is higher, so that a slow client can still cancel. */
const OVERFULL_LENGTH = 16 * CONGESTED_LENGTH;
/** How long `close` waits for a client that does not read. */
const FLUSH_MS = 500;

interface Output {
  readonly stream: Writable;
  readonly write: (text: string, written: () => void) => void;
}

/** One message per line over a pair of streams. All messages of one iteration of the event loop are sent in one write. */
export class StreamWire implements Wire {
  readonly incoming: AsyncIterable<Frame>;
  #queued = "";
  #flushScheduled = false;
  #congestion: Deferred<void> | undefined;
  readonly #emptied = deferred<void>();
  #state: "open" | "closed" = "open";

  readonly #output: Output;

  constructor(input: Readable, output: Output) {
    this.#output = output;
    this.incoming = this.#read(input);
    // The reader is gone (EPIPE). Input ends too in that case, so nothing else is needed.
    output.stream.on("error", () => {
      this.#state = "closed";
      this.#relieve();
      this.#emptied.resolve();
      input.destroy();
    });
  }

  send(text: string): void {
    if (this.#state === "closed") return;
    this.#queued += `${text}\n`;
    if (this.#flushScheduled) return;
    this.#flushScheduled = true;
    setImmediate(() => this.#flush());
  }

  congested(): Promise<void> | undefined {
    return this.#waitBelow(CONGESTED_LENGTH);
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    this.#flush();
    this.#state = "closed";
    this.#relieve();
    await this.#drained();
  }

  #waitBelow(length: number): Promise<void> | undefined {
    if (this.#state === "closed" || this.#output.stream.writableLength + this.#queued.length < length) return undefined;
    this.#congestion ??= deferred<void>();
    return this.#congestion.promise;
  }

  #flush(): void {
    this.#flushScheduled = false;
    const text = this.#queued;
    this.#queued = "";
    if (text !== "" && this.#state === "open") this.#output.write(text, () => this.#written());
    this.#relieveIfRead();
  }

  #written(): void {
    this.#relieveIfRead();
    if (this.#state === "closed" && this.#output.stream.writableLength === 0) this.#emptied.resolve();
  }

  #relieveIfRead(): void {
    if (this.#output.stream.writableLength < CONGESTED_LENGTH) this.#relieve();
  }

  #relieve(): void {
    this.#congestion?.resolve();
    this.#congestion = undefined;
  }

  #drained(): Promise<void> {
    const { stream } = this.#output;
    if (stream.writableLength === 0 || stream.destroyed) return Promise.resolve();
    const timer = setTimeout(() => this.#emptied.resolve(), FLUSH_MS);
    return this.#emptied.promise.finally(() => clearTimeout(timer));
  }

  async *#read(input: Readable): AsyncGenerator<Frame> {
    const lines = new LineSplitter(MAX_LINE_LENGTH);
    input.setEncoding("utf8");
    try {
      for await (const chunk of input) {
        for (const frame of lines.push(String(chunk))) {
          yield frame;
          const overfull = this.#waitBelow(OVERFULL_LENGTH);
          if (overfull) await overfull;
        }
      }
    } catch {
      // A broken pipe on our input ends it, like a closed one.
    }
    yield* lines.end();
  }
}

/** Newline framing: text chunks in, whole lines out. A line beyond the limit is dropped as it arrives and reported once. */
export class LineSplitter {
  #held: string[] = [];
  #heldLength = 0;

  /** `limit` is in UTF-16 code units, which determine the memory used. */
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(chunk: string): Frame[] {
    const frames: Frame[] = [];
    let from = 0;
    for (let at = chunk.indexOf("\n"); at >= 0; at = chunk.indexOf("\n", from)) {
      this.#hold(chunk.slice(from, at));
      frames.push(this.#release());
      from = at + 1;
    }
    if (from < chunk.length) this.#hold(from === 0 ? chunk : chunk.slice(from));
    return frames;
  }

  /** The last line, if the stream ended without a newline. */
  end(): Frame[] {
    return this.#heldLength > 0 ? [this.#release()] : [];
  }

  #hold(piece: string): void {
    this.#heldLength += piece.length;
    if (this.#heldLength > this.#limit) this.#held = [];
    else this.#held.push(piece);
  }

  #release(): Frame {
    const line = this.#held.length === 1 ? (this.#held[0] ?? "") : this.#held.join("");
    const length = this.#heldLength;
    this.#held = [];
    this.#heldLength = 0;
    if (length > this.#limit) return { tooLongBytes: length };
    return { text: line.endsWith("\r") ? line.slice(0, -1) : line };
  }
}
