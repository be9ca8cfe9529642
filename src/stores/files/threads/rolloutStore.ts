import { describe } from "../../../lib/errors.js";
import type { ThreadId } from "../../../lib/ids.js";
import { lazily } from "../../../lib/lazily.js";
import { StorageFailed } from "../../../threads/errors.js";
import type { NewThread, StoredThread, ThreadPage, ThreadQuery, ThreadRecord, ThreadStore } from "../../../threads/store.js";
import { type Origin, sessionMetaLine } from "./rolloutLines.js";
import { findRollout, newRolloutPath } from "./rolloutPaths.js";
import { readRollout } from "./rolloutReader.js";
import { Flusher, type RecordParts, RolloutRecord } from "./rolloutRecord.js";
import { WriterLocks } from "./writerLock.js";

interface RolloutStoreOptions extends Origin {
  readonly codexHome: string;
  /** Told when lines could not be brought to the disk after their turn had ended. */
  readonly warn: (line: string) => void;
}

/** Keeps threads as Codex's rollout files, so that Codex can continue ours and we can continue Codex's. */
export class RolloutStore implements ThreadStore {
  readonly #options: RolloutStoreOptions;
  readonly #locks: WriterLocks;
  readonly #flusher: Flusher;
  /** Most processes list nothing, and do without its code. */
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
    return { history, record: this.#record({ threadId: id, path, readAs, firstLine: undefined }) };
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

  settle(): Promise<void> {
    return this.#flusher.settle();
  }

  #record(parts: Omit<RecordParts, "codexHome" | "locks" | "flusher">): RolloutRecord {
    return new RolloutRecord({ ...parts, codexHome: this.#options.codexHome, locks: this.#locks, flusher: this.#flusher });
  }
}
