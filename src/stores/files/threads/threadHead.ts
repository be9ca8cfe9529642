import { constants, promises } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { type Fields, isFields, textOrNothing } from "../../../lib/fields.js";
import { oneLine } from "../../../lib/oneLine.js";
import { isOutOfFiles, storageFailure } from "../failure.js";
import { parseLine } from "./rolloutLines.js";
import { threadLines } from "./threadLines.js";

/** How far a file is read for what begins a thread. A first message longer than that is not found, and its thread not listed. */
const HEAD = { endByte: 8 * 1024 * 1024, blockBytes: 64 * 1024 };
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
    const { type, payload = {} } = parseLine(bytes) ?? {};
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
