import type { ApprovalDecision, ApprovalSubject } from "../approvals/model.js";
import type { ThreadId, TurnId } from "../lib/ids.js";
import type { EngineServices } from "./engineServices.js";
import type { ThreadEvent, TurnInput } from "./events.js";
import type { Reach } from "./limits.js";
import type { ThreadSettings } from "./settings.js";
import type { ThreadCatalog, ThreadHistory, ThreadRecord } from "./store.js";

export type EngineName = "native" | "scripted" | "codex";

/**
 * What runs turns. An engine knows nothing of JSON-RPC, request ids or transports.
 * The same contract suite (test/contracts/engine.ts) runs on every one.
 */
export interface Engine {
  readonly name: EngineName;
  openThread(opening: ThreadOpening): Promise<EngineThread>;
  /** The threads of an engine that keeps them itself: it lists, forks and archives them, and the store reads what they hold. Absent: the store keeps them. */
  catalog?(): Promise<ThreadCatalog>;
  /** What it can do besides turns, whose code is loaded when it is first asked for. Absent: it runs turns and nothing else. */
  services?(): Promise<EngineServices>;
  /** Ends what threads share. No thread is open any more. */
  close?(): Promise<void>;
}

export interface ThreadOpening {
  readonly id: ThreadId;
  readonly settings: ThreadSettings;
  /** What the thread already holds, when it is continued. */
  readonly history?: ThreadHistory;
  /** Its settings are others than those that its history was made with: whoever reads `opening` is told what is different. */
  readonly isReconfigured?: true;
  /** For whom it is opened; absent for the server's own user. */
  readonly reach?: Reach | undefined;
}

export interface EngineThread {
  /** What a reader of the first turn sees before that turn begins: initial context, notices. */
  readonly opening: readonly ThreadEvent[];
  /** What it runs with, where that is not what was asked for: another model, another effort. */
  readonly settings?: ThreadSettings;
  /** What really confines commands of this thread. */
  readonly sandboxBackend?: string;
  /** Present when the engine keeps its threads itself: nothing else is recorded then. */
  readonly kept?: KeptThread;
  /**
   * Runs one turn. Each batch is what became known at once. The last event is the turn's only end; when `ctx.signal` aborts,
   * that end is `turnAborted` and everything the turn had started is gone by then. Never called while a turn runs.
   */
  run(input: TurnInput, ctx: TurnContext): AsyncIterable<readonly ThreadEvent[]>;
  /** Its next turns run with these settings. Never called while a turn runs. Absent: it is opened again with them. */
  configure?(settings: ThreadSettings): void;
  /** Commands outlive the turns that began them, and would end with the thread. */
  readonly keepsRunning?: boolean;
  /**
   * Gives the running turn more to consider; it is told as a user message of that turn. False when the turn takes nothing any
   * more: it is ending, or it is a review or a summary.
   */
  steer?(text: string): Promise<boolean>;
  /** Ends what outlives turns: commands left running, servers. Called once, when the thread leaves memory. */
  close?(): Promise<void>;
}

/** A thread as its engine keeps it, which may have chosen the id and filled in settings that nobody stated. */
export interface KeptThread {
  readonly id: ThreadId;
  readonly settings: ThreadSettings;
  readonly record: ThreadRecord;
}

export interface TurnContext {
  readonly threadId: ThreadId;
  readonly turnId: TurnId;
  readonly signal: AbortSignal;
  /** Nothing of this turn may leave the sandbox, whatever was approved on the thread before and whatever a rule allows. */
  readonly confined: boolean;
  /** What the turn may have read for it; absent for the server's own user. */
  readonly reach?: Reach | undefined;
  /** The one question an engine may ask upward. Readers see it and how it was decided. Rejects when the turn is interrupted or the question withdrawn meanwhile. */
  readonly ask: (subject: ApprovalSubject, withdrawn?: AbortSignal) => Promise<ApprovalDecision>;
}
