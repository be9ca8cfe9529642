// Long because a thread's record, the turn that writes it and the flush after it share the life of one file.
import { setImmediate } from "node:timers/promises";
import { describe } from "../../../lib/errors.js";
import { newTurnKey, type ThreadId } from "../../../lib/ids.js";
import { lazily, monotonicMs, Tasks } from "../../../lib/promises.js";
import { StorageFailed, ThreadNotFound } from "../../../threads/errors.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type {
  NewThread,
  ShownEvent,
  StoredStory,
  StoredThread,
  ThreadPage,
  ThreadQuery,
  ThreadRecord,
  ThreadStore,
  WriterLease,
} from "../../../threads/store.js";
import { stampOf, statsOf } from "../fileStamp.js";
import { type FileMark, isSameMark, newRolloutPath, RolloutFile } from "./rolloutFile.js";
import { type Origin, rolloutLines, sessionMetaLine } from "./rolloutLines.js";
import { findRollout, findRollouts, isArchivedRollout } from "./rolloutPaths.js";
import { readRollout } from "./rolloutReader.js";
import { type WriterLock, WriterLocks } from "./writerLock.js";

interface RolloutStoreOptions extends Origin {
  readonly codexHome: string;
  /** Called when lines could not be flushed to disk after their turn had ended. */
  readonly warn: (line: string) => void;
}

/** Stores threads as Codex's rollout files, so that Codex can continue ours and we can continue Codex's. */
export class RolloutStore implements ThreadStore {
  readonly #options: RolloutStoreOptions;
  readonly #locks: WriterLocks;
  readonly #flusher: Flusher;
  /** Most processes list nothing, and never load this code. */
  readonly #catalog = lazily(async () => {
    const { RolloutCatalog } = await import("./rolloutCatalog.js");
    return new RolloutCatalog(this.#options);
  });

  constructor(options: RolloutStoreOptions) {
    this.#options = options;
    this.#locks = new WriterLocks(options.codexHome);
    this.#flusher = new Flusher((_, error) => options.warn(describe(error)));
  }

  create(thread: NewThread): ThreadRecord {
    const startedAt = new Date();
    return this.#record({
      threadId: thread.id,
      path: newRolloutPath(this.#options.codexHome, thread.id, startedAt),
      readAs: undefined,
      firstLine: () => sessionMetaLine(thread, this.#options, startedAt),
    });
  }

  async find(id: ThreadId): Promise<StoredThread | undefined> {
    const path = await findRollout(this.#options.codexHome, id);
    if (path === undefined) return undefined;
    const { threadId, history, readAs } = await readRollout(path, this.#options.codexHome);
    if (threadId !== id) throw new StorageFailed(`The file ${path} holds thread ${threadId}, not ${id}. Give it the name of its thread.`);
    const isArchived = isArchivedRollout(path, this.#options.codexHome);
    return { history, isArchived, record: this.#record({ threadId: id, path, readAs, firstLine: undefined }) };
  }

  async pathsOf(ids: readonly ThreadId[]): Promise<ReadonlyMap<ThreadId, string>> {
    return findRollouts(this.#options.codexHome, ids);
  }

  async shownOn(id: ThreadId): Promise<readonly ShownEvent[]> {
    const path = await findRollout(this.#options.codexHome, id);
    if (path === undefined) throw new ThreadNotFound(id);
    const { readShownEvents } = await import("./shownEvents.js");
    return readShownEvents(path, this.#options.codexHome);
  }

  async story(id: ThreadId): Promise<StoredStory | undefined> {
    const { codexHome } = this.#options;
    const path = await findRollout(codexHome, id);
    if (path === undefined) return undefined;
    const { momentsOf } = await import("./rolloutMoments.js");
    const title = await (await this.#catalog.get()).titleOf(id);
    const stats = statsOf(path);
    // A fork by reference has part of its history in another file, which no longer grows.
    const record = stats && { version: `${stats.dev}.${Object.values(stampOf(stats)).join(".")}`, bytes: stats.size };
    return { title, isArchived: isArchivedRollout(path, codexHome), record, moments: momentsOf(path, codexHome) };
  }

  async list(query: ThreadQuery): Promise<ThreadPage> {
    return (await this.#catalog.get()).list(query);
  }

  async fork(id: ThreadId): Promise<ThreadId> {
    return (await this.#catalog.get()).fork(id);
  }

  async archive(id: ThreadId): Promise<void> {
    await (await this.#catalog.get()).archive(id);
  }

  async unarchive(id: ThreadId): Promise<void> {
    await (await this.#catalog.get()).unarchive(id);
  }

  async rename(id: ThreadId, title: string): Promise<void> {
    await (await this.#catalog.get()).rename(id, title);
  }

  async remove(id: ThreadId): Promise<void> {
    await (await this.#catalog.get()).remove(id);
  }

  async checkIdle(id: ThreadId): Promise<void> {
    this.#locks.checkFree(id);
  }

  settle(): Promise<void> {
    return this.#flusher.settle();
  }

  #record(parts: Omit<RecordParts, "codexHome" | "locks" | "flusher">): RolloutRecord {
    return new RolloutRecord({ ...parts, codexHome: this.#options.codexHome, locks: this.#locks, flusher: this.#flusher });
  }
}

interface RecordParts {
  readonly codexHome: string;
  readonly threadId: ThreadId;
  readonly path: string;
  readonly locks: WriterLocks;
  readonly flusher: Flusher;
  /** The file's mark when it was read; undefined for a thread without a file. */
  readonly readAs: FileMark | undefined;
  /** Builds the first line of a thread created here; undefined for an existing one. */
  readonly firstLine: (() => string) | undefined;
}

/** One thread's rollout and what this process last knew about it. */
class RolloutRecord implements ThreadRecord {
  readonly #parts: RecordParts;
  #path: string;
  /** The file as it was last read or written here. */
  #leftAs: FileMark | undefined;
  #wasWritten = false;

  constructor(parts: RecordParts) {
    this.#parts = parts;
    this.#path = parts.path;
    this.#leftAs = parts.readAs;
  }

  get path(): string {
    return this.#path;
  }

  async lease(): Promise<WriterLease> {
    const { locks, threadId } = this.#parts;
    const lock = await locks.acquire(threadId);
    try {
      const file = this.#leftAs && (await this.#openKnownFile());
      return this.#recorder(lock, file);
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  #recorder(lock: WriterLock, file: RolloutFile | undefined): WriterLease {
    return new RolloutRecorder({
      threadId: this.#parts.threadId,
      changedElsewhere: file !== undefined && !isSameMark(file.foundAs, this.#leftAs),
      file,
      createFile: () => RolloutFile.create(this.#path),
      firstLine: () => this.#firstLine(),
      onRelease: (open) => this.#release(lock, open),
    });
  }

  /** The thread may have been archived meanwhile: it continues at its file's current path. */
  async #openKnownFile(): Promise<RolloutFile> {
    const { codexHome, threadId } = this.#parts;
    const here = RolloutFile.openExisting(this.#path, this.#wasWritten ? this.#leftAs : undefined);
    if (here) return here;
    const moved = await findRollout(codexHome, threadId);
    const there = moved === undefined ? undefined : RolloutFile.openExisting(moved);
    if (!there) throw new StorageFailed(`The thread's file ${this.#path} is gone. Put it back, or start a new thread.`);
    this.#path = there.path;
    return there;
  }

  #firstLine(): string {
    const { firstLine } = this.#parts;
    if (!firstLine) throw new StorageFailed(`The thread's file ${this.#path} was emptied. Restore it, or start a new thread.`);
    return firstLine();
  }

  #release(lock: WriterLock, file: RolloutFile | undefined): void {
    if (file && !file.isEmpty) this.#leftAs = file.leftAs;
    this.#wasWritten ||= file?.wasWritten ?? false;
    // The kernel has the lines, so the next writer sees them without waiting for the disk.
    lock.release();
    if (file?.wasWritten) this.#parts.flusher.flushAndClose(file);
    else file?.closeUnflushed();
  }
}

interface RecorderParts {
  readonly threadId: ThreadId;
  readonly changedElsewhere: boolean;
  /** An existing thread has its file open from the start; a new one gets it with its first line. */
  readonly file: RolloutFile | undefined;
  readonly createFile: () => RolloutFile;
  /** The first line of an empty file. */
  readonly firstLine: () => string;
  /** Called once, with the file if it exists by then. */
  readonly onRelease: (file: RolloutFile | undefined) => void;
}

const UNKEPT_ALONE: ReadonlySet<ThreadEvent["type"]> = new Set(["threadConfigured", "turnStarted", "turnFailed"]);

/** The only writer of a thread's rollout, until released: each batch of events is one write of whole lines. */
class RolloutRecorder implements WriterLease {
  readonly #parts: RecorderParts;
  /** A lease covers one turn. The record uses a new id for it, because other programs read the record. */
  readonly #turnKey = newTurnKey();
  readonly #since = monotonicMs();
  #begun = "";
  #state: { at: "held"; file: RolloutFile | undefined } | { at: "released" };

  constructor(parts: RecorderParts) {
    this.#parts = parts;
    this.#state = { at: "held", file: parts.file };
  }

  get changedElsewhere(): boolean {
    return this.#parts.changedElsewhere;
  }

  append(events: readonly ThreadEvent[]): void {
    const { threadId, createFile, firstLine } = this.#parts;
    const state = this.#state;
    // An abandoned turn may still publish events; another writer may have the file by now.
    if (state.at === "released") throw new StorageFailed(`Thread ${threadId} is no longer written to: its turn was ended.`);
    const lines =
      this.#begun + rolloutLines(events, { threadId, turnKey: this.#turnKey, ranMs: monotonicMs() - this.#since, at: new Date() });
    // The start of a turn alone does not create the file of a thread without messages.
    this.#begun = state.file === undefined && events.every(({ type }) => UNKEPT_ALONE.has(type)) ? lines : "";
    if (lines === "" || this.#begun !== "") return;
    state.file ??= createFile();
    state.file.append(state.file.isEmpty ? firstLine() + lines : lines);
  }

  async sync(): Promise<void> {
    if (this.#state.at === "held") await this.#state.file?.flush();
  }

  release(): void {
    const state = this.#state;
    if (state.at === "released") return;
    this.#state = { at: "released" };
    this.#parts.onRelease(state.file);
  }
}

/** At most half of Node's thread pool, so that a slow disk does not block DNS look-ups and reads. */
const FLUSHES_AT_ONCE = 2;

/** Flushes finished files to disk in the background. Holds at most one waiting file per thread. */
class Flusher {
  readonly #waiting = new Map<string, RolloutFile>();
  readonly #tasks: Tasks;
  #running = 0;

  constructor(onFailure: (name: string, error: unknown) => void) {
    this.#tasks = new Tasks(onFailure);
  }

  flushAndClose(file: RolloutFile): void {
    // The newer handle's flush covers what was written through the older one.
    this.#waiting.get(file.path)?.closeUnflushed();
    this.#waiting.set(file.path, file);
    this.#startNext();
  }

  /** Resolves when all files handed over are on disk. */
  settle(): Promise<void> {
    return this.#tasks.settle();
  }

  #startNext(): void {
    if (this.#running >= FLUSHES_AT_ONCE) return;
    const [next] = this.#waiting.values();
    if (!next) return;
    this.#waiting.delete(next.path);
    this.#running++;
    this.#tasks.start(`flushing ${next.path}`, () => this.#flush(next));
  }

  async #flush(file: RolloutFile): Promise<void> {
    try {
      // The response being written goes first.
      await setImmediate();
      await file.flushAndClose();
    } finally {
      this.#running--;
      this.#startNext();
    }
  }
}
