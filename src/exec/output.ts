/** Codex keeps this much of each stream, and of both together. */
export const CAPTURE_LIMIT_BYTES = 1024 * 1024;

/** The beginning and the end of output of any length, in bounded memory. */
export class HeadAndTail {
  readonly #headLimit: number;
  readonly #tailLimit: number;
  #head = Buffer.alloc(0);
  #headBytes = 0;
  /** A ring: once it is full, the oldest byte is where the next one goes. */
  #tail: Buffer | undefined;
  #tailBytes = 0;

  constructor(limitBytes: number = CAPTURE_LIMIT_BYTES) {
    this.#headLimit = Math.ceil(limitBytes / 2);
    this.#tailLimit = Math.max(1, limitBytes - this.#headLimit);
  }

  get omittedBytes(): number {
    return Math.max(0, this.#tailBytes - this.#tailLimit);
  }

  push(chunk: Buffer): void {
    const rest = this.#fillHead(chunk);
    if (rest.length === 0) return;
    this.#tail ??= Buffer.allocUnsafe(this.#tailLimit);
    const kept = rest.subarray(Math.max(0, rest.length - this.#tailLimit));
    const at = (this.#tailBytes + rest.length - kept.length) % this.#tailLimit;
    const untilEnd = kept.subarray(0, this.#tailLimit - at);
    untilEnd.copy(this.#tail, at);
    kept.copy(this.#tail, 0, untilEnd.length);
    this.#tailBytes += rest.length;
  }

  /** Where something was left out, a character that was cut in two is left out as well. */
  bytes(): Buffer {
    const head = this.#head.subarray(0, this.#headBytes);
    if (!this.#tail) return Buffer.from(head);
    if (this.#tailBytes <= this.#tailLimit) return Buffer.concat([head, this.#tail.subarray(0, this.#tailBytes)]);
    const oldest = this.#tailBytes % this.#tailLimit;
    const tail = Buffer.concat([this.#tail.subarray(oldest), this.#tail.subarray(0, oldest)]);
    return Buffer.concat([wholeCharactersAtEnd(head), wholeCharactersAtStart(tail)]);
  }

  #fillHead(chunk: Buffer): Buffer {
    const taken = chunk.subarray(0, this.#headLimit - this.#headBytes);
    const needed = this.#headBytes + taken.length;
    if (needed > this.#head.length) {
      const grown = Buffer.allocUnsafe(Math.min(this.#headLimit, Math.max(needed, this.#head.length * 2)));
      this.#head.copy(grown, 0, 0, this.#headBytes);
      this.#head = grown;
    }
    taken.copy(this.#head, this.#headBytes);
    this.#headBytes = needed;
    return chunk.subarray(taken.length);
  }
}

/** Both streams, one after the other: of what does not fit, stdout keeps a third and stderr two, and each may use what the other leaves. */
export function aggregate(stdout: Buffer, stderr: Buffer, limitBytes: number = CAPTURE_LIMIT_BYTES): Buffer {
  if (stdout.length + stderr.length <= limitBytes) return Buffer.concat([stdout, stderr]);
  const third = Math.min(stdout.length, Math.floor(limitBytes / 3));
  const stderrBytes = Math.min(stderr.length, limitBytes - third);
  return Buffer.concat([cutMiddle(stdout, limitBytes - stderrBytes), cutMiddle(stderr, stderrBytes)]);
}

function cutMiddle(bytes: Buffer, limitBytes: number): Buffer {
  const kept = new HeadAndTail(limitBytes);
  kept.push(bytes);
  return kept.bytes();
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;
const LONGEST_CHARACTER_BYTES = 4;

/** Drops the beginning of a character whose rest is missing. Bytes that are no UTF-8 at all stay. */
export function wholeCharactersAtEnd(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(LONGEST_CHARACTER_BYTES, bytes.length); back++) {
    const at = bytes.length - back;
    if (isContinuation(bytes[at])) continue;
    return back < characterBytes(bytes[at]) ? bytes.subarray(0, at) : bytes;
  }
  return bytes;
}

export function wholeCharactersAtStart(bytes: Buffer): Buffer {
  let start = 0;
  while (start < LONGEST_CHARACTER_BYTES - 1 && isContinuation(bytes[start])) start++;
  return bytes.subarray(start);
}

function characterBytes(first: number | undefined): number {
  if (first === undefined || first < 0xc0) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}
