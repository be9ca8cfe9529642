import { accessSync, constants, lstatSync } from "node:fs";
import path from "node:path";
import { errorCode } from "../../lib/errors.js";
import { pathBytes } from "../../lib/files/rawNames.js";

/** What a path without read or search permission hides is not gone: "unseen". */
type Sight = "real" | "gone" | "unseen";

/** Whether something exists under a path. A link does not count. */
export function sightOf(file: string): Sight {
  try {
    const stat = lstatSync(pathBytes(file), { throwIfNoEntry: false });
    return stat === undefined || stat.isSymbolicLink() ? "gone" : "real";
  } catch (error) {
    return GONE.has(errorCode(error) ?? "") ? "gone" : "unseen";
  }
}

const GONE: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG"]);

/** Why a folder with too many closed folders, or one that is closed itself, is not opened to commands. */
export function closedTo(folder: string): string {
  return (
    `${folder} cannot be opened to commands. This folder, or too many folders in it, cannot be listed (or, with the engine codex, have names ` +
    "that are not UTF-8), so that the files in it which other programs run (.vscode, hooks, .envrc) cannot be protected. Make the folders " +
    "accessible again (chmod u+rwx), rename or remove them."
  );
}

/** The innermost folder on the way to an unseen file that can itself be examined: its permissions hide the file. */
export function closedFolderAround(file: string): string {
  const folder = path.dirname(file);
  return sightOf(folder) === "unseen" ? closedFolderAround(folder) : folder;
}

/**
 * Why a folder could not be listed. Undefined where nothing needs protection: the folder is gone, or commands cannot open it either.
 * "closed": its owner can open it again, or commands may change what is in it without listing it.
 */
export function refusalOf(error: unknown, folder: string): "closed" | "failed" | undefined {
  const code = errorCode(error) ?? "";
  if (GONE.has(code)) return undefined;
  if (code !== "EACCES") return "failed";
  return isOwn(folder) || mayEnter(folder) ? "closed" : undefined;
}

/** Only its owner can change the permissions of a folder. */
function isOwn(folder: string): boolean {
  try {
    return lstatSync(pathBytes(folder)).uid === process.getuid?.();
  } catch {
    return false;
  }
}

function mayEnter(folder: string): boolean {
  try {
    accessSync(pathBytes(folder), constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** More than realistic use creates; the oldest are evicted, and protected from then on. */
const MOST_REMEMBERED = 1_000;

/** Files that turns of this server left behind: they stay usable to its turns, as long as they are the same. */
class LeftFiles {
  readonly #identities = new Map<string, string>();
  readonly #identify: (file: string) => string | undefined;

  constructor(identify: (file: string) => string | undefined) {
    this.#identify = identify;
  }

  add(file: string): void {
    const identity = this.#identify(file);
    if (identity === undefined) return;
    this.#identities.delete(file);
    this.#identities.set(file, identity);
    for (const oldest of this.#identities.keys()) if (this.#identities.size > MOST_REMEMBERED) this.#identities.delete(oldest);
  }

  has(file: string): boolean {
    const identity = this.#identities.get(file);
    return identity !== undefined && this.#identify(file) === identity;
  }
}

/** Guarded names that turns created themselves. */
export class NamesMadeHere extends LeftFiles {
  constructor() {
    super(identityOf);
  }
}

/**
 * Folders that turns closed themselves, and that hide nothing guarded. Without the permission to enter such a folder nobody can have changed
 * anything in it since, and a change of its permissions changes its time.
 */
export class FoldersClosedHere extends LeftFiles {
  constructor() {
    super((folder) => (mayEnter(folder) ? undefined : identityOf(folder, "ctimeNs")));
  }
}

/** The number of a removed file soon belongs to another one. */
function identityOf(file: string, time: "birthtimeNs" | "ctimeNs" = "birthtimeNs"): string | undefined {
  try {
    const stat = lstatSync(pathBytes(file), { throwIfNoEntry: false, bigint: true });
    return stat && `${stat.dev} ${stat.ino} ${stat[time]}`;
  } catch {
    // A folder on the path is closed.
    return undefined;
  }
}
