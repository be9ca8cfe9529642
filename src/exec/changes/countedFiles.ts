import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { changedRegions } from "../patch/lineDiff.js";

/** A file that is another than before. Lines are absent where nobody counted them: binary, too large, or seen by its name alone. */
export interface ChangedFile {
  readonly path: string;
  readonly kind: "add" | "update" | "delete";
  readonly added?: number;
  readonly removed?: number;
}

/** What became of a name below a folder. */
export interface NamedChange {
  readonly name: string;
  readonly kind: ChangedFile["kind"];
  /** The id of what it was; absent when it was not as the commit has it. */
  readonly committed?: string;
}

interface ComparedTexts {
  readonly root: string;
  /** Undefined where a text is not at hand. */
  readonly before: (change: NamedChange) => string | undefined;
  readonly now: (change: NamedChange) => string | undefined;
  /** From then on nothing is counted any more. */
  readonly signal: AbortSignal;
}

/** Lines that are compared with each other; the rest of two texts would take too long. */
const MOST_LINES = 20_000;

/** The files with their lines, as far as those can be counted in time. Others are served between two of them. */
export async function countedFiles(
  changed: readonly NamedChange[],
  { root, before, now, signal }: ComparedTexts,
): Promise<readonly ChangedFile[]> {
  const counted: ChangedFile[] = [];
  for (const change of changed) {
    const { name, kind } = change;
    const old = kind === "add" ? "" : before(change);
    const young = kind === "delete" ? "" : now(change);
    const lines = old === undefined || young === undefined || signal.aborted ? undefined : linesBetween(old, young);
    counted.push({ path: path.join(root, name), kind, ...lines });
    // One comparison takes up to a tenth of a second.
    if (lines && old !== "" && young !== "") await setImmediate();
  }
  return counted;
}

function linesBetween(before: string, now: string): Pick<ChangedFile, "added" | "removed"> | undefined {
  const [old, young] = [linesOf(before), linesOf(now)];
  if (old.length + young.length > MOST_LINES) return undefined;
  const regions = changedRegions(old, young);
  return regions.reduce(
    (sum, region) => ({ added: sum.added + region.newEnd - region.newStart, removed: sum.removed + region.oldEnd - region.oldStart }),
    { added: 0, removed: 0 },
  );
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
