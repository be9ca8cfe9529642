import { createHash } from "node:crypto";
import path from "node:path";
import { isCheckout } from "../../lib/files/gitFiles.js";
import type { PatchPlan } from "./plan.js";
import { NotPatchable, textOf } from "./readFile.js";
import { unifiedDiff } from "./unifiedDiff.js";

const CONTEXT_LINES = 3;
const NO_BLOB = "0".repeat(40);
const FILE_MODE = "100644";

interface Tracked {
  /** What the file held before the turn's first patch touched it. */
  readonly first: Buffer | undefined;
  readonly latest: Buffer | undefined;
  readonly movedFrom: string | undefined;
}

/** Everything a turn's patches did to files so far, as one diff in git's style. */
export class TurnDiff {
  readonly #files = new Map<string, Tracked>();
  /** Asked for after every answer of the model, changed only by patches. */
  #text: string | undefined;

  /** To be called once a plan was applied. */
  add({ files }: Pick<PatchPlan, "files">): void {
    const origins = files.map(({ movedFrom }) =>
      movedFrom === undefined ? undefined : (this.#files.get(movedFrom)?.movedFrom ?? movedFrom),
    );
    for (const [at, file] of files.entries()) {
      const known = this.#files.get(file.path);
      const staysMoved = file.movedFrom === undefined && file.after !== undefined && !file.isNew;
      this.#files.set(file.path, {
        first: known === undefined ? file.before : known.first,
        latest: file.after === undefined ? undefined : Buffer.from(file.after),
        movedFrom: staysMoved ? known?.movedFrom : origins[at],
      });
    }
    this.#text = this.#compute();
  }

  /** Undefined when, all in all, nothing changed. */
  text(): string | undefined {
    return this.#text;
  }

  #compute(): string | undefined {
    const moved = this.#moves();
    const entries = [...this.#files].flatMap(([target, file]) => {
      if (moved.sources.has(target)) return [];
      const source = moved.targets.get(target);
      const from = source === undefined ? { path: target, content: file.first } : { path: source, content: this.#files.get(source)?.first };
      return [{ from: { ...from, path: pathInRepository(from.path) }, to: { path: pathInRepository(target), content: file.latest } }];
    });
    const diffs = entries.sort((one, other) => (one.to.path < other.to.path ? -1 : 1)).map(fileDiff);
    return diffs.join("") || undefined;
  }

  /** A file counts as moved if nothing new took its place and it replaced nothing; otherwise both ends are shown on their own. */
  #moves(): { targets: ReadonlyMap<string, string>; sources: ReadonlySet<string> } {
    const targets = new Map<string, string>();
    for (const [target, { first, latest, movedFrom }] of this.#files) {
      if (movedFrom === undefined || movedFrom === target || first !== undefined || latest === undefined) continue;
      const source = this.#files.get(movedFrom);
      if (source?.first !== undefined && source.latest === undefined) targets.set(target, movedFrom);
    }
    return { targets, sources: new Set(targets.values()) };
  }
}

interface Side {
  readonly path: string;
  readonly content: Buffer | undefined;
}

function fileDiff({ from, to }: { from: Side; to: Side }): string {
  if (from.content === to.content || (from.content !== undefined && to.content?.equals(from.content))) return "";
  const mode =
    from.content === undefined ? `new file mode ${FILE_MODE}\n` : to.content === undefined ? `deleted file mode ${FILE_MODE}\n` : "";
  return [
    `diff --git a/${from.path} b/${to.path}\n`,
    mode,
    `index ${blobId(from.content)}..${blobId(to.content)}\n`,
    `--- ${from.content === undefined ? "/dev/null" : `a/${from.path}`}\n`,
    `+++ ${to.content === undefined ? "/dev/null" : `b/${to.path}`}\n`,
    hunks(from.content, to.content),
  ].join("");
}

function hunks(before: Buffer | undefined, after: Buffer | undefined): string {
  try {
    return unifiedDiff(before === undefined ? "" : textOf(before), after === undefined ? "" : textOf(after), { context: CONTEXT_LINES });
  } catch (error) {
    if (error instanceof NotPatchable) return "Binary files differ\n";
    throw error;
  }
}

/** The name git would give the content. */
function blobId(content: Buffer | undefined): string {
  if (content === undefined) return NO_BLOB;
  return createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");
}

/** Files of a git repository are named from its root, others by their absolute path. */
function pathInRepository(file: string): string {
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    if (isCheckout(folder)) return path.relative(folder, file);
    if (folder === path.dirname(folder)) return file;
  }
}
