import { lstatSync, mkdirSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { errorCode } from "../errors.js";

/** Only the user may read what the server keeps. */
const PRIVATE = { mode: 0o700 };

/**
 * Makes a folder and those around it, private to the user. Node's own way (`recursive`) never returns where the kernel says that a folder
 * which exists does not, as in `/proc`.
 */
export function makeFolderSync(folder: string): void {
  makeWithParentsSync(folder, { isRepeated: false });
}

export function makeFolder(folder: string): Promise<void> {
  return makeWithParents(folder, { isRepeated: false });
}

function makeWithParentsSync(folder: string, { isRepeated }: { readonly isRepeated: boolean }): void {
  try {
    mkdirSync(folder, PRIVATE);
  } catch (error) {
    if (isMade(folder, error)) return;
    const parent = missingParent(folder, error, { isRepeated });
    if (parent !== undefined) makeWithParentsSync(parent, { isRepeated: false });
    makeWithParentsSync(folder, { isRepeated: true });
  }
}

async function makeWithParents(folder: string, { isRepeated }: { readonly isRepeated: boolean }): Promise<void> {
  try {
    await mkdir(folder, PRIVATE);
  } catch (error) {
    if (isMade(folder, error)) return;
    const parent = missingParent(folder, error, { isRepeated });
    if (parent !== undefined) await makeWithParents(parent, { isRepeated: false });
    await makeWithParents(folder, { isRepeated: true });
  }
}

function isMade(folder: string, error: unknown): boolean {
  return errorCode(error) === "EEXIST" && (statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false);
}

/**
 * Undefined if the parent is there now: somebody may have made it after the attempt. Throws the error of a second attempt, and that of any
 * other cause.
 */
function missingParent(folder: string, error: unknown, { isRepeated }: { readonly isRepeated: boolean }): string | undefined {
  if (errorCode(error) !== "ENOENT") throw error;
  const parent = path.dirname(folder);
  if (lstatSync(parent, { throwIfNoEntry: false }) === undefined) return parent;
  if (isRepeated) throw error;
  return undefined;
}
