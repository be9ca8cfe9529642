import path from "node:path";
import { InvalidCursor, StorageFailed } from "../../../threads/errors.js";
import { isOutOfFiles } from "../failure.js";
import { parseRolloutName } from "./fileName.js";
import { entriesOf } from "./rolloutPaths.js";

/** A rollout by its place in the order of all. */
export interface RolloutPlace {
  readonly path: string;
  /** Folders and name below the folder of all: tells day, second and id, and sorts by them. */
  readonly position: string;
}

export interface Walk {
  readonly archived: boolean;
  /** Only what comes after this position in the list. */
  readonly after?: string | undefined;
}

/** sessions/YYYY/MM/DD; archived threads lie in one folder. */
const LEVELS = [/^\d{4}$/, /^\d{2}$/, /^\d{2}$/];

/** All rollouts of a home, newest first. Opens no file, and no folder before it is its turn. */
export async function* rolloutsNewestFirst(codexHome: string, { archived, after }: Walk): AsyncGenerator<RolloutPlace> {
  const folder = path.join(codexHome, archived ? "archived_sessions" : "sessions");
  yield* below({ folder, prefix: "", levels: archived ? [] : LEVELS, after });
}

/** Throws `InvalidCursor` for what is no position in this list. */
export function checkPosition(position: string, { archived }: Pick<Walk, "archived">): string {
  const steps = position.split("/");
  const name = steps.pop() ?? "";
  const levels = archived ? [] : LEVELS;
  const fits = parseRolloutName(name) && steps.length === levels.length && levels.every((level, at) => level.test(steps[at] ?? ""));
  if (!fits) throw new InvalidCursor();
  return position;
}

interface Branch {
  readonly folder: string;
  readonly prefix: string;
  readonly levels: readonly RegExp[];
  readonly after: string | undefined;
}

async function* below({ folder, prefix, levels, after }: Branch): AsyncGenerator<RolloutPlace> {
  const [level, ...deeper] = levels;
  const entries = await entriesOf(folder);
  const names = entries.map(({ name }) => name).filter((name) => (level ? level.test(name) : parseRolloutName(name)));
  for (const name of names.sort().reverse()) {
    const position = `${prefix}${name}`;
    const place = path.join(folder, name);
    if (!level) {
      if (after === undefined || position < after) yield { path: place, position };
    } else if (after === undefined || position <= after.slice(0, position.length)) {
      yield* readable(below({ folder: place, prefix: `${position}/`, levels: deeper, after }));
    }
  }
}

/** One folder that cannot be looked into does not hide the others. */
async function* readable(places: AsyncGenerator<RolloutPlace>): AsyncGenerator<RolloutPlace> {
  try {
    yield* places;
  } catch (error) {
    if (!(error instanceof StorageFailed) || isOutOfFiles(error)) throw error;
  }
}
