import { lstatSync, readdirSync, readlinkSync, realpathSync } from "node:fs";
import path from "node:path";
import { errorCode } from "../lib/errors.js";

/** Linux's flag to hold a place without the right to read it. Node has no name for it; the value is the same on all platforms. */
export const O_PATH = 0o10000000;

/** Whether a path is the folder or lies below it. Both are absolute and normalised; nothing is looked up. */
export function isInside(file: string, folder: string): boolean {
  return file === folder || isBelow(file, folder);
}

export function isBelow(file: string, folder: string): boolean {
  return file !== folder && file.startsWith(folder.endsWith(path.sep) ? folder : `${folder}${path.sep}`);
}

/** The folders strictly between, outermost first. */
export function foldersBetween(folder: string, file: string): string[] {
  const steps = path.relative(folder, path.dirname(file)).split(path.sep).filter(Boolean);
  return steps.map((_, at) => path.join(folder, ...steps.slice(0, at + 1)));
}

/** A link counts as being there, wherever it leads. */
export function isThere(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
}

/** What is in a folder of the system's or of our own; nothing when it cannot be read. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The real path of what exists, with the missing rest appended. */
export function resolvedAsFarAsPossible(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    const parent = path.dirname(file);
    return parent === file ? file : path.join(resolvedAsFarAsPossible(parent), path.basename(file));
  }
}

export interface FollowedPath {
  readonly real: string;
  /** Where the links are that led there, by real path. */
  readonly links: readonly string[];
}

/** Follows a path, and remembers each link it went through: asking twice could give two answers. Undefined when it leads nowhere. */
export function followLinks(file: string): FollowedPath | undefined {
  return walk(file, { isEntry: (code) => code === "EINVAL" });
}

/**
 * Where an absolute path leads when every link on the way is followed, those that lead to something yet to be made included:
 * what is missing is taken to be made as it is named. Undefined when links go in circles or something cannot be looked at.
 */
export function resolveLinks(file: string): string | undefined {
  return walk(file, { isEntry: (code) => code === "EINVAL" || code === "ENOENT" || code === "ENOTDIR" })?.real;
}

/** As many links as the kernel follows. */
const LONGEST_CHAIN = 40;

/** `isEntry` decides by the error of `readlink` what counts as an ordinary entry; at any other error the walk ends. */
function walk(file: string, { isEntry }: { isEntry: (code: string | undefined) => boolean }): FollowedPath | undefined {
  const links: string[] = [];
  const steps = stepsOf(file);
  let { root: real } = path.parse(file);
  for (let step = steps.shift(); step !== undefined; step = steps.shift()) {
    const next = path.join(real, step);
    try {
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

/** A `..` stays: behind a link it leads up from where the link leads. */
function stepsOf(file: string): string[] {
  return file
    .slice(path.parse(file).root.length)
    .split(path.sep)
    .filter((step) => step !== "" && step !== ".");
}
