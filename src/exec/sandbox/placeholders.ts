import { randomBytes } from "node:crypto";
import { closeSync, fstatSync, mkdirSync, openSync, readdirSync, rmdirSync, rmSync, unlinkSync } from "node:fs";
import path from "node:path";
import { errorCode } from "../../lib/errors.js";
import { isThere, O_PATH } from "../../platform/paths.js";
import { isRunning, ownRun, parseRun, runName } from "../../platform/processes.js";

/** A file in a placeholder that says which server still needs it. */
const CLAIM = /^\.in-use-by-([^.]+\.[^.]+)\.[0-9a-f]+$/;
/** Two servers that make and remove the same placeholder at once meet again a few times at most. */
const ATTEMPTS = 20;

/** A name in a folder that is held open, so that nobody can put another folder in its place meanwhile. */
export interface NamedPlace {
  /** A descriptor. */
  readonly folder: number;
  readonly name: string;
}

interface HeldPlace {
  /** With a descriptor of our own. */
  readonly place: NamedPlace;
  users: number;
  leaving: NodeJS.Timeout | undefined;
}

export function pathOf({ folder, name }: NamedPlace): string {
  return `/proc/self/fd/${folder}/${name}`;
}

/**
 * Something must be there to be mounted over, or a command could create what it must not write. A placeholder is a folder
 * that holds nothing but claims, one file per server that needs it, so that the last `rmdir` is decided by the file system
 * and not by what servers believe of each other: removing a folder ends the mounts that other servers' commands have on it.
 */
export class Placeholders {
  readonly #held = new Map<string, HeldPlace>();
  readonly #claim = `.in-use-by-${runName(ownRun())}.${randomBytes(4).toString("hex")}`;

  /**
   * Makes sure that something is there. Returns what gives it up again, or undefined when it belongs to the user. Where
   * nobody looks, it may stay a while for the next command: making and removing it costs more than the mount.
   */
  hold(place: NamedPlace, { lingerMs = 0 }: { lingerMs?: number } = {}): (() => void) | undefined {
    const { dev, ino } = fstatSync(place.folder);
    const key = `${dev}:${ino}/${place.name}`;
    const held = this.#held.get(key) ?? this.#begin(key, place);
    if (!held) return undefined;
    clearTimeout(held.leaving);
    // Somebody may have removed it, thinking it a stray.
    if (!isThere(pathOf(place))) this.#enter(pathOf(place));
    held.users++;
    return () => {
      held.users--;
      if (held.users > 0) return;
      if (lingerMs === 0) this.#end(key);
      else held.leaving = setTimeout(() => this.#end(key), lingerMs).unref();
    };
  }

  /** Removes at once what only lingers. */
  close(): void {
    for (const [key, { users }] of this.#held) if (users === 0) this.#end(key);
  }

  #begin(key: string, { folder, name }: NamedPlace): HeldPlace | undefined {
    if (!this.#enter(pathOf({ folder, name }))) return undefined;
    const held = { place: { folder: openSync(`/proc/self/fd/${folder}`, O_PATH), name }, users: 0, leaving: undefined };
    this.#held.set(key, held);
    return held;
  }

  #end(key: string): void {
    const held = this.#held.get(key);
    if (!held) return;
    this.#held.delete(key);
    clearTimeout(held.leaving);
    this.#leave(pathOf(held.place));
    closeSync(held.place.folder);
  }

  #enter(placeholder: string): boolean {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        mkdirSync(placeholder);
      } catch (error) {
        if (CANNOT_BE_MADE.has(errorCode(error) ?? "")) return false;
        if (errorCode(error) !== "EEXIST") throw error;
        if (!isPlaceholder(placeholder)) return false;
      }
      if (this.#putClaim(placeholder)) return true;
    }
    return false;
  }

  /** False when another server removed the folder in between, or when it is somebody else's. */
  #putClaim(placeholder: string): boolean {
    const failure = errorCodeOf(() => closeSync(openSync(`${placeholder}/${this.#claim}`, "wx")));
    return failure === undefined;
  }

  #leave(placeholder: string): void {
    errorCodeOf(() => unlinkSync(`${placeholder}/${this.#claim}`));
    if (errorCodeOf(() => rmdirSync(placeholder)) === undefined) return;
    // Another server still needs it, or the user made something of it; or a server was killed before it could leave.
    removeClaimsOfTheDead(placeholder);
    errorCodeOf(() => rmdirSync(placeholder));
  }
}

/** Then a command, which has no more rights than we have, cannot make it either. */
const CANNOT_BE_MADE = new Set(["EACCES", "EPERM", "EROFS"]);

/** What the system says against it, if anything. */
function errorCodeOf(work: () => void): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return errorCode(error) ?? "unknown";
  }
}

function isPlaceholder(folder: string): boolean {
  const entries = entriesOf(folder);
  return entries.length > 0 && entries.every((name) => CLAIM.test(name));
}

function removeClaimsOfTheDead(folder: string): void {
  for (const name of entriesOf(folder)) {
    const owner = parseRun(CLAIM.exec(name)?.[1] ?? "");
    if (owner && owner.place === ownRun().place && !isRunning(owner)) rmSync(path.join(folder, name), { force: true });
  }
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
