import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { changedRegions } from "../patch/lineDiff.js";
import { shownName } from "./fileNames.js";

/** A changed file. The line counts are absent where they were not computed: the file is binary or too large, or only its name is known. */
export interface ChangedFile {
  readonly path: string;
  readonly kind: "add" | "update" | "delete";
  readonly added?: number;
  readonly removed?: number;
}

/** The change of one path below a folder. */
export interface NamedChange {
  readonly name: string;
  readonly kind: ChangedFile["kind"];
  /** The object id of the previous content; absent when that was not the committed content. */
  readonly committed?: string;
}

interface ComparedTexts {
  readonly root: string;
  /** Undefined where the text is not available. */
  readonly before: (change: NamedChange) => string | undefined;
  readonly now: (change: NamedChange) => string | undefined;
  /** Stops the counting. */
  readonly signal: AbortSignal;
}

/** The most lines that are compared; larger texts would take too long. */
const MOST_LINES = 20_000;

/** The files with their line counts, as far as these can be computed in time. Yields to the event loop between files. */
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
    counted.push({ path: path.join(root, shownName(name)), kind, ...lines });
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
