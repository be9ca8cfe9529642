import { createHash, randomBytes } from "node:crypto";
import { closeSync, constants, fstatSync, lstatSync, mkdirSync, openSync, readlinkSync, rmdirSync, type Stats } from "node:fs";
import path from "node:path";
import { errorCode } from "../../lib/errors.js";
import { isFields } from "../../lib/fields.js";
import { smallFileIfAny } from "../../lib/files/smallFile.js";
import { isThere, namesIn, O_PATH } from "../../platform/paths.js";
import { type ClaimFile, claimName, isAbandoned, keepFresh, makeClaim, parseClaim, withdrawClaim } from "../../platform/processes.js";

/** A name in a folder that is held open, so that nobody can put another folder in its place meanwhile. */
export interface NamedPlace {
  /** A descriptor. */
  readonly folder: number;
  readonly name: string;
}

export function entryPath({ folder, name }: NamedPlace): string {
  return `/proc/self/fd/${folder}/${name}`;
}

/** Tells one entry from another that got its name; inodes alone are given out again at once. Undefined when nothing is there, or nobody can tell. */
export function identityOf(place: NamedPlace): string | undefined {
  return identityAt(entryPath(place));
}

/** A command may have taken the rights on its folder away. */
function identityAt(file: string): string | undefined {
  try {
    const stat = lstatSync(file, { throwIfNoEntry: false });
    return stat && `${stat.ino}-${stat.birthtimeMs}`;
  } catch {
    return undefined;
  }
}

/** What a claim says of its placeholder: enough for another process to know it again, in another container too. */
interface PlaceholderNote {
  readonly path: string;
  /** The inode of the folder around it. */
  readonly parent: number;
  /** When it was claimed, in milliseconds; it was made right after. */
  readonly since: number;
}

interface HeldPlace {
  /** With a descriptor of our own. */
  readonly place: NamedPlace;
  readonly note: PlaceholderNote;
  identity: string;
  users: number;
  leaving: NodeJS.Timeout | undefined;
  readonly withdraw: () => void;
}

/** Two servers that make and remove the same placeholder at once meet again a few times at most. */
const ATTEMPTS = 20;

/**
 * Something must be there to be mounted over, or a command could create what it must not write. A placeholder is an empty folder, which git
 * does not see. Who uses it is kept in claims outside the workspace: removing a folder ends the mounts that other servers' commands have
 * on it, and a folder that a killed server left must be known as ours before it is removed.
 */
export class Placeholders {
  readonly #claims: string | undefined;
  readonly #ownClaims = new Set<string>();
  readonly #held = new Map<string, HeldPlace>();

  /** Without a folder for claims, other servers take our placeholders for the user's, and a killed process leaves them for good. */
  constructor(claims?: string) {
    this.#claims = claims;
  }

  /**
   * Makes sure that something is there. Undefined when what is there belongs to the user, or when nobody can make it. Where nobody looks, a
   * placeholder may stay a while for the next command: making and removing it costs more than the mount.
   */
  hold(place: NamedPlace, { lingerMs = 0 }: { lingerMs?: number } = {}): HeldPlaceholder | undefined {
    const { dev, ino } = fstatSync(place.folder);
    const key = `${dev}:${ino}/${place.name}`;
    const held = this.#held.get(key) ?? this.#begin(key, place, ino);
    if (!held) return undefined;
    clearTimeout(held.leaving);
    // Somebody may have removed it, thinking it a stray.
    if (!isThere(entryPath(place))) held.identity = madeFolder(entryPath(place)) ?? held.identity;
    held.users++;
    const { identity } = held;
    return {
      identity,
      isIntact: () => identityOf(held.place) === identity,
      giveUp: () => {
        held.users--;
        if (held.users > 0) return;
        if (lingerMs === 0) this.#end(key);
        else held.leaving = setTimeout(() => this.#end(key), lingerMs).unref();
      },
    };
  }

  /** Removes what only waits for the next command. */
  endUnused(): void {
    for (const [key, { users }] of this.#held) if (users === 0) this.#end(key);
  }

  /** Removes all that is held. What uses it must have been ended before. */
  close(): void {
    for (const key of this.#held.keys()) this.#end(key);
  }

  #begin(key: string, { folder, name }: NamedPlace, parent: number): HeldPlace | undefined {
    const there = lstatSync(entryPath({ folder, name }), { throwIfNoEntry: false });
    if (there && !mayBePlaceholder(there)) return undefined;
    const own = openSync(`/proc/self/fd/${folder}`, O_PATH);
    const entered = this.#enter({ folder: own, name }, parent);
    if (entered) this.#held.set(key, entered);
    else closeSync(own);
    return entered;
  }

  #enter(place: NamedPlace, parent: number): HeldPlace | undefined {
    const file = entryPath(place);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const there = lstatSync(file, { throwIfNoEntry: false });
      const known = there && this.#othersAt(parent, place.name).find(({ note }) => isUnchanged(there, note));
      if (there && (!known || namesIn(file).length > 0)) return undefined;
      const note = known?.note ?? { path: realPathOf(place), parent, since: Date.now() };
      const withdraw = this.#claim(note);
      try {
        const identity = there ? identityOf(place) : madeFolder(file);
        // Another server may have made or removed it in between.
        if (identity !== undefined && identityOf(place) === identity)
          return { place, note, identity, users: 0, leaving: undefined, withdraw };
      } catch (error) {
        withdraw();
        if (CANNOT_BE_MADE.has(errorCode(error) ?? "")) return undefined;
        throw error;
      }
      withdraw();
    }
    return undefined;
  }

  #end(key: string): void {
    const held = this.#held.get(key);
    if (!held) return;
    this.#held.delete(key);
    clearTimeout(held.leaving);
    const { place, note, identity, withdraw } = held;
    const isShared = this.#othersAt(note.parent, place.name).some((other) => !isAbandoned(other, this.#claims ?? ""));
    if (!isShared && identityOf(place) === identity) removeIfEmpty(entryPath(place));
    withdraw();
    closeSync(place.folder);
  }

  /** Where no claim can be put down, the placeholder is made all the same: protection comes first. */
  #claim(note: PlaceholderNote): () => void {
    if (this.#claims === undefined) return () => {};
    const name = claimName(subjectOf(note.parent, path.basename(note.path)), randomBytes(4).toString("hex"));
    const file = path.join(this.#claims, name);
    this.#ownClaims.add(name);
    try {
      makeClaim(file, JSON.stringify(note));
    } catch {
      // CODEX_HOME cannot be written.
    }
    const stopRefreshing = keepFresh(file);
    return () => {
      stopRefreshing();
      withdrawClaim(file);
      this.#ownClaims.delete(name);
    };
  }

  /** Other servers' claims of a place, those of the dead included: what they left can be taken over. */
  #othersAt(parent: number, name: string): readonly NotedClaim[] {
    return this.#claims === undefined ? [] : claimsIn(this.#claims, { subject: subjectOf(parent, name), besides: this.#ownClaims });
  }
}

export interface HeldPlaceholder {
  readonly identity: string;
  /** False: somebody removed it meanwhile, and what was mounted over it is gone with it. */
  isIntact(): boolean;
  giveUp(): void;
}

/** A folder that is not there may be on a disk that another container has; its claim is kept for that one, though not for ever. */
const KEPT_FOR_ABSENT_FOLDERS_MS = 30 * 24 * 3_600_000;

/** Removes what servers have left that are over, in whichever container they ran. What is not certainly theirs, or not empty, stays. */
export function sweepPlaceholders(claims: string): void {
  const all = namesIn(claims).flatMap((name) => parseClaim(name) ?? []);
  for (const claim of all.filter((each) => isAbandoned(each, claims))) {
    const file = path.join(claims, claim.name);
    const note = noteIn(file);
    const isUsed = () => all.some((other) => other.subject === claim.subject && other !== claim && !isAbandoned(other, claims));
    // A server that was killed before it had written its note had made nothing yet.
    if (!note || isUsed() || clearAway(note) || hasLapsed(file)) withdrawClaim(file);
  }
}

function hasLapsed(claim: string): boolean {
  const madeMs = lstatSync(claim, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
  return Date.now() - madeMs > KEPT_FOR_ABSENT_FOLDERS_MS;
}

/** False when the folder around it is not here. */
function clearAway({ path: file, parent, since }: PlaceholderNote): boolean {
  let folder: number;
  try {
    folder = openSync(path.dirname(file), O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch {
    return false;
  }
  try {
    if (fstatSync(folder).ino !== parent) return false;
    const place = entryPath({ folder, name: path.basename(file) });
    const there = lstatSync(place, { throwIfNoEntry: false });
    if (there && isUnchanged(there, { since })) removeIfEmpty(place);
    return true;
  } finally {
    closeSync(folder);
  }
}

interface NotedClaim extends ClaimFile {
  readonly note: PlaceholderNote;
}

function claimsIn(folder: string, { subject, besides }: { subject: string; besides: ReadonlySet<string> }): NotedClaim[] {
  const names = namesIn(folder).filter((name) => name.startsWith(`${subject}.`) && !besides.has(name));
  return names.flatMap((name) => {
    const claim = parseClaim(name);
    const note = claim && noteIn(path.join(folder, name));
    return note ? [{ ...claim, note }] : [];
  });
}

function noteIn(file: string): PlaceholderNote | undefined {
  try {
    const value: unknown = JSON.parse(smallFileIfAny(file, { maxBytes: 65_536 }) ?? "");
    if (!isFields(value)) return undefined;
    const { path: place, parent, since } = value;
    if (typeof place !== "string" || typeof parent !== "number" || typeof since !== "number") return undefined;
    return { path: place, parent, since };
  } catch {
    return undefined;
  }
}

/** Device numbers differ from container to container; inodes do not. */
function subjectOf(parent: number, name: string): string {
  return createHash("sha256").update(`${parent}/${name}`).digest("hex").slice(0, 16);
}

/** The kernel's clock for files lags behind by some milliseconds; making a folder takes far less than two seconds. */
const CLOCK_LAG_MS = 50;
const MADE_WITHIN_MS = 2_000;

/** Made right after it was claimed, and never touched since: any change to a folder or in it gives it a later time. */
function isUnchanged(there: Stats, { since }: Pick<PlaceholderNote, "since">): boolean {
  return there.isDirectory() && there.ctimeMs >= since - CLOCK_LAG_MS && there.ctimeMs <= since + MADE_WITHIN_MS;
}

/** Cheap to tell of most repositories: a folder with folders in it has more links. */
function mayBePlaceholder(there: Stats): boolean {
  return there.isDirectory() && there.nlink <= 2;
}

/** Then a command, which has no more rights than we have, cannot make it either. */
const CANNOT_BE_MADE = new Set(["EACCES", "EPERM", "EROFS"]);

/** The identity of a new folder; undefined when something is there. */
function madeFolder(file: string): string | undefined {
  try {
    mkdirSync(file);
    return identityAt(file);
  } catch (error) {
    if (errorCode(error) === "EEXIST") return undefined;
    throw error;
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // The user made something of it, or removed it.
  }
}

function realPathOf({ folder, name }: NamedPlace): string {
  return path.join(readlinkSync(`/proc/self/fd/${folder}`), name);
}
