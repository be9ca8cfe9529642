import type { ApprovalPolicy, SandboxPolicy } from "../exec/policies.js";
import type { ThreadId } from "../lib/ids.js";
import type { ThreadEvent } from "./events.js";
import type { RawItem } from "./items.js";
import type { Reach } from "./limits.js";
import type { ReasoningEffort, ThreadSettings } from "./settings.js";
import type { TokenUsageInfo } from "./usage.js";

/**
 * Keeps threads across processes, for all nodes that share it. `stores/files` implements it on Codex's JSONL files.
 * Contract suite: test/contracts/threadStore.ts.
 */
export interface ThreadStore extends ThreadCatalog {
  /** The record of a new thread. Nothing is written until the first lease appends. */
  create(thread: NewThread): ThreadRecord;
  /** The stored thread; undefined when it is unknown. Throws `StorageFailed` when it exists but is unreadable. */
  find(id: ThreadId): Promise<StoredThread | undefined>;
  /** The locations of threads' records, without unknown threads. Does not read the records. */
  pathsOf(ids: readonly ThreadId[]): Promise<ReadonlyMap<ThreadId, string>>;
  /** The recorded events of a thread in Codex's event format, oldest first; for a very long thread only the newest. Throws like `find`. */
  shownOn(id: ThreadId): Promise<readonly ShownEvent[]>;
  /** What happened on a thread, oldest first, including parts that a summary has replaced; undefined when the thread is unknown. */
  story(id: ThreadId): Promise<StoredStory | undefined>;
  /** For a thread without a running turn in this process. Throws `ThreadBusyElsewhere` while another process writes to it. */
  checkIdle(id: ThreadId): Promise<void>;
  /** Resolves when everything written would survive a power failure. */
  settle(): Promise<void>;
}

export type ShownEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

/** The stored threads, loaded or not, newest first. */
export interface ThreadCatalog {
  /** Pages neither skip nor repeat threads, even if many began in the same second. */
  list(query: ThreadQuery): Promise<ThreadPage>;
  /** Creates a new thread with the same history; the original is unchanged. Throws `ThreadNotFound`. */
  fork(id: ThreadId): Promise<ThreadId>;
  /** Removes the thread from the list until it is used again. Nothing is deleted. No turn may run on it. Throws `ThreadNotFound`. */
  archive(id: ThreadId): Promise<void>;
  unarchive(id: ThreadId): Promise<void>;
  /** Sets the title in lists, for Codex too. A turn may run meanwhile. Throws `ThreadNotFound`. */
  rename(id: ThreadId, title: string): Promise<void>;
  /** Deletes the thread's content completely. No turn may run on it. Throws `ThreadNotFound`. */
  remove(id: ThreadId): Promise<void>;
}

export interface ThreadQuery {
  readonly limit: number;
  /** `nextCursor` of the previous page. Throws `InvalidCursor` for anything else. */
  readonly cursor?: string | undefined;
  readonly archived?: boolean | undefined;
  /** Only threads that work in this folder. */
  readonly cwd?: string | undefined;
  /** Only threads whose title or beginning contains this text, ignoring case. */
  readonly search?: string | undefined;
  /** Only these threads. A catalog that cannot look for them lists others too. */
  readonly among?: ReadonlySet<ThreadId> | undefined;
}

export interface ThreadPage {
  readonly threads: readonly ThreadSummary[];
  /** Absent on the last page. */
  readonly nextCursor?: string;
}

export interface ThreadSummary {
  readonly id: ThreadId;
  /** The user's first message, shortened to one line. */
  readonly preview: string;
  readonly cwd: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly lastUsedAt: string;
  /** The title a user gave it. */
  readonly name?: string;
  /** The location of its record; absent where that would need a search. */
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
  /** The thread is archived. */
  readonly isArchived?: boolean;
}

export interface ThreadRecord {
  readonly path: string;
  /** Makes this process the only writer until the lease is released. Throws `ThreadBusyElsewhere` or `StorageFailed`. */
  lease(): Promise<WriterLease>;
}

export interface WriterLease {
  /** Someone else has written since our last lease: our copy of the thread in memory is outdated. */
  readonly changedElsewhere: boolean;
  /** Returns when the kernel has the lines; throws `StorageFailed` (disk full, folder gone). Deltas are not recorded. */
  append(events: readonly ThreadEvent[]): void;
  /** Resolves when everything appended would survive a power failure. */
  sync(): Promise<void>;
  /** Lets others write; the data is on its way to the disk. Calling it twice is harmless. */
  release(): void;
}

/** The stored state of a thread: what a model needs to continue, and the settings it ran with. */
export interface ThreadHistory {
  readonly items: readonly RawItem[];
  readonly usage: TokenUsageInfo | null;
  readonly settings: StoredSettings;
}

/** A thread for a human reader. */
export interface StoredStory {
  /** The title a user gave it. */
  readonly title?: string | undefined;
  readonly isArchived: boolean;
  /** `version` changes whenever the record changes. Absent where that cannot be determined. */
  readonly record?: { readonly version: string; readonly bytes: number } | undefined;
  /** Read on demand. Throws `StorageFailed` when reading cannot continue. */
  readonly moments: AsyncIterable<StoredMoment>;
}

/** The story of a thread without a record. */
export const NOTHING_YET: StoredStory = { isArchived: false, moments: { async *[Symbol.asyncIterator]() {} } };

/** One entry of a thread's record, for a human reader rather than for continuing the thread. */
export type StoredMoment = {
  /** Milliseconds since 1970; undefined where it was not recorded. */
  readonly at: number | undefined;
} & (
  | { readonly type: "settings"; readonly settings: StoredSettings }
  | { readonly type: "item"; readonly item: RawItem }
  /** The last message in the user's name came from a person and is not context. */
  | { readonly type: "userSpoke"; readonly text: string | undefined; readonly images?: number | undefined }
  | { readonly type: "usage"; readonly usage: TokenUsageInfo }
  /** Absent in older records, where each user message begins a turn. */
  | { readonly type: "turnStarted" }
  /** `error` says why it failed; null when it completed. `ms` is how long the turn ran, where its writer measured it. */
  | { readonly type: "turnEnded"; readonly error: string | null; readonly ms?: number | undefined }
  | { readonly type: "interrupted"; readonly ms?: number | undefined }
  | { readonly type: "compacted"; readonly message: string }
  /** The last turns were undone. */
  | { readonly type: "rolledBack"; readonly turns: number }
  | { readonly type: "reviewStarted"; readonly hint: string }
  | { readonly type: "reviewEnded"; readonly text: string | null }
);

/** A thread's settings as recorded in a rollout; absent where the rollout has none. */
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

/** Keeps the owner of each thread across processes. The server's own user's threads have no owner. */
export interface ThreadOwners {
  /** Resolves when the owner is on disk. Throws `StorageFailed`. */
  keep(id: ThreadId, owner: string): Promise<void>;
  /** Undefined for a thread without an owner. Throws `StorageFailed` when there is an owner but it cannot be read. */
  ownerOf(id: ThreadId): Promise<string | undefined>;
  /** The threads that have an owner. Throws `StorageFailed`. */
  owned(): Promise<ReadonlySet<ThreadId>>;
}
