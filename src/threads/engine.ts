import type { ApprovalDecision, ApprovalSubject } from "../approvals/model.js";
import type { ThreadId, TurnId } from "../lib/ids.js";
import type { EngineServices } from "./engineServices.js";
import type { ThreadEvent, TurnInput } from "./events.js";
import type { Reach } from "./limits.js";
import type { ThreadSettings } from "./settings.js";
import type { ThreadCatalog, ThreadHistory, ThreadRecord } from "./store.js";

export type EngineName = "native" | "scripted" | "codex";

/**
 * Runs turns. An engine knows nothing of JSON-RPC, request ids or transports.
 * Every engine passes the same contract suite (test/contracts/engine.ts).
 */
export interface Engine {
  readonly name: EngineName;
  openThread(opening: ThreadOpening): Promise<EngineThread>;
  /**
   * For an engine that stores its threads itself: it lists, forks and archives them, and the store reads their content. Absent: the store
   * keeps the threads.
   */
  catalog?(): Promise<ThreadCatalog>;
  /** What the engine can do besides turns; the code is loaded on first use. Absent: it only runs turns. */
  services?(): Promise<EngineServices>;
  /** Releases what threads share. Called when no thread is open any more. */
  close?(): Promise<void>;
}

export interface ThreadOpening {
  readonly id: ThreadId;
  readonly settings: ThreadSettings;
  /** The thread's history, when it is continued. */
  readonly history?: ThreadHistory;
  /** The settings differ from those of the history: `opening` then includes the changes. */
  readonly isReconfigured?: true;
  /** What may be read for the caller; absent for the server's own user. */
  readonly reach?: Reach | undefined;
}

export interface EngineThread {
  /** What a reader of the first turn gets before that turn begins: initial context, notices. */
  readonly opening: readonly ThreadEvent[];
  /** The settings in use, where they differ from the requested ones: another model, another effort. */
  readonly settings?: ThreadSettings;
  /** The sandbox that confines this thread's commands. */
  readonly sandboxBackend?: string;
  /** Present when the engine stores its threads itself: nothing else is recorded then. */
  readonly kept?: KeptThread;
  /**
   * Runs one turn. Each batch holds events that became known together. The last event is the turn's only end. When `ctx.signal` aborts,
   * that end is `turnAborted`, and everything the turn started has stopped by then. Never called while a turn runs.
   */
  run(input: TurnInput, ctx: TurnContext): AsyncIterable<readonly ThreadEvent[]>;
  /** Sets the settings of the next turns. Never called while a turn runs. Absent: the thread is reopened with them. */
  configure?(settings: ThreadSettings): void;
  /** Commands are still running after their turns; they would end with the thread. */
  readonly keepsRunning?: boolean;
  /**
   * Adds text to the running turn; it is reported as a user message of that turn. False when the turn accepts no more input: it is ending,
   * or it is a review or a compaction.
   */
  steer?(text: string): Promise<boolean>;
  /** Ends what outlives turns: commands left running, MCP servers. Called once, when the thread leaves memory. */
  close?(): Promise<void>;
}

/** A thread as its engine stores it. The engine may have chosen the id and filled in missing settings. */
export interface KeptThread {
  readonly id: ThreadId;
  readonly settings: ThreadSettings;
  readonly record: ThreadRecord;
}

export interface TurnContext {
  readonly threadId: ThreadId;
  readonly turnId: TurnId;
  readonly signal: AbortSignal;
  /** Nothing in this turn may leave the sandbox, whatever was approved on the thread before and whatever a rule allows. */
  readonly confined: boolean;
  /** What may be read for the turn; absent for the server's own user. */
  readonly reach?: Reach | undefined;
  /**
   * The only way for an engine to ask for approval. Readers see the question and its decision. Rejects when the turn is interrupted or the
   * question is withdrawn.
   */
  readonly ask: (subject: ApprovalSubject, withdrawn?: AbortSignal) => Promise<ApprovalDecision>;
  /**
   * Resolves when files may be changed; absent: they may be changed at any time. An event that announces a change is taken only after this
   * has resolved. So an engine needs it only for preparations that it makes while an event is being taken.
   */
  readonly beforeChanges?: (() => Promise<void>) | undefined;
}
