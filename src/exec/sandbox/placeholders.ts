// Long because placeholders and the lock files that record their users are one protocol.
import { hash, randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  type Stats,
  writeFileSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { errorCode } from "../../lib/errors.js";
import { isFields } from "../../lib/fields.js";
import { smallFileIfAny } from "../../lib/files/smallFile.js";
import { firstNamesIn, isThere, namesIn, O_PATH } from "../../platform/paths.js";
import { type ClaimFile, claimName, isAbandoned, keepFresh, makeClaim, parseClaim, withdrawClaim } from "../../platform/processes.js";

/** A name in a folder that is held open, so that the folder cannot be replaced meanwhile. */
export interface NamedPlace {
  /** A descriptor. */
  readonly folder: number;
  readonly name: string;
}

export function entryPath({ folder, name }: NamedPlace): string {
  return `/proc/self/fd/${folder}/${name}`;
}

/**
 * Distinguishes an entry from another one that got its name; inode numbers alone are reused at once. Undefined when the entry does not
 * exist or cannot be examined.
 */
export function identityOf(place: NamedPlace): string | undefined {
  return identityAt(entryPath(place));
}

/** A command may have removed the permissions on its folder. */
function identityAt(file: string): string | undefined {
  try {
    const stat = lstatSync(file, { throwIfNoEntry: false });
    return stat && `${stat.ino}-${stat.birthtimeMs}`;
  } catch {
    return undefined;
  }
}

/** The content of a placeholder's lock file: enough for another process to recognise the placeholder, even in another container. */
interface PlaceholderNote {
  readonly path: string;
  /** The inode of the parent folder. */
  readonly parent: number;
  /** The time of the claim, in milliseconds; the placeholder is created right after it. */
  readonly since: number;
}

/** The file of a withdrawn claim, which is kept for the next one. */
interface SpareFile {
  readonly file: string;
  /** Its size. */
  readonly bytes: number;
}

/** A place before it is held, and what is there. */
interface FoundPlace {
  /** The inode of the folder. */
  readonly parent: number;
  /** In the names of claims for it. */
  readonly subject: string;
  readonly there: Stats | undefined;
}

interface HeldPlace {
  /** With a descriptor of its own. */
  readonly place: NamedPlace;
  /** In the names of claims for it. */
  readonly subject: string;
  identity: string;
  users: number;
  leaving: NodeJS.Timeout | undefined;
  readonly withdraw: () => void;
}

/**
 * When a placeholder that no command uses any more is removed: at once; at the next `tidyUp`, which is called after the command; or, in
 * folders that users do not look at, after some milliseconds.
 */
export type Leaving = "atOnce" | "whenTidied" | { readonly afterMs: number };

/** After this time a placeholder is removed even without `tidyUp`, because a turn may hang. */
const TIDIED_WITHIN_MS = 1_000;

/** A command has a few placeholders. */
const MOST_SPARES = 16;

/** Two servers that create and remove the same placeholder at the same time collide a few times at most. */
const ATTEMPTS = 20;

/**
 * A mount needs an existing target; without one a command could create what it must not write. A placeholder is an empty folder, which git
 * does not see. Lock files outside the workspace record who uses it: removing the folder would end the mounts of other servers' commands on
 * it, and a folder that a killed server left must be recognised as ours before it is removed.
 */
export class Placeholders {
  readonly #claims: string | undefined;
  readonly #ownClaims = new Set<string>();
  readonly #suffix = randomBytes(4).toString("hex");
  #claimed = 0;
  readonly #held = new Map<string, HeldPlace>();
  readonly #untidied = new Set<string>();
  /** Files for the next claims. Creating and removing a file, or emptying one, can take twenty times as long as renaming it. */
  readonly #spares: SpareFile[] = [];
  /** The names of all claims, for the rest of the running task. */
  #known: readonly string[] | undefined;

  /** Without a folder for lock files, other servers treat our placeholders as the user's, and a killed process leaves them for good. */
  constructor(claims?: string) {
    this.#claims = claims;
  }

  /**
   * Makes sure that the entry exists. Undefined when it belongs to the user, or cannot be created. A placeholder that stays makes
   * the next command faster: creating and removing it takes longer than the mount.
   */
  hold(place: NamedPlace, leaving: Leaving = "atOnce"): HeldPlaceholder | undefined {
    const { dev, ino } = fstatSync(place.folder);
    const key = `${dev}:${ino}/${place.name}`;
    const known = this.#held.get(key);
    const held = known ?? this.#begin(key, place, ino);
    if (!held) return undefined;
    clearTimeout(held.leaving);
    // Someone may have removed it as a stray folder.
    if (known && !isThere(entryPath(place))) held.identity = madeFolder(entryPath(place)) ?? held.identity;
    held.users++;
    const { identity } = held;
    return {
      identity,
      isIntact: () => identityOf(held.place) === identity,
      giveUp: () => {
        held.users--;
        if (held.users > 0) return;
        if (leaving === "atOnce") return this.#end(key);
        if (leaving === "whenTidied") this.#untidied.add(key);
        held.leaving = setTimeout(() => this.#end(key), leaving === "whenTidied" ? TIDIED_WITHIN_MS : leaving.afterMs).unref();
      },
    };
  }

  /** Removes the placeholders that were given up with `whenTidied`. */
  tidyUp(): void {
    for (const key of this.#untidied) if (this.#held.get(key)?.users === 0) this.#end(key);
    this.#untidied.clear();
  }

  /** Removes all placeholders that no command uses. */
  endUnused(): void {
    for (const [key, { users }] of this.#held) if (users === 0) this.#end(key);
  }

  /** Removes all placeholders. The commands that use them must have ended before. */
  close(): void {
    for (const key of this.#held.keys()) this.#end(key);
    for (const { file } of this.#spares.splice(0)) withdrawClaim(file);
  }

  #begin(key: string, { folder, name }: NamedPlace, parent: number): HeldPlace | undefined {
    const there = lstatSync(entryPath({ folder, name }), { throwIfNoEntry: false });
    if (there && !mayBePlaceholder(there)) return undefined;
    // Device numbers differ between containers; inode numbers do not.
    const subject = hash("sha256", `${parent}/${name}`).slice(0, 16);
    if (there && !this.#claimNames().some((claim) => isOf(subject, claim) && !this.#ownClaims.has(claim))) return undefined;
    const own = openSync(`/proc/self/fd/${folder}`, O_PATH);
    let entered: HeldPlace | undefined;
    try {
      entered = this.#enter({ folder: own, name }, { parent, subject, there });
      if (entered) this.#held.set(key, entered);
      return entered;
    } finally {
      if (!entered) closeSync(own);
    }
  }

  #enter(place: NamedPlace, { parent, subject, there: found }: FoundPlace): HeldPlace | undefined {
    const file = entryPath(place);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const there = attempt === 0 ? found : lstatSync(file, { throwIfNoEntry: false });
      const known = there && this.#othersAt(subject).find(({ note }) => isUnchanged(there, note));
      if (there && (!known || firstNamesIn(file, 1).length > 0)) return undefined;
      const note = known?.note ?? { path: realPathOf(place), parent, since: Date.now() };
      const withdraw = this.#claim(subject, note);
      try {
        const identity = there ? identityOf(place) : madeFolder(file);
        // Another server may have created it in between, or removed the one that was found.
        if (identity !== undefined && (!there || identityOf(place) === identity))
          return { place, subject, identity, users: 0, leaving: undefined, withdraw };
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
    const { place, subject, identity, withdraw } = held;
    const isShared = this.#othersAt(subject).some((other) => !isAbandoned(other, this.#claims ?? ""));
    if (!isShared && identityOf(place) === identity) removeIfEmpty(entryPath(place));
    withdraw();
    closeSync(place.folder);
  }

  /** If no lock file can be written, the placeholder is still created: protection comes first. */
  #claim(subject: string, note: PlaceholderNote): () => void {
    if (this.#claims === undefined) return () => {};
    const name = claimName(subject, `${this.#suffix}-${this.#claimed++}`);
    const file = path.join(this.#claims, name);
    this.#ownClaims.add(name);
    try {
      const text = JSON.stringify(note);
      const bytes = this.#renamedSpare(file);
      if (bytes === undefined) makeClaim(file, text);
      else writeFileSync(file, text.padEnd(bytes), { flag: "r+" });
    } catch {
      // CODEX_HOME is not writable.
    }
    const stopRefreshing = keepFresh(file);
    return () => {
      stopRefreshing();
      this.#setAside(file);
      this.#ownClaims.delete(name);
    };
  }

  /** Renames a spare file to the claim; returns its size. */
  #renamedSpare(claim: string): number | undefined {
    const spare = this.#spares.pop();
    if (spare === undefined) return undefined;
    try {
      renameSync(spare.file, claim);
      return spare.bytes;
    } catch {
      // Another server has removed it.
      return undefined;
    }
  }

  /** Withdraws the claim and keeps its file for the next one. */
  #setAside(claim: string): void {
    if (this.#spares.length >= MOST_SPARES) return withdrawClaim(claim);
    const spare = path.join(path.dirname(claim), claimName("spare", `${this.#suffix}-${this.#claimed++}`));
    try {
      // First the note becomes unreadable, then the file gets its new name: a server that finds a readable note may remove the placeholder.
      const bytes = spoilNote(claim);
      renameSync(claim, spare);
      this.#spares.push({ file: spare, bytes });
    } catch {
      withdrawClaim(claim);
    }
  }

  /**
   * Read once for all places of a command. A claim made meanwhile is missed; its placeholder then counts as the user's folder, and is watched.
   */
  #claimNames(): readonly string[] {
    if (this.#claims === undefined) return [];
    if (this.#known === undefined) queueMicrotask(() => (this.#known = undefined));
    this.#known ??= namesIn(this.#claims);
    return this.#known;
  }

  /** Other servers' claims of a place, including those of dead servers: their placeholders can be taken over. */
  #othersAt(subject: string): readonly NotedClaim[] {
    return this.#claims === undefined ? [] : claimsIn(this.#claims, { subject, besides: this.#ownClaims });
  }
}

export interface HeldPlaceholder {
  readonly identity: string;
  /** False: someone removed it meanwhile, and the mount over it is gone too. */
  isIntact(): boolean;
  giveUp(): void;
}

/** A missing folder may be on a disk of another container; its lock file is kept for that container for a limited time. */
const KEPT_FOR_ABSENT_FOLDERS_MS = 30 * 24 * 3_600_000;

/**
 * Removes placeholders that dead servers left, in whichever container they ran. Anything that is not certainly theirs, or not empty, stays.
 */
export function sweepPlaceholders(claims: string): void {
  const all = namesIn(claims).flatMap((name) => parseClaim(name) ?? []);
  for (const claim of all.filter((each) => isAbandoned(each, claims))) {
    const file = path.join(claims, claim.name);
    const note = noteIn(file);
    const isUsed = () => all.some((other) => other.subject === claim.subject && other !== claim && !isAbandoned(other, claims));
    // A server that was killed before it had written its note had not created anything yet.
    if (!note || isUsed() || clearAway(note) || hasLapsed(file)) withdrawClaim(file);
  }
}

function hasLapsed(claim: string): boolean {
  const madeMs = lstatSync(claim, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
  return Date.now() - madeMs > KEPT_FOR_ABSENT_FOLDERS_MS;
}

/** False when the parent folder is not available here. */
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
  const names = namesIn(folder).filter((name) => isOf(subject, name) && !besides.has(name));
  return names.flatMap((name) => {
    const claim = parseClaim(name);
    const note = claim && noteIn(path.join(folder, name));
    return note ? [{ ...claim, note }] : [];
  });
}

function isOf(subject: string, claim: string): boolean {
  return claim.startsWith(`${subject}.`);
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

/** Makes the note unreadable; returns the size of its file. */
function spoilNote(file: string): number {
  const opened = openSync(file, "r+");
  try {
    writeSync(opened, "-", 0);
    return fstatSync(opened).size;
  } finally {
    closeSync(opened);
  }
}

/** The kernel's file timestamps lag by some milliseconds; creating a folder takes far less than two seconds. */
const CLOCK_LAG_MS = 50;
const MADE_WITHIN_MS = 2_000;

/** Created right after the claim and unchanged since: any change to a folder or in it updates its time. */
function isUnchanged(there: Stats, { since }: Pick<PlaceholderNote, "since">): boolean {
  return there.isDirectory() && there.ctimeMs >= since - CLOCK_LAG_MS && there.ctimeMs <= since + MADE_WITHIN_MS;
}

/** A cheap test that excludes most repositories: a folder with subfolders has more links. */
function mayBePlaceholder(there: Stats): boolean {
  return there.isDirectory() && there.nlink <= 2;
}

/** With these errors a command, which has no more rights than we have, cannot create it either. */
const CANNOT_BE_MADE = new Set(["EACCES", "EPERM", "EROFS"]);

/** The identity of the new folder; undefined when something already exists. */
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
    // The user put something into it, or removed it.
  }
}

function realPathOf({ folder, name }: NamedPlace): string {
  return path.join(readlinkSync(`/proc/self/fd/${folder}`), name);
}
