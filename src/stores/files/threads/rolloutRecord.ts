import type { ThreadId } from "../../../lib/ids.js";
import { StorageFailed } from "../../../threads/errors.js";
import type { ThreadRecord, WriterLease } from "../../../threads/store.js";
import type { WriterLock, WriterLocks } from "../writerLock.js";
import type { Flusher } from "./flusher.js";
import { RolloutRecorder } from "./recorder.js";
import { type FileMark, RolloutFile } from "./rolloutFile.js";
import { findRollout } from "./rolloutPaths.js";

export interface RecordParts {
  readonly codexHome: string;
  readonly threadId: ThreadId;
  readonly path: string;
  readonly locks: WriterLocks;
  readonly flusher: Flusher;
  /** How the file was when it was read; undefined for a thread that has none yet. */
  readonly readAs: FileMark | undefined;
  /** Makes the first line of a thread begun here; undefined for one that was found. */
  readonly firstLine: (() => string) | undefined;
}

/** One thread's rollout and what this process last knew of it. */
export class RolloutRecord implements ThreadRecord {
  readonly #parts: RecordParts;
  #path: string;
  #leftAs: FileMark | undefined;

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
      changedElsewhere: file !== undefined && !isSame(file.foundAs, this.#leftAs),
      file,
      createFile: () => RolloutFile.create(this.#path),
      firstLine: () => this.#firstLine(),
      onRelease: (open) => this.#release(lock, open),
    });
  }

  /** A thread may have been archived since: it goes on where its file is now. */
  async #openKnownFile(): Promise<RolloutFile> {
    const { codexHome, threadId } = this.#parts;
    const here = RolloutFile.openExisting(this.#path);
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
    // The lines are with the kernel, where the next writer sees them: it need not wait for the disk.
    lock.release();
    if (file?.wasWritten) this.#parts.flusher.flushAndClose(file);
    else file?.closeUnflushed();
  }
}

function isSame(a: FileMark, b: FileMark | undefined): boolean {
  return a.inode === b?.inode && a.size === b.size;
}
