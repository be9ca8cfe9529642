import type { Frame } from "./wire.js";

/** Newline framing: chunks of text in, whole lines out. A line past the limit is dropped as it arrives and reported once. */
export class LineSplitter {
  #held: string[] = [];
  #heldLength = 0;

  /** `limit` is in UTF-16 units, which is what memory pays for. */
  constructor(private readonly limit: number) {}

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

  /** The last line, when the stream ended without a newline. */
  end(): Frame[] {
    return this.#heldLength > 0 ? [this.#release()] : [];
  }

  #hold(piece: string): void {
    this.#heldLength += piece.length;
    if (this.#heldLength > this.limit) this.#held = [];
    else this.#held.push(piece);
  }

  #release(): Frame {
    const line = this.#held.length === 1 ? (this.#held[0] ?? "") : this.#held.join("");
    const length = this.#heldLength;
    this.#held = [];
    this.#heldLength = 0;
    if (length > this.limit) return { tooLongBytes: length };
    return { text: line.endsWith("\r") ? line.slice(0, -1) : line };
  }
}
