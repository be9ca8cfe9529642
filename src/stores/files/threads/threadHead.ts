import { constants, promises } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { type Fields, isFields, textOrNothing } from "../../../lib/fields.js";
import { isOutOfFiles, storageFailure } from "../failure.js";
import { wordsIn } from "./firstWords.js";
import { parseLine } from "./parseLine.js";
import { threadLines } from "./threadLines.js";

/** How far a file is read for what begins a thread. A first message longer than that is not found, and its thread not listed. */
const HEAD = { endByte: 8 * 1024 * 1024, blockBytes: 64 * 1024 };
const MOST_LINES = 210;

/** How a thread began. */
export interface ThreadHead {
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
