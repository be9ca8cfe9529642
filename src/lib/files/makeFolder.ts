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
  try {
    mkdirSync(folder, PRIVATE);
  } catch (error) {
    if (isMade(folder, error)) return;
    makeFolderSync(missingParent(folder, error));
    // Another process may have made it meanwhile.
    makeFolderSync(folder);
  }
}

export async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, PRIVATE);
  } catch (error) {
    if (isMade(folder, error)) return;
    await makeFolder(missingParent(folder, error));
    await makeFolder(folder);
  }
}

function isMade(folder: string, error: unknown): boolean {
  return errorCode(error) === "EEXIST" && (statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false);
}

/** Throws the error if something else than a missing parent caused it. */
function missingParent(folder: string, error: unknown): string {
  const parent = path.dirname(folder);
  if (errorCode(error) === "ENOENT" && lstatSync(parent, { throwIfNoEntry: false }) === undefined) return parent;
  throw error;
}
