import { promises } from "node:fs";
import path from "node:path";
import type { ThreadId } from "../../../lib/ids.js";
import { StorageFailed } from "../../../threads/errors.js";
import { storageFailure } from "../failure.js";
import { parseLine } from "./parseLine.js";
import { forkedMetaLine, type Origin } from "./sessionMeta.js";
import { threadLines } from "./threadLines.js";

export interface ForkParts {
  readonly codexHome: string;
  readonly origin: Origin;
  readonly source: { readonly id: ThreadId; readonly path: string };
  readonly fork: { readonly id: ThreadId; readonly path: string; readonly startedAt: Date };
}

/** Writes a rollout with everything the source's says, under an id of its own. It appears whole or not at all. */
export async function writeFork(parts: ForkParts): Promise<void> {
  const { path: target } = parts.fork;
  const draft = `${target}.new`;
  try {
    await promises.mkdir(path.dirname(target), { recursive: true, mode: 0o700 });
    await using source = await promises.open(parts.source.path, "r");
    await using file = await promises.open(draft, "wx", 0o600);
    for await (const line of forkedLines(threadLines(source, parts.codexHome), parts)) await file.appendFile(line);
    await file.datasync();
    await promises.rename(draft, target);
  } catch (error) {
    await promises.rm(draft, { force: true }).catch(() => undefined);
    throw storageFailure("write the fork", target, error);
  }
}

async function* forkedLines(lines: AsyncIterable<Buffer>, { source, fork, origin }: ForkParts): AsyncGenerator<Buffer> {
  let begun = false;
  for await (const line of lines) {
    if (!begun) yield Buffer.from(forkedMetaLine(metaIn(line, source), { ...fork, origin }));
    begun = true;
    yield Buffer.concat([line, NEWLINE]);
  }
  if (!begun) throw unusable(source.path);
}

const NEWLINE = Buffer.from("\n");

function metaIn(line: Buffer, { id, path: file }: ForkParts["source"]): Readonly<Record<string, unknown>> {
  const { type, payload } = parseLine(line) ?? {};
  if (type !== "session_meta" || payload?.["id"] !== id) throw unusable(file);
  return payload;
}

function unusable(file: string): StorageFailed {
  return new StorageFailed(`The file ${file} does not begin with the session_meta of its thread. Restore it, or start a new thread.`);
}
