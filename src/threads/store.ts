import type { ApprovalPolicy, SandboxPolicy } from "../exec/policies.js";
import type { ThreadId } from "../lib/ids.js";
import type { ThreadEvent } from "./events.js";
import type { RawItem } from "./items.js";
import type { Reach } from "./limits.js";
import type { ReasoningEffort, ThreadSettings } from "./settings.js";
import type { TokenUsageInfo } from "./usage.js";

/**
 * Keeps threads beyond this process, for every node that shares it. `stores/files` implements it on Codex's JSONL files;
 * test/contracts/threadStore.ts says what every implementation promises.
 */
export interface ThreadStore extends ThreadCatalog {
  /** The record of a new thread. Nothing is written before the first lease appends. */
  create(thread: NewThread): ThreadRecord;
  /** What is kept of a thread; undefined when nobody has it. Throws `StorageFailed` when it is there but unreadable. */
  find(id: ThreadId): Promise<StoredThread | undefined>;
  /** Where the records of threads are; those that nobody has are missing. Reads none of them. */
  pathsOf(ids: readonly ThreadId[]): Promise<ReadonlyMap<ThreadId, string>>;
  /** What was shown of a thread and is kept, in Codex's own words for events, oldest first; of a very long one the newest. Throws as `find` does. */
  shownOn(id: ThreadId): Promise<readonly ShownEvent[]>;
  /** What happened on a thread, oldest first, also what a summary has replaced since; undefined when nobody has it. */
  story(id: ThreadId): Promise<StoredStory | undefined>;
  /** Resolves when everything written would survive a power failure. */
  settle(): Promise<void>;
}

export type ShownEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

/** The threads that are kept, loaded or not, newest first. */
export interface ThreadCatalog {
  /** Pages lose nothing and repeat nothing, however many threads began in one second. */
  list(query: ThreadQuery): Promise<ThreadPage>;
  /** A thread of its own with the same past; the other stays as it is. Throws `ThreadNotFound`. */
  fork(id: ThreadId): Promise<ThreadId>;
  /** Out of the list, and back when it is taken out again. Nothing is deleted. No turn runs on it. Throws `ThreadNotFound`. */
  archive(id: ThreadId): Promise<void>;
  unarchive(id: ThreadId): Promise<void>;
  /** The title that the list shows from now on, for Codex too. A turn may run meanwhile. Throws `ThreadNotFound`. */
  rename(id: ThreadId, title: string): Promise<void>;
  /** Nothing that was said on it is left. No turn runs on it. Throws `ThreadNotFound`. */
  remove(id: ThreadId): Promise<void>;
}

export interface ThreadQuery {
  readonly limit: number;
  /** `nextCursor` of the page before. Throws `InvalidCursor` for anything else. */
  readonly cursor?: string | undefined;
  readonly archived?: boolean | undefined;
  /** Only threads that work in this folder. */
  readonly cwd?: string | undefined;
  /** Only threads whose title or beginning holds this text, in any case of letters. */
  readonly search?: string | undefined;
}

export interface ThreadPage {
  readonly threads: readonly ThreadSummary[];
  /** Absent on the last page. */
  readonly nextCursor?: string;
}

export interface ThreadSummary {
  readonly id: ThreadId;
  /** How the user began it, cut to a line. */
  readonly preview: string;
  readonly cwd: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly lastUsedAt: string;
  /** The title that somebody gave it. */
  readonly name?: string;
  /** Where its record is; absent where that has to be looked for. */
  readonly path?: string;
}

export interface NewThread {
  readonly id: ThreadId;
  readonly settings: ThreadSettings;
  readonly engine: string;
  /** What may be read for the record; absent for the server's own user. */
  readonly reach?: Reach | undefined;
}

export interface StoredThread {
  readonly record: ThreadRecord;
  readonly history: ThreadHistory;
  /** It was taken out of the list. */
  readonly isArchived?: boolean;
}

export interface ThreadRecord {
  readonly path: string;
  /** Makes this process the only writer until the lease is released. Throws `ThreadBusyElsewhere` or `StorageFailed`. */
  lease(): Promise<WriterLease>;
}

export interface WriterLease {
  /** Somebody else has written since our last lease: what we remember of the thread is outdated. */
  readonly changedElsewhere: boolean;
  /** Returns when the kernel has the lines; throws `StorageFailed` (disk full, folder gone). Deltas are not kept. */
  append(events: readonly ThreadEvent[]): void;
  /** Resolves when what was appended would survive a power failure. */
  sync(): Promise<void>;
  /** Lets others write; the data is on its way to the disk. Harmless when called twice. */
  release(): void;
}

/** A thread as it was left: what a model needs to go on, and the settings it ran with. */
export interface ThreadHistory {
  readonly items: readonly RawItem[];
  readonly usage: TokenUsageInfo | null;
  readonly settings: StoredSettings;
}

/** A thread for somebody who reads it. */
export interface StoredStory {
  /** The title that somebody gave it. */
  readonly title?: string | undefined;
  readonly isArchived: boolean;
  /** Read as they are asked for. Throws `StorageFailed` when they cannot be read on. */
  readonly moments: AsyncIterable<StoredMoment>;
}

/** The story of a thread of which nothing has been written. */
export const NOTHING_YET: StoredStory = { isArchived: false, moments: { async *[Symbol.asyncIterator]() {} } };

/** One thing that is kept of a thread, for somebody who reads what happened instead of going on with it. */
export type StoredMoment = {
  /** Milliseconds since 1970; undefined where nobody noted it. */
  readonly at: number | undefined;
} & (
  | { readonly type: "settings"; readonly settings: StoredSettings }
  | { readonly type: "item"; readonly item: RawItem }
  /** The last message in the user's name is what a person said, and not context. */
  | { readonly type: "userSpoke"; readonly text: string | undefined }
  | { readonly type: "usage"; readonly usage: TokenUsageInfo }
  | { readonly type: "interrupted" }
  | { readonly type: "compacted"; readonly message: string }
  /** The last turns were taken back. */
  | { readonly type: "rolledBack"; readonly turns: number }
  | { readonly type: "reviewStarted"; readonly hint: string }
  | { readonly type: "reviewEnded"; readonly text: string | null }
);

/** What a rollout tells about a thread's settings; absent where it says nothing. */
export interface StoredSettings {
  readonly cwd: string;
  readonly providerId?: string;
  readonly model?: string;
  readonly approvalPolicy?: ApprovalPolicy;
  readonly sandboxPolicy?: SandboxPolicy;
  readonly reasoningEffort?: ReasoningEffort;
  readonly baseInstructions?: string;
  readonly developerInstructions?: string;
  readonly looksOnly?: true;
}

/** Remembers beyond this process who started a thread. Threads of the user's own have no owner. */
export interface ThreadOwners {
  /** Comes back when it is on the disk. Throws `StorageFailed`. */
  keep(id: ThreadId, owner: string): Promise<void>;
  /** Undefined for a thread without one. Throws `StorageFailed` when there is one and it cannot be told who. */
  ownerOf(id: ThreadId): Promise<string | undefined>;
}
