import type { MayRead } from "../../lib/files/guardedRead.js";
import {
  fileDiff,
  isSame,
  type KnownRepositories,
  latestVersion,
  pathInRepository,
  type Side,
  versionAfter,
  versionBefore,
} from "./changes.js";
import type { PlannedFile, Version } from "./plannedFiles.js";

type Place = Pick<PlannedFile, "path" | "shownPath">;

interface Followed {
  /** Where and what it was when a patch first named it. */
  readonly origin: Place & { readonly version: Version | undefined };
  place: Place;
  /** What it was after the last patch. */
  latest: Version | undefined;
  diff?: { readonly from: Side; readonly to: Side; readonly text: string };
}

interface Plan {
  readonly files: readonly PlannedFile[];
}

/**
 * The diff of a turn as Codex 0.92.0 made it: each file is followed from the first patch that names it, and through each move, even if the
 * patch is refused or fails. A refused move shows a deleted file then; a file that another one replaced by moving is not shown.
 */
export class RecordedTurnDiff {
  readonly #files: Followed[] = [];
  readonly #at = new Map<string, Followed>();

  /** To be called before a plan is applied, or refused. */
  note({ files }: Plan): void {
    const planned = new Map(files.map((file) => [file.path, file]));
    const moved = new Set(files.map(({ movedFrom }) => movedFrom));
    for (const file of files.filter(({ path }) => !moved.has(path))) {
      const source = file.movedFrom === undefined ? file : planned.get(file.movedFrom);
      if (!source) continue;
      const followed = this.#at.get(source.path) ?? this.#follow(source);
      this.#at.delete(source.path);
      followed.place = file;
      this.#at.set(file.path, followed);
    }
  }

  /** To be called after a plan was applied. */
  add({ files }: Plan): void {
    for (const file of files) {
      const followed = this.#at.get(file.path);
      if (followed) followed.latest = versionAfter(file, followed.latest);
    }
  }

  /** Undefined when there is no overall change. Reads the disk, because commands may have changed the files further. */
  async text({ mayRead }: { readonly mayRead: MayRead }): Promise<string | undefined> {
    for (const followed of this.#files) followed.latest = await latestVersion(followed.place.path, { mayRead, known: followed.latest });
    const repositories: KnownRepositories = new Map();
    const nameOf = ({ path, shownPath }: Place) => pathInRepository(path, repositories) ?? shownPath ?? path;
    const named = this.#files.map((followed) => ({ followed, name: nameOf(followed.place) }));
    const diffs = named
      .sort((one, other) => (one.name < other.name ? -1 : 1))
      .map(({ followed, name }) => {
        const { origin, latest } = followed;
        return diffOf(followed, { from: { path: nameOf(origin), version: origin.version }, to: { path: name, version: latest } });
      });
    const whole = diffs.join("");
    // Each file's diff ended with a line break, even an empty diff if nothing preceded it.
    return (whole !== "" && diffs[0] === "" ? "\n" : "") + whole || undefined;
  }

  #follow(file: PlannedFile): Followed {
    const place = { path: file.path, shownPath: file.shownPath };
    const version = versionBefore(file);
    const followed: Followed = { origin: { ...place, version }, place, latest: version };
    this.#files.push(followed);
    return followed;
  }
}

/** The diff is made after each patch, and most files have not changed since the one before. */
function diffOf(followed: Followed, { from, to }: { readonly from: Side; readonly to: Side }): string {
  const known = followed.diff;
  if (known && isSame(known.from, from) && isSame(known.to, to)) return known.text;
  const text = fileDiff({ from, to });
  followed.diff = { from, to, text };
  return text;
}
