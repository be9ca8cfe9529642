import { constants } from "node:fs";
import { open, rename, rm, stat } from "node:fs/promises";
import { absentOrThrow, assertAsPlanned, assertUntouched, orFail } from "./attempt.js";
import { claimPlace, type Place } from "./place.js";
import type { PlannedFile } from "./plannedFiles.js";
import { type FileOnDisk, readPlace } from "./readFile.js";
import { SetAside } from "./setAside.js";
import type { Step, StepTools } from "./step.js";

/** The permissions only: like a write by anyone but root, a patch must not carry set-user-id bits over to new content. */
const PERMISSIONS = 0o777;

/** The new content lies beside its place, complete and with the right mode. A link at the path is followed, never replaced. */
export async function prepareWrite(file: PlannedFile & { readonly after: string }, tools: StepTools): Promise<Step> {
  const { path, shownAs, before, after } = file;
  const attempt = `Failed to write file ${shownAs}`;
  const place = await claimPlace({ path, shownAs, attempt, followLink: true, createFolders: true }, tools);
  return await orFail(attempt, async () => {
    const onDisk = await readPlace(place.path).catch(absentOrThrow);
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

/** Whose permissions and owner the file gets; nobody's if it is new. */
async function statsToKeep({ movedFrom }: PlannedFile, onDisk: FileOnDisk | undefined): Promise<FileOnDisk["stats"] | undefined> {
  return movedFrom === undefined ? onDisk?.stats : await stat(movedFrom, { bigint: true }).catch(absentOrThrow);
}

async function writeFresh(fresh: Place, { text, like }: { text: string; like: FileOnDisk["stats"] | undefined }): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  await using file = await open(fresh.path, flags, like === undefined ? 0o666 : 0o600);
  await file.writeFile(text);
  if (like === undefined) return;
  // Only root can give a file to somebody else; for others the patched file becomes their own, as with every editor.
  await file.chown(Number(like.uid), Number(like.gid)).catch(() => undefined);
  await file.chmod(Number(like.mode) & PERMISSIONS);
}

class WriteStep implements Step {
  readonly #place: Place;
  readonly #fresh: Place;
  readonly #replaced: FileOnDisk | undefined;
  readonly #attempt: string;
  #aside: SetAside | undefined;
  #isInPlace = false;

  constructor(prepared: { place: Place; fresh: Place; replaced: FileOnDisk | undefined; attempt: string }) {
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
