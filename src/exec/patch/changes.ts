import { createHash } from "node:crypto";
import path from "node:path";
import { errorCode } from "../../lib/errors.js";
import { isCheckout } from "../../lib/files/gitFiles.js";
import type { MayRead } from "../../lib/files/guardedRead.js";
import type { FileChange } from "../actions.js";
import { NotPatchable } from "./errors.js";
import { decodeText, type PlannedFile, type Version, versionAt } from "./plannedFiles.js";
import { unifiedDiff } from "./unifiedDiff.js";

/** The change to one file, for people and clients. Paths are absolute. */
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

/** Codex shows one line of context in the diff of a patch, and three in the diff of a turn. */
const PATCH_CONTEXT_LINES = 1;
const TURN_CONTEXT_LINES = 3;

/**
 * One change per file, which combines all its sections. A file that the patch both created and removed has none. Non-text bytes that the
 * patch overwrites and then deletes are shown as far as possible.
 */
export function changesOf(files: readonly PlannedFile[]): PlannedChange[] {
  const sources = new Map(files.map((file) => [file.path, file]));
  const moved = new Set(files.map((file) => file.movedFrom));
  return files.flatMap((file): PlannedChange[] => {
    const { before, after } = file;
    const name = file.shownPath ?? file.path;
    if (after === undefined)
      return before === undefined || moved.has(file.path) ? [] : [{ kind: "delete", path: name, oldContent: before.toString() }];
    const source = file.movedFrom === undefined ? file : sources.get(file.movedFrom);
    if (file.isNew || source?.before === undefined) return [{ kind: "add", path: name, newContent: after }];
    const movePath = source === file ? undefined : name;
    return [updated({ path: source.shownPath ?? source.path, movePath, oldContent: source.before.toString(), newContent: after })];
  });
}

function updated(change: { path: string; movePath: string | undefined; oldContent: string; newContent: string }): PlannedChange {
  const { oldContent, newContent } = change;
  return { kind: "update", ...change, unifiedDiff: unifiedDiff(oldContent, newContent, { context: PATCH_CONTEXT_LINES }) };
}

/** The `changes` field of Codex's patch events. */
export function fileChangesOf({ changes }: { changes: readonly PlannedChange[] }): Record<string, FileChange> {
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

const NO_BLOB = "0".repeat(40);

interface Tracked {
  /** The file before the turn's first patch to it. */
  readonly first: Version | undefined;
  readonly latest: Version | undefined;
  readonly movedFrom: string | undefined;
  readonly shownPath: string | undefined;
}

/** The files changed by a turn's patches, as one diff in git's style between their content before and now. */
export class TurnDiff {
  readonly #files = new Map<string, Tracked>();
  /** The latest diff of each file. It is reused, because the turn's diff is made after each patch, and most files have not changed since. */
  readonly #diffs = new Map<string, { readonly from: Side; readonly to: Side; readonly text: string }>();

  /** To be called after a plan was applied. */
  add({ files }: { readonly files: readonly PlannedFile[] }): void {
    const origins = files.map(({ movedFrom }) =>
      movedFrom === undefined ? undefined : (this.#files.get(movedFrom)?.movedFrom ?? movedFrom),
    );
    for (const [at, file] of files.entries()) {
      const known = this.#files.get(file.path);
      const staysMoved = file.movedFrom === undefined && file.after !== undefined && !file.isNew;
      this.#files.set(file.path, {
        first: known === undefined ? versionBefore(file) : known.first,
        latest: versionAfter(file, known?.latest),
        movedFrom: staysMoved ? known?.movedFrom : origins[at],
        shownPath: file.shownPath,
      });
    }
  }

  /** Undefined when there is no overall change. Reads the disk, because commands may have changed the files further. */
  async text({ mayRead }: { readonly mayRead: MayRead }): Promise<string | undefined> {
    for (const [file, tracked] of this.#files) {
      const latest = await latestVersion(file, { mayRead, known: tracked.latest });
      if (latest !== tracked.latest) this.#files.set(file, { ...tracked, latest });
    }
    return this.#compute();
  }

  #compute(): string | undefined {
    const moved = this.#moves();
    const repositories: KnownRepositories = new Map();
    const nameOf = (file: string) => this.#nameOf(file, repositories);
    const entries = [...this.#files].flatMap(([target, file]) => {
      if (moved.sources.has(target)) return [];
      const source = moved.targets.get(target);
      const from = source === undefined ? { path: target, version: file.first } : { path: source, version: this.#files.get(source)?.first };
      return [{ from: { ...from, path: nameOf(from.path) }, to: { path: nameOf(target), version: file.latest } }];
    });
    const diffs = entries.sort((one, other) => (one.to.path < other.to.path ? -1 : 1)).map((entry) => this.#diffOf(entry));
    return diffs.join("") || undefined;
  }

  #diffOf({ from, to }: { readonly from: Side; readonly to: Side }): string {
    const known = this.#diffs.get(to.path);
    if (known && isSame(known.from, from) && isSame(known.to, to)) return known.text;
    const text = fileDiff({ from, to });
    this.#diffs.set(to.path, { from, to, text });
    return text;
  }

  /** Files in a git repository are named relative to its root, others by their absolute path. */
  #nameOf(file: string, repositories: KnownRepositories): string {
    return pathInRepository(file, repositories) ?? this.#files.get(file)?.shownPath ?? file;
  }

  /** A file counts as moved if no new file took its place and it replaced none; otherwise both paths are shown separately. */
  #moves(): { targets: ReadonlyMap<string, string>; sources: ReadonlySet<string> } {
    const targets = new Map<string, string>();
    for (const [target, { first, latest, movedFrom }] of this.#files) {
      if (movedFrom === undefined || movedFrom === target || first !== undefined || latest === undefined) continue;
      const source = this.#files.get(movedFrom);
      if (source?.first !== undefined && source.latest === undefined) targets.set(target, movedFrom);
    }
    return { targets, sources: new Set(targets.values()) };
  }
}

export function versionBefore({ before, wasExecutable }: PlannedFile): Version | undefined {
  return before && { bytes: before, isExecutable: wasExecutable };
}

/** Until the file is read again, its mode is taken from before the patch. */
export function versionAfter({ after, wasExecutable }: PlannedFile, known: Version | undefined): Version | undefined {
  return after === undefined ? undefined : { bytes: Buffer.from(after), isExecutable: known?.isExecutable ?? wasExecutable };
}

/** The current version; where it cannot be read, the one after the last patch. */
export async function latestVersion(
  file: string,
  { mayRead, known }: { readonly mayRead: MayRead; readonly known: Version | undefined },
): Promise<Version | undefined> {
  try {
    const now = await versionAt(file, mayRead);
    return known?.isExecutable === now.isExecutable && known.bytes.equals(now.bytes) ? known : now;
  } catch (error) {
    return errorCode(error) === "ENOENT" ? undefined : known;
  }
}

export interface Side {
  readonly path: string;
  readonly version: Version | undefined;
}

export function isSame(one: Side, other: Side): boolean {
  return one.path === other.path && one.version === other.version;
}

export function fileDiff({ from, to }: { from: Side; to: Side }): string {
  const before = from.version?.bytes;
  const after = to.version?.bytes;
  if (before === after || (before !== undefined && after?.equals(before))) return "";
  const changed = hunks(before, after);
  const index = `index ${blobId(before)}..${blobId(after)}\n`;
  const head = [`diff --git a/${from.path} b/${to.path}\n`, modeLines(from.version, to.version), index].join("");
  // An empty file has no lines to compare.
  if (changed === "") return head;
  const oldName = before === undefined ? "/dev/null" : `a/${from.path}`;
  const newName = after === undefined ? "/dev/null" : `b/${to.path}`;
  return `${head}--- ${oldName}\n+++ ${newName}\n${changed}`;
}

/** A mode that changes without the content is not shown, as in Codex. */
function modeLines(from: Version | undefined, to: Version | undefined): string {
  const modeOf = ({ isExecutable }: Version) => (isExecutable ? "100755" : "100644");
  if (!from) return to ? `new file mode ${modeOf(to)}\n` : "";
  if (!to) return `deleted file mode ${modeOf(from)}\n`;
  return from.isExecutable === to.isExecutable ? "" : `old mode ${modeOf(from)}\nnew mode ${modeOf(to)}\n`;
}

function hunks(before: Buffer | undefined, after: Buffer | undefined): string {
  try {
    return unifiedDiff(before === undefined ? "" : decodeText(before), after === undefined ? "" : decodeText(after), {
      context: TURN_CONTEXT_LINES,
    });
  } catch (error) {
    if (error instanceof NotPatchable) return "Binary files differ\n";
    throw error;
  }
}

/** Git's object id for the content. */
function blobId(content: Buffer | undefined): string {
  if (content === undefined) return NO_BLOB;
  return createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");
}

/** The root of the repository around each folder. Patches have thousands of files in the same ones. */
export type KnownRepositories = Map<string, string | undefined>;

/** Undefined for a file outside any git repository. */
export function pathInRepository(file: string, known: KnownRepositories): string | undefined {
  const root = repositoryAround(path.dirname(file), known);
  return root === undefined ? undefined : path.relative(root, file);
}

function repositoryAround(folder: string, known: KnownRepositories): string | undefined {
  if (known.has(folder)) return known.get(folder);
  const parent = path.dirname(folder);
  const root = isCheckout(folder) ? folder : parent === folder ? undefined : repositoryAround(parent, known);
  known.set(folder, root);
  return root;
}
