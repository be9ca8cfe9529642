import { lstat, realpath } from "node:fs/promises";
import { absentOrThrow, assertAsPlanned, assertUntouched, orFail } from "./attempt.js";
import { PatchFailed } from "./errors.js";
import { claimPlace, isOpenTo, type Place } from "./place.js";
import type { PlannedFile } from "./plannedFiles.js";
import { type FileOnDisk, readFileAt, readPlace } from "./readFile.js";
import { SetAside } from "./setAside.js";
import type { Step, StepTools } from "./step.js";

/** Of a link only the link is removed, never what it points to. */
export async function prepareRemoval(file: PlannedFile, { isMove, ...tools }: StepTools & { isMove: boolean }): Promise<Step> {
  const { path, shownAs, before } = file;
  const attempt = `${isMove ? "Failed to remove original" : "Failed to delete file"} ${shownAs}`;
  const place = await claimPlace({ path, shownAs, attempt, followLink: false, createFolders: false }, tools);
  return await orFail(attempt, async () => {
    const stats = await lstat(place.path, { bigint: true }).catch(absentOrThrow);
    const reading = stats?.isSymbolicLink() ? readBehindLink(place, attempt, tools) : readPlace(place.path);
    assertAsPlanned(attempt, (await reading.catch(absentOrThrow))?.bytes, before);
    return new RemovalStep({ place, stats, attempt });
  });
}

/** What a link leads to is shown, and copied by a move: it must lie where the patch could change it. */
async function readBehindLink(place: Place, attempt: string, tools: StepTools): Promise<FileOnDisk> {
  const target = await realpath(place.path);
  if (isOpenTo(target, tools)) return await readFileAt(target, tools.mayRead);
  const remedy = "Remove the link with a command, or name the file itself.";
  throw new PatchFailed(`${attempt}: it is a link out of the folders that may be written. ${remedy}`, { reason: "denied" });
}

class RemovalStep implements Step {
  readonly #place: Place;
  readonly #stats: FileOnDisk["stats"] | undefined;
  readonly #attempt: string;
  #aside: SetAside | undefined;

  constructor({ place, stats, attempt }: { place: Place; stats: FileOnDisk["stats"] | undefined; attempt: string }) {
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
