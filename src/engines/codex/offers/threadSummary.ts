import { threadIdOf } from "../../../lib/ids.js";
import { oneLine } from "../../../lib/oneLine.js";
import type { ThreadSummary } from "../../../threads/offers.js";
import { fieldsOf, numberOf, saidText, textOf } from "../translate/read.js";

const PREVIEW_LENGTH = 160;

/** A thread as the app-server lists it. */
export interface ListedThread {
  readonly summary: ThreadSummary;
  /** Everything the user said to begin it. */
  readonly beginning: string;
}

/** Undefined for what is no thread. */
export function listedThread(entry: unknown): ListedThread | undefined {
  const { id, preview, cwd, createdAt, recencyAt, updatedAt, name } = fieldsOf(entry);
  const threadId = saidText(id);
  if (threadId === undefined) return undefined;
  const beginning = textOf(preview);
  const started = numberOf(createdAt) ?? 0;
  const title = saidText(name);
  return {
    beginning,
    summary: {
      id: threadIdOf(threadId),
      preview: oneLine(beginning, PREVIEW_LENGTH),
      cwd: textOf(cwd),
      startedAt: isoTime(started),
      lastUsedAt: isoTime(numberOf(recencyAt) ?? numberOf(updatedAt) ?? started),
      ...(title === undefined ? {} : { name: title }),
    },
  };
}

function isoTime(seconds: number): string {
  return new Date(seconds * 1_000).toISOString();
}
