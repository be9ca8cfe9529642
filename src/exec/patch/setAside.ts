import { link, rename, rm } from "node:fs/promises";
import { orFail } from "./attempt.js";
import type { Place } from "./place.js";

/** The original file under another name, so that it can come back as it was: same content, mode, owner and times. */
export class SetAside {
  private constructor(
    private readonly original: Place,
    private readonly aside: Place,
  ) {}

  /** Where hard links are possible the file stays visible under its name until the new one takes its place. */
  static async keeping(place: Place): Promise<SetAside> {
    const aside = place.sibling();
    await link(place.path, aside.path).catch(() => rename(place.path, aside.path));
    return new SetAside(place, aside);
  }

  static async removing(place: Place): Promise<SetAside> {
    const aside = place.sibling();
    await rename(place.path, aside.path);
    return new SetAside(place, aside);
  }

  async restore(): Promise<void> {
    await orFail(`its old content is still in ${this.aside.realPath}`, () => rename(this.aside.path, this.original.path));
    // Renaming one link of a file onto another leaves both.
    await this.discard();
  }

  async discard(): Promise<void> {
    await rm(this.aside.path, { force: true });
  }
}
