import { closeSync, mkdirSync, openSync, statSync, unlinkSync, utimesSync, writeSync } from "node:fs";
import path from "node:path";
import { errorCode } from "../lib/errors.js";
import { isRunning, ownRun, type ProcessRun, parseRun, runName } from "./processes.js";

/**
 * A small file that says which process uses something, by its name: `subject.place.pid-startTime.suffix`. A claim ends when its owner removes it, when its
 * process is gone, or, where nobody here can ask for that process (another machine, another container), when it was not refreshed for long.
 */
export interface ClaimFile extends ProcessRun {
  readonly name: string;
  readonly subject: string;
}

/** Neither part may contain a dot. */
export function claimName(subject: string, suffix: string): string {
  return `${subject}.${runName(ownRun())}.${suffix}`;
}

export function parseClaim(name: string): ClaimFile | undefined {
  const [, subject, owner] = /^([^.]+)\.([^.]+\.[^.]+)\.[^.]+$/.exec(name) ?? [];
  const run = owner === undefined ? undefined : parseRun(owner);
  return subject === undefined || run === undefined ? undefined : { name, subject, ...run };
}

/** False when it is there already. */
export function makeClaim(file: string, text = ""): boolean {
  const make = () => {
    const fd = openSync(file, "wx", 0o600);
    try {
      if (text !== "") writeSync(fd, text);
    } finally {
      closeSync(fd);
    }
  };
  try {
    make();
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    if (errorCode(error) !== "ENOENT") throw error;
  }
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  make();
  return true;
}

export function withdrawClaim(file: string): void {
  try {
    unlinkSync(file);
  } catch {
    // Gone already, or in a folder that became unwritable: then it ends with the process it names.
  }
}

/** A holder refreshes its claim far more often than this (see `keepFresh`). */
const LAPSES_AFTER_MS = 120_000;

/** Its process is gone; where we cannot ask for the process, the file has not been refreshed for long. */
export function isAbandoned(claim: ProcessRun & { readonly name: string }, folder: string, lapsesAfterMs = LAPSES_AFTER_MS): boolean {
  if (claim.place === ownRun().place) return !isRunning(claim);
  const file = statSync(path.join(folder, claim.name), { throwIfNoEntry: false });
  return file === undefined || Date.now() - file.mtimeMs > lapsesAfterMs;
}

const REFRESH_EVERY_MS = 30_000;

const held = new Set<string>();
let timer: NodeJS.Timeout | undefined;

/** Keeps the file's time recent until the returned function is called. One timer serves all files of this process. */
export function keepFresh(file: string): () => void {
  held.add(file);
  timer ??= setInterval(refreshAll, REFRESH_EVERY_MS).unref();
  return () => {
    held.delete(file);
    if (held.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function refreshAll(): void {
  const now = new Date();
  for (const file of held) {
    try {
      utimesSync(file, now, now);
    } catch {
      // Whoever removed the file, or made its folder unwritable, will not be kept out by us any more.
    }
  }
}
