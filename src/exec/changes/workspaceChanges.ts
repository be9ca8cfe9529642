import path from "node:path";
import { readGuarded } from "../../lib/files/guardedRead.js";
import { timeoutSignal } from "../../lib/promises.js";
import { followLinks, resolveLinks } from "../../platform/paths.js";
import { mayReadFor } from "../sandbox/fileView.js";
import { callerView } from "../sandbox/hiddenPlaces.js";
import { type ChangedFile, countedFiles, type NamedChange } from "./countedFiles.js";
import { shownName } from "./fileNames.js";
import { changedMs, type FileState, folderEntries, markOf } from "./fileStates.js";
import type { DirtyPath } from "./gitOutput.js";
import { type LookingFor, type LookingHost, Repository } from "./repository.js";

/**
 * `git` and `folder` compare the disk before and after, and include changes by other programs; `patches` reports only the agent's patches;
 * `nothing`: nothing ran that could change files.
 */
export interface ChangedFiles {
  readonly from: "git" | "folder" | "patches" | "nothing";
  readonly list: readonly ChangedFile[];
}

export interface WorkspacePlace {
  readonly cwd: string;
  /** Changes since this time count, even if the first examination came later; milliseconds since 1970. */
  readonly sinceMs: number;
  readonly lookingFor: LookingFor;
}

/** The kernel's file timestamps lag behind our clock by at most this much. */
const FILE_CLOCK_LAG_MS = 10;
/** The longest delay of a command for the first examination. */
const BEFORE_MS = 2_000;

/** The state of a repository or folder before the turn. */
interface FirstLook {
  readonly repository: Repository | undefined;
  /**
   * By path below `root`: everything that differed from the commit, or all files where there is no repository. Undefined for a deleted
   * file.
   */
  readonly marks: ReadonlyMap<string, FileState | undefined>;
  readonly texts: ReadonlyMap<string, string>;
  readonly root: string;
  /** The marks cover everything that differed from the commit; otherwise file timestamps show what changed since. */
  readonly isComplete: boolean;
  /** Of the repositories in a repository. */
  readonly inner?: readonly FirstLook[];
}

/** Examines a workspace before the first action that may change it, and again at the end. */
export class WorkspaceChanges {
  readonly #host: LookingHost;
  readonly #place: WorkspacePlace;
  #first: Promise<FirstLook | "no-repository" | "unknown"> | undefined;

  constructor(host: LookingHost, place: WorkspacePlace) {
    this.#host = host;
    this.#place = place;
  }

  /** Resolves when the workspace may be changed. Never rejects; examines the workspace only once. */
  async before(): Promise<void> {
    this.#first ??= this.#lookFirst(timeoutSignal(BEFORE_MS)).catch(() => "unknown" as const);
    await this.#first;
  }

  /**
   * The changes since the start. Undefined when they could not be determined in time; `patches` when there is no repository and the folder
   * is too large. Nothing is examined in a turn without actions that may change files.
   */
  async after({
    withinMs,
    patches,
  }: {
    readonly withinMs: number;
    readonly patches: readonly ChangedFile[];
  }): Promise<ChangedFiles | undefined> {
    const byPatches: ChangedFiles = { from: "patches", list: patches };
    if (!this.#first) return byPatches;
    const first = await this.#first;
    if (first === "no-repository") return byPatches;
    if (first === "unknown") return undefined;
    try {
      return await this.#compare(first, timeoutSignal(withinMs), byPatches);
    } catch {
      return undefined;
    } finally {
      for (const { repository } of [first, ...(first.inner ?? [])]) repository?.close(this.#host);
    }
  }

  async #lookFirst(signal: AbortSignal): Promise<FirstLook | "no-repository" | "unknown"> {
    const cwd = followLinks(path.resolve(this.#place.cwd))?.real;
    if (cwd === undefined) return "no-repository";
    // What git cannot read is compared as a folder.
    const repository = await this.#opened(cwd);
    const first = repository && (await this.#lookAtRepository(repository, signal));
    if (first && cwd !== first.root && (await repository.ignores(cwd, signal).catch(() => false))) {
      repository.close(this.#host);
      return this.#lookAtFolder(cwd, signal);
    }
    if (first) return { ...first, inner: await this.#lookAtInner(repository, { dirty: first.marks.keys(), signal }) };
    return signal.aborted ? "unknown" : this.#lookAtFolder(cwd, signal);
  }

  #opened(folder: string): Promise<Repository | undefined> {
    return Repository.open(folder, this.#host, this.#place.lookingFor).catch(() => undefined);
  }

  /** Undefined when git fails. */
  async #lookAtRepository(repository: Repository, signal: AbortSignal): Promise<FirstLook | undefined> {
    const { root, isSmall } = repository;
    const onlyAtTheEnd = { repository, marks: new Map(), texts: new Map(), root, isComplete: false };
    // Examining a large repository twice would delay the caller too much.
    if (!isSmall) return onlyAtTheEnd;
    const dirty = await repository.dirtyPaths(signal).catch(() => undefined);
    if (!dirty && signal.aborted) return onlyAtTheEnd;
    if (!dirty) {
      repository.close(this.#host);
      return undefined;
    }
    const marks = new Map([...dirty.keys()].map((name) => [name, markOf(path.join(root, name))] as const));
    // The first examination may come after the first change: an engine that runs elsewhere does not wait for it.
    for (const [name, mark] of marks) if (changedMs(path.join(root, name), mark) > this.#place.sinceMs) marks.delete(name);
    return { repository, marks, root, isComplete: true, texts: await this.#textsOf(root, marks, signal) };
  }

  /**
   * Git compares submodules by their commits only, and untracked repositories not at all, unless it runs in each of them, with the
   * configuration that it finds there.
   */
  async #lookAtInner(
    repository: Repository,
    { dirty, signal }: { readonly dirty: Iterable<string>; readonly signal: AbortSignal },
  ): Promise<readonly FirstLook[]> {
    const folders = await repository.innerFolders(dirty, this.#mayRead(repository.root)).catch(() => []);
    const looks = await Promise.all(
      folders.map(async (folder) => {
        const inner = await this.#opened(folder);
        return inner && this.#lookAtRepository(inner, signal);
      }),
    );
    return looks.filter((look) => look !== undefined);
  }

  async #lookAtFolder(root: string, signal: AbortSignal): Promise<FirstLook | "no-repository"> {
    const marks = await folderEntries(root, { mayRead: this.#mayRead(root), signal });
    // The first change may have come before this look. A file that existed before it then counts as changed, whatever its later state is.
    for (const [name, mark] of marks ?? []) {
      if (mark.changedMs <= this.#place.sinceMs) continue;
      if (mark.bornMs > this.#place.sinceMs) marks?.delete(name);
      else marks?.set(name, { ...mark, key: "changed" });
    }
    return marks ? { repository: undefined, marks, root, isComplete: true, texts: new Map() } : "no-repository";
  }

  async #compare(first: FirstLook, signal: AbortSignal, byPatches: ChangedFiles): Promise<ChangedFiles | undefined> {
    const { repository, root, inner = [] } = first;
    if (repository) {
      // The look at an inner repository that the turn removed fails, and the others continue. If the time is up, all changes are unknown.
      const found = await Promise.all([first, ...inner].map((look) => this.#foundIn(look, signal).catch(() => undefined)));
      if (signal.aborted && found.includes(undefined)) return undefined;
      if (found[0] === undefined) return byPatches;
      const list = found.flatMap((files) => files ?? []);
      return { from: "git", list: [...list, ...(await this.#unseen(repository, { found: list, patches: byPatches.list, signal }))] };
    }
    const now = await folderEntries(root, { mayRead: this.#mayRead(root), signal });
    if (!now) return byPatches;
    const changed = [...new Set([...first.marks.keys(), ...now.keys()])].flatMap((name) =>
      difference(name, first.marks.get(name), now.get(name)),
    );
    const known = new Map(byPatches.list.map((file) => [file.path, file]));
    return {
      from: "folder",
      list: changed.map(({ name, kind }) => ({ ...known.get(path.join(root, name)), path: path.join(root, shownName(name)), kind })),
    };
  }

  /** Undefined when git fails or takes too long. */
  async #foundIn(first: FirstLook, signal: AbortSignal): Promise<readonly ChangedFile[] | undefined> {
    const { repository } = first;
    const now = await repository?.dirtyPaths(signal);
    if (!repository || !now) return undefined;
    const changed = [...new Set([...first.marks.keys(), ...now.keys()])].flatMap((name) => this.#changeOf(name, first, now.get(name)));
    return this.#counted(changed, { ...first, repository }, signal);
  }

  /** The agent's patches to files that git does not see: ignored ones, and those of other folders. Restored files do not count. */
  async #unseen(
    repository: Repository,
    {
      found,
      patches,
      signal,
    }: { readonly found: readonly ChangedFile[]; readonly patches: readonly ChangedFile[]; readonly signal: AbortSignal },
  ): Promise<readonly ChangedFile[]> {
    const seen = new Set(found.map((file) => file.path));
    const others = patches.flatMap((file) => {
      const real = resolveLinks(file.path);
      const isAsPatched = (file.kind === "delete") === (markOf(file.path) === undefined);
      return real === undefined || seen.has(real) || !isAsPatched ? [] : [{ file, real }];
    });
    const few = others.slice(0, MOST_COUNTED);
    const tracked = await repository.tracked(
      few.map(({ real }) => real),
      signal,
    );
    return tracked ? few.flatMap(({ file, real }) => (tracked.has(real) ? [] : [file])) : [];
  }

  #changeOf(name: string, first: FirstLook, now: DirtyPath | undefined): NamedChange[] {
    const file = path.join(first.root, name);
    const mark = markOf(file);
    if (mark && first.inner?.some(({ root }) => file === `${root}/`)) return [];
    if (first.marks.has(name)) return difference(name, first.marks.get(name), mark);
    const sinceMs = this.#place.sinceMs - FILE_CLOCK_LAG_MS;
    if (!now || (!first.isComplete && changedMs(file, mark) <= sinceMs)) return [];
    if (now.committed !== undefined) return [{ name, kind: mark ? "update" : "delete", committed: now.committed }];
    if (!mark) return [];
    return [{ name, kind: first.isComplete || mark.bornMs > sinceMs ? "add" : "update" }];
  }

  async #counted(
    changed: readonly NamedChange[],
    look: FirstLook & { readonly repository: Repository },
    signal: AbortSignal,
  ): Promise<readonly ChangedFile[]> {
    const { root, repository } = look;
    const few = changed.slice(0, MOST_COUNTED);
    const ids = few.flatMap(({ committed }) => (committed ? [committed] : []));
    const committedTexts = await repository.texts([...new Set(ids)], signal);
    const texts = await this.#textsOf(root, new Map(few.map(({ name }) => [name, markOf(path.join(root, name))])), signal);
    const before = ({ name, committed }: NamedChange) => (committed === undefined ? look.texts.get(name) : committedTexts.get(committed));
    return countedFiles(changed, { root, before, now: ({ name }) => texts.get(name), signal });
  }

  /** The texts that are few and small enough for a comparison by line. */
  async #textsOf(root: string, marks: ReadonlyMap<string, FileState | undefined>, signal: AbortSignal): Promise<Map<string, string>> {
    const texts = new Map<string, string>();
    const mayRead = this.#mayRead(root);
    let left = MOST_TEXT;
    for (const [name, mark] of marks) {
      if (!mark?.isFile || mark.bytes > LONGEST_TEXT || mark.bytes > left || texts.size >= MOST_COUNTED || signal.aborted) continue;
      const read = await readGuarded(path.join(root, name), { maxBytes: LONGEST_TEXT, larger: "refuse", mayRead }).catch(() => undefined);
      if (!read || read.bytes.includes(0)) continue;
      left -= read.bytes.length;
      texts.set(name, read.bytes.toString());
    }
    return texts;
  }

  #mayRead(root: string): (file: string) => boolean {
    const { env, hidden, ownPrograms } = this.#host;
    const { lookingFor } = this.#place;
    const caller = lookingFor && callerView({ ...lookingFor, env, tmp: () => "/tmp" });
    return mayReadFor({ policy: { type: "read-only" }, workspace: root, serverEnv: env, hidden, ownPrograms, guarded: [], caller });
  }
}

const MOST_COUNTED = 200;
const LONGEST_TEXT = 256 * 1024;
const MOST_TEXT = 4 * 1024 * 1024;
function difference(name: string, before: FileState | undefined, now: FileState | undefined): NamedChange[] {
  if (before?.key === now?.key) return [];
  if (!before) return [{ name, kind: "add" }];
  return [{ name, kind: now ? "update" : "delete" }];
}
