import { lstat } from "node:fs/promises";
import { absentOrThrow, assertAsPlanned, assertUntouched, orFail } from "./attempt.js";
import { claimPlace, type Place } from "./place.js";
import type { PlannedFile } from "./plannedFiles.js";
import { type FileOnDisk, readFileOnDisk } from "./readFile.js";
import { SetAside } from "./setAside.js";
import type { Step, StepTools } from "./step.js";

/** Of a link only the link is removed, never what it points to. */
export async function prepareRemoval(file: PlannedFile, { isMove, ...tools }: StepTools & { isMove: boolean }): Promise<Step> {
  const { path, shownAs, before } = file;
  const attempt = `${isMove ? "Failed to remove original" : "Failed to delete file"} ${shownAs}`;
  const place = await claimPlace({ path, shownAs, attempt, followLink: false, createFolders: false }, tools);
  return await orFail(attempt, async () => {
    const content = await readFileOnDisk(place.path, { followLink: true }).catch(absentOrThrow);
    assertAsPlanned(attempt, content?.bytes, before);
    return new RemovalStep({ place, stats: await lstat(place.path, { bigint: true }), attempt });
  });
}

class RemovalStep implements Step {
  readonly #place: Place;
  readonly #stats: FileOnDisk["stats"];
  readonly #attempt: string;
  #aside: SetAside | undefined;

  constructor({ place, stats, attempt }: { place: Place; stats: FileOnDisk["stats"]; attempt: string }) {
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
