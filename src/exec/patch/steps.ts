import { constants } from "node:fs";
import { link, lstat, open, realpath, rename, rm, stat } from "node:fs/promises";
import { errorCode } from "../../lib/errors.js";
import { orFail, PatchFailed } from "./errors.js";
import { type HeldEntry, holdTarget, isOpenTo, type StepTools } from "./places.js";
import { type FileOnDisk, type PlannedFile, readFileAt, readHeldEntry } from "./plannedFiles.js";

/** The change to one file, prepared invisibly. First all steps are committed, then all are finished or all undone. */
export interface Step {
  readonly realPath: string;
  commit(): Promise<void>;
  undo(): Promise<void>;
  /** Removes what was kept for `undo`. */
  finish(): Promise<void>;
}

/** Only the permission bits: like a write by any user but root, a patch must not carry set-user-id bits over to new content. */
const PERMISSIONS = 0o777;

/**
 * Writes the new content to a temporary file beside the target, complete and with the right mode. A link at the path is followed, never
 * replaced.
 */
export async function prepareWrite(file: PlannedFile & { readonly after: string }, tools: StepTools): Promise<Step> {
  const { path, shownAs, before, after } = file;
  const attempt = `Failed to write file ${shownAs}`;
  const place = await holdTarget({ path, shownAs, attempt, followLink: true, createFolders: true }, tools);
  return await orFail(attempt, async () => {
    const onDisk = await readHeldEntry(place.path).catch(absentOrThrow);
    assertAsPlanned(attempt, onDisk?.bytes, before);
    const fresh = place.sibling();
    try {
      await writeFresh(fresh, { text: after, like: await statsToKeep(file, onDisk) });
    } catch (error) {
      await rm(fresh.path, { force: true });
      throw error;
    }
    return new WriteStep({ place, fresh, replaced: onDisk, attempt });
  });
}

/** The file whose permissions and owner the result gets; undefined for a new file. */
async function statsToKeep({ movedFrom }: PlannedFile, onDisk: FileOnDisk | undefined): Promise<FileOnDisk["stats"] | undefined> {
  return movedFrom === undefined ? onDisk?.stats : await stat(movedFrom, { bigint: true }).catch(absentOrThrow);
}

async function writeFresh(fresh: HeldEntry, { text, like }: { text: string; like: FileOnDisk["stats"] | undefined }): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  await using file = await open(fresh.path, flags, like === undefined ? 0o666 : 0o600);
  await file.writeFile(text);
  if (like === undefined) return;
  // Only root can change a file's owner; for others the patched file becomes their own, as with every editor.
  await file.chown(Number(like.uid), Number(like.gid)).catch(() => undefined);
  await file.chmod(Number(like.mode) & PERMISSIONS);
}

class WriteStep implements Step {
  readonly #place: HeldEntry;
  readonly #fresh: HeldEntry;
  readonly #replaced: FileOnDisk | undefined;
  readonly #attempt: string;
  #aside: SetAside | undefined;
  #isInPlace = false;

  constructor(prepared: { place: HeldEntry; fresh: HeldEntry; replaced: FileOnDisk | undefined; attempt: string }) {
    this.#place = prepared.place;
    this.#fresh = prepared.fresh;
    this.#replaced = prepared.replaced;
    this.#attempt = prepared.attempt;
  }

  get realPath(): string {
    return this.#place.realPath;
  }

  async commit(): Promise<void> {
    await orFail(this.#attempt, async () => {
      await assertUntouched(this.#attempt, this.#place.path, this.#replaced?.stats);
      if (this.#replaced !== undefined) this.#aside = await SetAside.keeping(this.#place);
      await rename(this.#fresh.path, this.#place.path);
      this.#isInPlace = true;
      await this.#place.folder.confirm();
    });
  }

  async undo(): Promise<void> {
    await rm(this.#fresh.path, { force: true });
    if (this.#aside !== undefined) await this.#aside.restore();
    else if (this.#isInPlace) await rm(this.#place.path, { force: true });
  }

  async finish(): Promise<void> {
    await this.#aside?.discard();
  }
}

/** Removes a link itself, never its target. */
export async function prepareRemoval(file: PlannedFile, { isMove, ...tools }: StepTools & { isMove: boolean }): Promise<Step> {
  const { path, shownAs, before } = file;
  const attempt = `${isMove ? "Failed to remove original" : "Failed to delete file"} ${shownAs}`;
  const place = await holdTarget({ path, shownAs, attempt, followLink: false, createFolders: false }, tools);
  return await orFail(attempt, async () => {
    const stats = await lstat(place.path, { bigint: true }).catch(absentOrThrow);
    const reading = stats?.isSymbolicLink() ? readBehindLink(place, attempt, tools) : readHeldEntry(place.path);
    assertAsPlanned(attempt, (await reading.catch(absentOrThrow))?.bytes, before);
    return new RemovalStep({ place, stats, attempt });
  });
}

/** The content behind a link is shown, and copied by a move, so the target must lie where the patch may write. */
async function readBehindLink(place: HeldEntry, attempt: string, tools: StepTools): Promise<FileOnDisk> {
  const target = await realpath(place.path);
  if (isOpenTo(target, tools)) return await readFileAt(target, tools.mayRead);
  const remedy = "Remove the link with a command, or name the file itself.";
  throw new PatchFailed(`${attempt}: it is a link out of the folders that may be written. ${remedy}`, { reason: "denied" });
}

class RemovalStep implements Step {
  readonly #place: HeldEntry;
  readonly #stats: FileOnDisk["stats"] | undefined;
  readonly #attempt: string;
  #aside: SetAside | undefined;

  constructor({ place, stats, attempt }: { place: HeldEntry; stats: FileOnDisk["stats"] | undefined; attempt: string }) {
    this.#place = place;
    this.#stats = stats;
    this.#attempt = attempt;
  }

  get realPath(): string {
    return this.#place.realPath;
  }

  async commit(): Promise<void> {
    await orFail(this.#attempt, async () => {
      await assertUntouched(this.#attempt, this.#place.path, this.#stats);
      this.#aside = await SetAside.removing(this.#place);
      await this.#place.folder.confirm();
    });
  }

  async undo(): Promise<void> {
    await this.#aside?.restore();
  }

  async finish(): Promise<void> {
    await this.#aside?.discard();
  }
}

/** The original file under a temporary name, so that it can be restored exactly: same content, mode, owner and times. */
class SetAside {
  readonly #original: HeldEntry;
  readonly #aside: HeldEntry;

  private constructor(original: HeldEntry, aside: HeldEntry) {
    this.#original = original;
    this.#aside = aside;
  }

  /** Where hard links are possible, the file stays visible under its name until the new one replaces it. */
  static async keeping(place: HeldEntry): Promise<SetAside> {
    const aside = place.sibling();
    await link(place.path, aside.path).catch(() => rename(place.path, aside.path));
    return new SetAside(place, aside);
  }

  static async removing(place: HeldEntry): Promise<SetAside> {
    const aside = place.sibling();
    await rename(place.path, aside.path);
    return new SetAside(place, aside);
  }

  async restore(): Promise<void> {
    await orFail(`its old content is still in ${this.#aside.realPath}`, () => rename(this.#aside.path, this.#original.path));
    // Renaming one hard link of a file onto another leaves both.
    await this.discard();
  }

  async discard(): Promise<void> {
    await rm(this.#aside.path, { force: true });
  }
}

/** Compares the content on disk with the content the plan was made from. */
function assertAsPlanned(attempt: string, actual: Buffer | undefined, planned: Buffer | undefined): void {
  const same = actual === undefined || planned === undefined ? actual === planned : actual.equals(planned);
  if (!same) throw changedMeanwhile(attempt);
}

/** A cheap second check right before the change: is it still the file that was compared? */
async function assertUntouched(attempt: string, path: string, known: FileOnDisk["stats"] | undefined): Promise<void> {
  const now = await lstat(path, { bigint: true }).catch(absentOrThrow);
  const same = now?.ino === known?.ino && now?.size === known?.size && now?.mtimeNs === known?.mtimeNs;
  if (!same) throw changedMeanwhile(attempt);
}

function absentOrThrow(error: unknown): undefined {
  if (errorCode(error) !== "ENOENT") throw error;
}

function changedMeanwhile(attempt: string): PatchFailed {
  const message = `${attempt}: it was changed after the patch had been checked. Read it again, then send a new patch.`;
  return new PatchFailed(message, { reason: "changed" });
}
