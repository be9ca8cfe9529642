import path from "node:path";
import { AppError } from "../lib/errors.js";
import { type ThreadId, threadIdOf } from "../lib/ids.js";
import { resolvedAsFarAsPossible } from "../platform/paths.js";

/** The named path is not the path of a thread's rollout file. */
export class RecordRefused extends AppError {
  readonly code = "record_refused";

  constructor(readonly named: string) {
    super(`rollout path \`${named}\` must be in sessions directory`);
  }
}

const RECORD_NAME = /^rollout-.*-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/;

/** The thread id in a rollout file's name. Does not access the disk. */
export function threadInName(named: string): ThreadId | undefined {
  const [, id] = RECORD_NAME.exec(path.basename(named)) ?? [];
  return id === undefined ? undefined : threadIdOf(id);
}

/** Whether a path is the rollout file itself. Links in the folder's path are followed; a link in place of the file is another file. */
export function isRecordAt(named: string, record: string): boolean {
  if (!path.isAbsolute(named) || path.basename(named) !== path.basename(record)) return false;
  const folder = resolvedAsFarAsPossible(path.dirname(record));
  return (
    resolvedAsFarAsPossible(path.dirname(named)) === folder && resolvedAsFarAsPossible(named) === path.join(folder, path.basename(record))
  );
}
