import { constants, promises } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { type Fields, isFields, textOrNothing } from "../../../lib/fields.js";
import { oneLine } from "../../../lib/oneLine.js";
import { isOutOfFiles, storageFailure } from "../failure.js";
import { parseLine } from "./rolloutLines.js";
import { threadLines } from "./threadLines.js";

const MiB = 1024 * 1024;
/** How far a file is read for what begins a thread: further than the longest messages reach. Of those the beginning is enough. */
const HEAD = { endByte: 512 * MiB, longestLine: 8 * MiB, blockBytes: 64 * 1024 };
const MOST_LINES = 210;

/** How a thread began. */
interface ThreadHead {
  readonly threadId: string;
  readonly cwd: string;
  readonly startedAt: string | undefined;
  /** What its user said first. */
  readonly words: string;
  readonly lastUsedAt: Date;
}

/**
 * Undefined for a file that no user began: one that is torn, foreign or unreadable, has been moved meanwhile, or is of a thread
 * that another thread runs for itself.
 */
export async function readThreadHead(path: string, codexHome: string): Promise<ThreadHead | undefined> {
  try {
    // A pipe of that name must not make us wait for its writer.
    await using file = await promises.open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = await file.stat();
    return found.isFile() ? await headIn(file, { codexHome, lastUsedAt: found.mtime }) : undefined;
  } catch (error) {
    if (isOutOfFiles(error)) throw storageFailure("read the thread's file", path, error);
    return undefined;
  }
}

async function headIn(
  file: FileHandle,
  { codexHome, lastUsedAt }: { codexHome: string; lastUsedAt: Date },
): Promise<ThreadHead | undefined> {
  let meta: Fields | undefined;
  let lines = 0;
  for await (const bytes of threadLines(file, codexHome, HEAD)) {
    const { type, payload = {} } = parseLine(bytes.length < HEAD.longestLine ? bytes : closedEvent(bytes)) ?? {};
    if (type === "session_meta") meta ??= payload;
    const words = meta && type === "event_msg" ? wordsIn(payload) : undefined;
    if (meta && words !== undefined) return headOf(meta, { words, lastUsedAt });
    if (++lines === MOST_LINES) return undefined;
  }
  return undefined;
}

function headOf(meta: Fields, { words, lastUsedAt }: { words: string; lastUsedAt: Date }): ThreadHead | undefined {
  const { id, cwd, source } = meta;
  if (typeof id !== "string" || typeof cwd !== "string" || isFields(source)) return undefined;
  return { threadId: id, cwd, startedAt: textOrNothing(meta["timestamp"]), words, lastUsedAt };
}

/** Enough to tell what kind of line it is. */
const KIND_BYTES = 128;

/** The beginning of a line, made JSON again by closing what is open in it; an empty one when it is no event. */
function closedEvent(beginning: Buffer): Buffer {
  if (!beginning.toString("latin1", 0, KIND_BYTES).includes('"type":"event_msg"')) return Buffer.alloc(0);
  const open: number[] = [];
  let inText = false;
  // Where the beginning ends in a text, it may end within an escape.
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

/** Editors put what is open in them before the request, under headings of their own; the request comes last. */
const REQUEST_HEADING = "## My request for Codex:";
const PREVIEW_LENGTH = 160;
const LONGEST_LOOKED_AT = 4_096;

/** What a person said, in an event of a rollout; undefined for other events, and for context in the form of a message. */
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

/** The request on one line that is not too long to list. */
export function previewOf(words: string): string {
  const heading = words.indexOf(REQUEST_HEADING);
  const request = heading === -1 ? words : words.slice(heading + REQUEST_HEADING.length);
  return oneLine(request.trimStart().slice(0, LONGEST_LOOKED_AT), PREVIEW_LENGTH);
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return "";
  return content.map((part: unknown) => (isFields(part) ? (textOrNothing(part["text"]) ?? "") : "")).join("");
}
