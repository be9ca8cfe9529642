import type { ThreadId } from "../../../lib/ids.js";
import { StorageFailed } from "../../../threads/errors.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { WriterLease } from "../../../threads/store.js";
import type { RolloutFile } from "./rolloutFile.js";
import { rolloutLines } from "./rolloutLines.js";

interface RecorderParts {
  readonly threadId: ThreadId;
  readonly changedElsewhere: boolean;
  /** A thread that is already on disk has its file open from the start; a new one gets it with its first line. */
  readonly file: RolloutFile | undefined;
  readonly createFile: () => RolloutFile;
  /** What the first line of an empty file says. */
  readonly firstLine: () => string;
  /** Called once, with the file if there is one by then. */
  readonly onRelease: (file: RolloutFile | undefined) => void;
}

/** The one who may write a thread's rollout, until released: each batch of events is one write of whole lines. */
export class RolloutRecorder implements WriterLease {
  readonly #parts: RecorderParts;
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
    // A turn that was given up may still speak; by now another writer may have the file.
    if (state.at === "released") throw new StorageFailed(`Thread ${threadId} is no longer written to: its turn was ended.`);
    const lines = rolloutLines(events, { threadId, at: new Date() });
    if (lines === "") return;
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
