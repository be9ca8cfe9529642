import { lstatSync, opendirSync, readdirSync, readlinkSync, realpathSync } from "node:fs";
import path from "node:path";
import { errorCode } from "../lib/errors.js";
import { LONGEST_PATH } from "../lib/files/kernelFiles.js";
import { pathBytes } from "../lib/files/rawNames.js";

/** Linux's flag to open a path without read permission. Node does not export it; the value is the same on all platforms that Node supports. */
export const O_PATH = 0o10000000;

/** Whether a path is the folder or lies below it. Both must be absolute and normalised; the file system is not consulted. */
export function isInside(file: string, folder: string): boolean {
  return file === folder || isBelow(file, folder);
}

export function isBelow(file: string, folder: string): boolean {
  return file !== folder && file.startsWith(folder.endsWith(path.sep) ? folder : `${folder}${path.sep}`);
}

/** The folders between a folder and a file below it, both excluded; outermost first. */
export function foldersBetween(folder: string, file: string): string[] {
  const steps = path.relative(folder, path.dirname(file)).split(path.sep).filter(Boolean);
  return steps.map((_, at) => path.join(folder, ...steps.slice(0, at + 1)));
}

/** A link counts as existing, wherever it leads. */
export function isThere(file: string): boolean {
  return lstatSync(pathBytes(file), { throwIfNoEntry: false }) !== undefined;
}

/** The names in a folder of the system or of our own; empty when it cannot be read. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The first names in a folder that anyone may fill: listing a million names takes seconds. Empty when it cannot be read. */
export function firstNamesIn(folder: string, most: number): string[] {
  try {
    const open = opendirSync(pathBytes(folder));
    try {
      const names: string[] = [];
      for (let entry = open.readSync(); entry && names.length < most; entry = open.readSync()) names.push(entry.name);
      return names;
    } finally {
      open.closeSync();
    }
  } catch {
    return [];
  }
}

/** The real path of the part that exists, with the missing rest appended. */
export function resolvedAsFarAsPossible(file: string): string {
  if (file.length > LONGEST_PATH) {
    // What lies beyond the limit does not exist under this name.
    const end = file.lastIndexOf(path.sep, LONGEST_PATH);
    return end <= 0 ? file : path.join(resolvedAsFarAsPossible(file.slice(0, end)), file.slice(end));
  }
  try {
    return realpathSync.native(file);
  } catch {
    const parent = path.dirname(file);
    return parent === file ? file : path.join(resolvedAsFarAsPossible(parent), path.basename(file));
  }
}

export interface FollowedPath {
  readonly real: string;
  /** The real paths of the links that were followed. */
  readonly links: readonly string[];
}

/**
 * Resolves a path and records each link on the way, in one pass: two passes could give different results. Undefined when the path does not
 * exist.
 */
export function followLinks(file: string): FollowedPath | undefined {
  return isReal(file) ? { real: file, links: [] } : walk(file, { isEntry: (code) => code === "EINVAL" });
}

/** Whether no part of the path is a link, which holds for most paths. One system call shows it. */
function isReal(file: string): boolean {
  try {
    return realpathSync.native(file) === file;
  } catch {
    return false;
  }
}

/**
 * The real path of an absolute path, including links whose target does not exist yet: missing parts are assumed to be created under their
 * names. Undefined for circular links, for paths without permission to look, and for paths longer than the kernel accepts.
 */
export function resolveLinks(file: string): string | undefined {
  return walk(file, { isEntry: (code) => code === "EINVAL" || code === "ENOENT" || code === "ENOTDIR" })?.real;
}

/** The most links that the kernel follows in one path. */
const LONGEST_CHAIN = 40;

/** `isEntry` decides by the error of `readlink` what counts as an ordinary entry; any other error ends the walk. */
function walk(file: string, { isEntry }: { isEntry: (code: string | undefined) => boolean }): FollowedPath | undefined {
  if (file.length > LONGEST_PATH) return undefined;
  const links: string[] = [];
  const steps = stepsOf(file);
  let { root: real } = path.parse(file);
  for (let step = steps.shift(); step !== undefined; step = steps.shift()) {
    const next = path.join(real, step);
    try {
      // Most entries are not links. For them `readlink` would throw, which is slower than `lstat`.
      if (lstatSync(next, { throwIfNoEntry: false })?.isSymbolicLink() === false) {
        real = next;
        continue;
      }
      const target = readlinkSync(next);
      if (links.push(next) > LONGEST_CHAIN + 1) return undefined;
      steps.unshift(...stepsOf(target));
      if (path.isAbsolute(target)) ({ root: real } = path.parse(target));
    } catch (error) {
      if (!isEntry(errorCode(error))) return undefined;
      real = next;
    }
  }
  return { real, links };
}

/** A `..` is kept: after a link it leads up from the link's target. */
function stepsOf(file: string): string[] {
  return file
    .slice(path.parse(file).root.length)
    .split(path.sep)
    .filter((step) => step !== "" && step !== ".");
}
