import { isAbsolute, resolve } from "node:path";
import { assertNever } from "../../lib/assertNever.js";
import { errorCode } from "../../lib/errors.js";
import type { MayRead } from "../../lib/files/guardedRead.js";
import { changesOf, type PlannedChange } from "./changes.js";
import { EmptyPatch, PatchInvalid, systemReason } from "./errors.js";
import type { FileOperation, Patch } from "./parse.js";
import {
  countLines,
  decodeText,
  LARGEST_PATCH_BYTES,
  MOST_PATCH_LINES,
  type PlannedFile,
  PlannedFiles,
  type Version,
  versionAt,
} from "./plannedFiles.js";
import { rewrite } from "./rewrite.js";

/** A patch checked against the disk: the content of every file now and after it. Nothing has been written. */
export interface PatchPlan {
  readonly files: readonly PlannedFile[];
  /** The changes to the files, for display. */
  readonly changes: readonly PlannedChange[];
  /** The output of a successful run: one line per file, paths as written in the patch. */
  readonly summary: string;
}

interface PlanOptions {
  /** Absolute; the base of relative paths in the patch. */
  readonly cwd: string;
  /** Called for every path that is read, with all links resolved: a plan shows file content. */
  readonly mayRead: MayRead;
  /** Changes are shown under the patch's own paths, joined to the folder, as Codex showed them. */
  readonly shownAsWritten?: boolean;
}

/** Sections for the same file build on each other. Throws PatchInvalid, or EmptyPatch when there is no section. */
export async function planPatch(patch: Patch, { cwd, mayRead, shownAsWritten }: PlanOptions): Promise<PatchPlan> {
  if (patch.operations.length === 0) throw new EmptyPatch();
  const planned = new PlannedFiles();
  const planning: Planning = { planned, cwd, read: readerOf(mayRead), searchedAgain: new Total() };
  for (const operation of patch.operations) await planOperation(operation, planning);
  const files = shownAsWritten ? planned.all().map(asWritten(cwd)) : planned.all();
  return { files, changes: changesOf(files), summary: summarise(patch) };
}

/** A path such as `a/../b` is shown as written; the real path is the one changed. */
function asWritten(cwd: string): (file: PlannedFile) => PlannedFile {
  return (file) => ({ ...file, shownPath: isAbsolute(file.shownAs) ? file.shownAs : `${cwd}/${file.shownAs}` });
}

function readerOf(mayRead: MayRead): Planning["read"] {
  const total = new Total();
  return async (path) => {
    const version = await versionAt(path, mayRead);
    total.add(version.bytes);
    if (total.isTooLarge) throw new PatchInvalid("the files of this patch are too large together. Send several smaller patches.");
    if (total.hasTooManyLines) throw new PatchInvalid(TOO_MANY_LINES);
    return version;
  };
}

/** The size and the number of lines of several contents, counted up to the limits. */
class Total {
  #size = 0;
  #lines = 0;

  add(content: Buffer | string): void {
    this.#size += content.length;
    if (!this.isTooLarge) this.#lines += countLines(content, { atMost: MOST_PATCH_LINES + 1 });
  }

  get isTooLarge(): boolean {
    return this.#size > LARGEST_PATCH_BYTES;
  }

  get hasTooManyLines(): boolean {
    return this.#lines > MOST_PATCH_LINES;
  }
}

const TOO_MANY_LINES = `the files of this patch have more than ${MOST_PATCH_LINES} lines together. Send smaller patches, or change such files with a command.`;

interface Planning {
  readonly planned: PlannedFiles;
  readonly cwd: string;
  readonly read: (path: string) => Promise<Version>;
  /** The contents of files that are changed by more than one section: each further section searches the whole file again. */
  readonly searchedAgain: Total;
}

async function planOperation(operation: FileOperation, planning: Planning): Promise<void> {
  const { planned, cwd } = planning;
  const target = { path: absolute(operation.path, cwd), shownAs: operation.path };
  switch (operation.kind) {
    case "add":
      await rememberOverwritten(target, planning);
      return planned.add(target.path, operation.content);
    case "delete":
      await currentText(target, { attempt: "Failed to read", planning });
      return planned.remove(target.path);
    case "update": {
      const text = await currentText(target, { attempt: "Failed to read file to update", planning });
      const newText = rewrite(text, operation.chunks, { path: target.path });
      if (operation.movePath === undefined) return planned.update(target.path, newText);
      const destination = { path: absolute(operation.movePath, cwd), shownAs: operation.movePath };
      await rememberOverwritten(destination, planning);
      return planned.move(target.path, destination.path, newText);
    }
    default:
      assertNever(operation);
  }
}

interface Target {
  readonly path: string;
  readonly shownAs: string;
}

function absolute(written: string, cwd: string): string {
  if (!written.includes("\0")) return resolve(cwd, written);
  throw new PatchInvalid(`invalid path ${JSON.stringify(written)}: file name contained an unexpected NUL byte`);
}

/** The file's text at this point of the patch. */
async function currentText({ path, shownAs }: Target, { attempt, planning }: { attempt: string; planning: Planning }): Promise<string> {
  const { planned, read, searchedAgain } = planning;
  try {
    const isKnown = planned.has(path);
    if (!isKnown) planned.remember(path, { shownAs, before: await read(path) });
    const content = planned.current(path);
    if (content === undefined) throw new PatchInvalid(`${attempt} ${path}: No such file or directory (os error 2)`);
    if (isKnown) searchedAgain.add(content);
    if (searchedAgain.isTooLarge || searchedAgain.hasTooManyLines)
      throw new PatchInvalid(`this patch has too many sections for ${path}. Write its changes as one section.`);
    return typeof content === "string" ? content : decodeText(content);
  } catch (error) {
    if (error instanceof PatchInvalid) throw error;
    throw new PatchInvalid(`${attempt} ${path}: ${systemReason(error)}`, { cause: error });
  }
}

/** Usually nothing is overwritten; an overwritten file may have any encoding. */
async function rememberOverwritten({ path, shownAs }: Target, { planned, read }: Planning): Promise<void> {
  if (planned.has(path)) return;
  try {
    planned.remember(path, { shownAs, before: await read(path) });
  } catch (error) {
    if (error instanceof PatchInvalid) throw error;
    if (!isAbsent(error)) throw new PatchInvalid(`Failed to write file ${path}: ${systemReason(error)}`, { cause: error });
    planned.remember(path, { shownAs, before: undefined });
  }
}

/** Below a file there is no file either; creating the folders will fail with the right error. */
function isAbsent(error: unknown): boolean {
  const code = errorCode(error);
  return code === "ENOENT" || code === "ENOTDIR";
}

/** A file that is added twice is listed twice, as Codex does; several updates of one file, which Codex refuses, are one line. */
function summarise(patch: Patch): string {
  const lines = { add: [] as string[], update: [] as string[], delete: [] as string[] };
  for (const operation of patch.operations) {
    const shown = operation.kind === "update" ? (operation.movePath ?? operation.path) : operation.path;
    lines[operation.kind].push(`${LETTERS[operation.kind]} ${shown}\n`);
  }
  return ["Success. Updated the following files:\n", ...lines.add, ...new Set(lines.update), ...lines.delete].join("");
}

const LETTERS = { add: "A", update: "M", delete: "D" } as const;
