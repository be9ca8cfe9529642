import { closeSync, constants, fstatSync, openSync, promises, readSync } from "node:fs";
import { type Fields, isFields, textOrNothing } from "../../../lib/fields.js";
import { oneLine } from "../../../lib/oneLine.js";
import { isOutOfFiles, storageFailure } from "../failure.js";
import { type FileStamp, stampOf } from "../fileStamp.js";
import { parseLine } from "./rolloutLines.js";
import { pastIn, threadLines } from "./threadLines.js";

const MiB = 1024 * 1024;
/** How far a file is read to find a thread's first message: further than the longest messages reach. Of those, the beginning is enough. */
const HEAD = { endByte: 512 * MiB, longestLine: 8 * MiB, blockBytes: 64 * 1024 };
const MOST_LINES = 210;
const NEWLINE = 0x0a;

/** How a thread began. */
export interface ThreadHead {
  readonly threadId: string;
  readonly cwd: string;
  readonly startedAt: string | undefined;
  /** The user's first message. */
  readonly words: string;
  readonly lastUsedAt: Date;
}

/** The result of reading a file's beginning. */
export interface HeadReading {
  /** The file's stamp when it was opened; undefined when it could not be opened. */
  readonly stamp: FileStamp | undefined;
  /** Undefined for a file without a user's message: torn, foreign or unreadable, or of a thread that another thread runs for itself. */
  readonly head: ThreadHead | undefined;
  /** The head depends on this file alone: it is valid as long as the file is unchanged. */
  readonly isOwn: boolean;
  /** The cost of the read; one for nearly all files. */
  readonly effort: number;
}

/** Throws `StorageFailed` when no more files can be opened, which says nothing about this one. */
export async function readThreadHead(path: string, codexHome: string): Promise<HeadReading> {
  return headInFirstBlock(path) ?? (await headInWhole(path, codexHome));
}

const UNREADABLE: HeadReading = { stamp: undefined, head: undefined, isOwn: false, effort: 1 };
const LONG_EFFORT = 16;
/** Shared, because it is only used synchronously. */
const firstBlock = Buffer.allocUnsafe(HEAD.blockBytes);
// A named pipe must not block until it has a writer.
const READ = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * Nearly every thread's first message is within one block. A synchronous read takes a tenth of the time of the thread pool. Undefined when
 * more must be read.
 */
function headInFirstBlock(path: string): HeadReading | undefined {
  try {
    const fd = openSync(path, READ);
    try {
      return headOfBlock(fd);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    if (isOutOfFiles(error)) throw storageFailure("read the thread's file", path, error);
    return UNREADABLE;
  }
}

function headOfBlock(fd: number): HeadReading | undefined {
  const found = fstatSync(fd);
  const stamp = stampOf(found);
  const none: HeadReading = { stamp, head: undefined, isOwn: true, effort: 1 };
  if (!found.isFile()) return none;
  const bytes = firstBlock.subarray(0, readSync(fd, firstBlock, 0, firstBlock.length, 0));
  const search = new HeadSearch(found.mtime);
  let from = 0;
  for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, from)) {
    const line = bytes.subarray(from, end);
    if (from === 0 && pastIn(line)) return undefined;
    if (search.ends(line)) return { ...none, head: search.head };
    from = end + 1;
  }
  return bytes.length >= found.size ? none : undefined;
}

async function headInWhole(path: string, codexHome: string): Promise<HeadReading> {
  let stamp: FileStamp | undefined;
  try {
    await using file = await promises.open(path, READ);
    const found = await file.stat();
    stamp = stampOf(found);
    const search = new HeadSearch(found.mtime);
    let isOwn = true;
    for await (const bytes of threadLines(file, codexHome, HEAD)) {
      if (search.lines === 0) isOwn = pastIn(bytes) === undefined;
      if (search.ends(bytes)) break;
    }
    return { stamp, head: search.head, isOwn, effort: LONG_EFFORT };
  } catch (error) {
    if (isOutOfFiles(error)) throw storageFailure("read the thread's file", path, error);
    return { ...UNREADABLE, stamp, effort: LONG_EFFORT };
  }
}

/** Processes the first lines of a rollout until the thread's beginning is known. */
class HeadSearch {
  #meta: Fields | undefined;
  lines = 0;
  head: ThreadHead | undefined;

  readonly #lastUsedAt: Date;

  constructor(lastUsedAt: Date) {
    this.#lastUsedAt = lastUsedAt;
  }

  /** True when no further line matters. */
  ends(bytes: Buffer): boolean {
    const { type, payload = {} } = parseLine(bytes.length < HEAD.longestLine ? bytes : closedEvent(bytes)) ?? {};
    if (type === "session_meta") this.#meta ??= payload;
    const words = this.#meta && type === "event_msg" ? wordsIn(payload) : undefined;
    if (this.#meta && words !== undefined) this.head = headOf(this.#meta, { words, lastUsedAt: this.#lastUsedAt });
    return words !== undefined || ++this.lines === MOST_LINES;
  }
}

function headOf(meta: Fields, { words, lastUsedAt }: { words: string; lastUsedAt: Date }): ThreadHead | undefined {
  const { id, cwd, source } = meta;
  if (typeof id !== "string" || typeof cwd !== "string" || isFields(source)) return undefined;
  return { threadId: id, cwd, startedAt: textOrNothing(meta["timestamp"]), words, lastUsedAt };
}

/** Enough to determine the kind of line. */
const KIND_BYTES = 128;

/** The beginning of a line, completed to valid JSON by closing what is open; empty when it is not an event. */
function closedEvent(beginning: Buffer): Buffer {
  if (!beginning.toString("latin1", 0, KIND_BYTES).includes('"type":"event_msg"')) return Buffer.alloc(0);
  const open: number[] = [];
  let inText = false;
  // The cut may be inside an escape sequence of a string.
  let end = beginning.length;
  for (let at = 0; at < beginning.length; at++) {
    const byte = beginning[at];
    if (byte === BACKSLASH && inText) {
      const length = beginning[at + 1] === LETTER_U ? 6 : 2;
      if (at + length > beginning.length) end = at;
      at += length - 1;
    } else if (byte === QUOTE) inText = !inText;
    else if (inText) continue;
    else if (byte === BRACE || byte === BRACKET) open.push(byte + 2);
    else if (byte === BRACE + 2 || byte === BRACKET + 2) open.pop();
  }
  const closing = [...(inText ? [QUOTE] : []), ...open.reverse()];
  return Buffer.concat([beginning.subarray(0, end), Buffer.from(closing)]);
}

const [QUOTE, BACKSLASH, LETTER_U, BRACE, BRACKET] = [0x22, 0x5c, 0x75, 0x7b, 0x5b];

/** Editors put their open files before the request, under headings of their own; the request comes last. */
const REQUEST_HEADING = "## My request for Codex:";
const PREVIEW_LENGTH = 160;
const LONGEST_LOOKED_AT = 4_096;

/** A person's message in an event of a rollout; undefined for other events, and for context in the form of a message. */
export function wordsIn(event: Fields): string | undefined {
  const { kind } = event;
  switch (event["type"]) {
    case "user_message":
      return kind === undefined || kind === null || kind === "plain" ? textOrNothing(event["message"]) : undefined;
    case "item_completed":
      return isFields(event["item"]) && event["item"]["type"] === "UserMessage" ? textOf(event["item"]["content"]) : undefined;
    default:
      return undefined;
  }
}

/** The request on one line, short enough for a list. */
export function previewOf(words: string): string {
  const heading = words.indexOf(REQUEST_HEADING);
  const request = heading === -1 ? words : words.slice(heading + REQUEST_HEADING.length);
  return oneLine(request.trimStart().slice(0, LONGEST_LOOKED_AT), PREVIEW_LENGTH);
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return "";
  return content.map((part: unknown) => (isFields(part) ? (textOrNothing(part["text"]) ?? "") : "")).join("");
}
