import type { FileChange } from "../actions.js";
import type { PlannedFile } from "./plannedFiles.js";
import { unifiedDiff } from "./unifiedDiff.js";

/** What a patch does to one file, as people and clients are shown it. Paths are absolute. */
export type PlannedChange =
  | { readonly kind: "add"; readonly path: string; readonly newContent: string }
  | { readonly kind: "delete"; readonly path: string; readonly oldContent: string }
  | {
      readonly kind: "update";
      readonly path: string;
      readonly movePath: string | undefined;
      readonly oldContent: string;
      readonly newContent: string;
      readonly unifiedDiff: string;
    };

const CONTEXT_LINES = 1;

/**
 * One change per file, several sections for it put together; a file that was only passing through has none. Bytes that are no text,
 * overwritten and then deleted by the same patch, are shown as far as they are.
 */
export function changesOf(files: readonly PlannedFile[]): PlannedChange[] {
  const sources = new Map(files.map((file) => [file.path, file]));
  const moved = new Set(files.map((file) => file.movedFrom));
  return files.flatMap((file): PlannedChange[] => {
    const { path, before, after } = file;
    if (after === undefined)
      return before === undefined || moved.has(path) ? [] : [{ kind: "delete", path, oldContent: before.toString() }];
    const source = file.movedFrom === undefined ? file : sources.get(file.movedFrom);
    if (file.isNew || source?.before === undefined) return [{ kind: "add", path, newContent: after }];
    const movePath = source === file ? undefined : path;
    return [updated({ path: source.path, movePath, oldContent: source.before.toString(), newContent: after })];
  });
}

function updated(change: { path: string; movePath: string | undefined; oldContent: string; newContent: string }): PlannedChange {
  const { oldContent, newContent } = change;
  return { kind: "update", ...change, unifiedDiff: unifiedDiff(oldContent, newContent, { context: CONTEXT_LINES }) };
}

/** The `changes` field of Codex's patch events. */
export function fileChanges({ changes }: { changes: readonly PlannedChange[] }): Record<string, FileChange> {
  return Object.fromEntries(changes.map((change) => [change.path, fileChange(change)]));
}

function fileChange(change: PlannedChange): FileChange {
  switch (change.kind) {
    case "add":
      return { type: "add", content: change.newContent };
    case "delete":
      return { type: "delete", content: change.oldContent };
    case "update":
      return { type: "update", unified_diff: change.unifiedDiff, move_path: change.movePath ?? null };
  }
}
