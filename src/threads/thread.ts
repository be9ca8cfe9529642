// Long because a thread's queue of turns, its engine and its record are kept consistent here, even when one of them fails.
import { isDeepStrictEqual } from "node:util";
import type { ApprovalDesk } from "../approvals/desk.js";
import type { ApprovalDecision } from "../approvals/model.js";
import { AppError, describe } from "../lib/errors.js";
import { type ThreadId, type TurnId, turnIdOf } from "../lib/ids.js";
import type { EngineThread, TurnContext } from "./engine.js";
import { NothingToSteer, ThreadInUse, TooManyQueuedTurns } from "./errors.js";
import type { EventLogs } from "./eventLog.js";
import type { ThreadEvent } from "./events.js";
import type { Reach } from "./limits.js";
import type { ThreadObserver } from "./observer.js";
import type { ThreadSettings } from "./settings.js";
import type { ThreadRecord, WriterLease } from "./store.js";
import { questionsOf, Turn, type TurnRequest } from "./turn.js";

/** The limit of replies queued behind a running turn. */
const MAX_QUEUED_TURNS = 32;

export interface ThreadParts {
  readonly id: ThreadId;
  readonly settings: ThreadSettings;
  readonly record: ThreadRecord;
  readonly engineThread: EngineThread;
  readonly desk: ApprovalDesk;
  readonly observer?: ThreadObserver | undefined;
  readonly logs?: EventLogs<ThreadEvent> | undefined;
  /** Called with the settings of each turn before it runs. */
  readonly inForce?: ((settings: ThreadSettings) => void) | undefined;
  /** Closes an engine's thread that is no longer used. */
  readonly retire: (engineThread: EngineThread) => void;
  /** Reopens the thread from its record, when another process has written to it, our copy is unreliable, or its settings changed. */
  readonly reload: (how: Reloading) => Promise<EngineThread>;
}

export interface Reloading {
  readonly settings: ThreadSettings;
  readonly reach: Reach | undefined;
  /** The record was made with other settings. */
  readonly isReconfigured: boolean;
}

/** A conversation: settings, a record on disk, and at most one running turn. Later turns wait in order. */
export class Thread {
  readonly id: ThreadId;
  #settings: ThreadSettings;
  readonly #record: ThreadRecord;
  readonly #desk: ApprovalDesk;
  readonly #observer: ThreadObserver | undefined;
  readonly #logs: EventLogs<ThreadEvent> | undefined;
  readonly #inForce: ThreadParts["inForce"];
  readonly #reload: ThreadParts["reload"];
  readonly #retire: (engineThread: EngineThread) => void;
  #engineThread: EngineThread | undefined;
  /** The opening events, until a turn can publish them. */
  #untold: readonly ThreadEvent[] = [];
  /** The opening is already in the record. */
  #isIntroduced = false;
  /** A turn brought other settings since the engine's thread was opened. */
  #isReconfigured = false;
  readonly #queue: Turn[] = [];
  #playing: Promise<void> | undefined;
  /** Codex numbers every submission after the first turn: replies, and answers to its questions. */
  #submissions = 0;
  #lastUsed = Date.now();

  constructor({ id, settings, record, engineThread, desk, observer, logs, inForce, retire, reload }: ThreadParts) {
    this.id = id;
    this.#settings = settings;
    this.#record = record;
    this.#desk = desk;
    this.#observer = observer;
    this.#logs = logs;
    this.#inForce = inForce;
    this.#retire = retire;
    this.#engineThread = engineThread;
    this.#reload = reload;
  }

  /** The settings of the next turn, unless that brings its own. */
  get settings(): ThreadSettings {
    return this.#settings;
  }

  get recordPath(): string {
    return this.#record.path;
  }

  /** When the last turn began or ended; undefined while one runs or waits. */
  get idleSince(): number | undefined {
    return this.#playing ? undefined : this.#lastUsed;
  }

  /** A turn runs or waits. Clean-up of an ended turn does not count. */
  get isInUse(): boolean {
    return this.turns.length > 0;
  }

  /** Something started by its turns is still running and would end with the thread. */
  get keepsRunning(): boolean {
    return this.#engineThread?.keepsRunning ?? false;
  }

  /** Starts the first turn, which also shows the opening events. */
  begin(input: TurnRequest, turnId: TurnId): Turn {
    this.#untold = this.#opening();
    return this.#enqueue(input, turnId);
  }

  /**
   * Records the thread before its first turn, so that it can be found. The first turn then shows the opening events that its reader does
   * not have yet.
   */
  async introduce(): Promise<void> {
    const opening = this.#opening();
    const lease = await this.#record.lease();
    try {
      lease.append([...opening, { type: "turnContext", settings: this.#settings }]);
      await lease.sync();
    } finally {
      lease.release();
    }
    this.#untold = opening.filter(({ type }) => type !== "threadConfigured" && type !== "contextItem");
    this.#isIntroduced = true;
  }

  /** Queues a further turn; it runs when the ones before it have ended. */
  reply(input: TurnRequest): Turn {
    if (this.#queue.length > MAX_QUEUED_TURNS) throw new TooManyQueuedTurns(this.id, MAX_QUEUED_TURNS);
    return this.#enqueue(input, turnIdOf(String(this.#submissions++)));
  }

  /** Sets the settings of the next turns. Throws `ThreadInUse` while one runs or waits. */
  configure(settings: ThreadSettings): void {
    if (this.isInUse) throw new ThreadInUse(this.id);
    this.#configure(settings);
  }

  /** Adds text to the running turn. Throws `NothingToSteer`. */
  async steer(text: string): Promise<void> {
    const taken = this.#playing && (await this.#engineThread?.steer?.(text));
    if (!taken) throw new NothingToSteer(this.id);
  }

  /** The running turn, then the waiting ones. */
  get turns(): readonly Turn[] {
    return this.#queue.filter(({ ended }) => !ended);
  }

  interrupt(why?: string): void {
    for (const turn of this.#queue) turn.interrupt(why);
  }

  /** Closes the engine's thread. No turn may run any more. */
  close(): void {
    this.#forget();
    this.#observer?.threadClosed(this.id);
  }

  /** Resolves when no turn runs or waits. */
  async settle(): Promise<void> {
    while (this.#playing) await this.#playing;
  }

  #enqueue(input: TurnRequest, id: TurnId): Turn {
    const turn = new Turn(this.id, id, { ...input, observer: this.#observer, logs: this.#logs });
    this.#queue.push(turn);
    // Never rejects: whatever goes wrong becomes the turn's outcome.
    this.#playing = (this.#playing ?? Promise.resolve()).then(() => this.#play(turn));
    return turn;
  }

  async #play(turn: Turn): Promise<void> {
    this.#lastUsed = Date.now();
    if (turn.begin())
      await this.#record
        .lease()
        .then((lease) => this.#runWith(lease, turn))
        .catch((error: unknown) => turn.publish([failed(error)]));
    this.#queue.splice(this.#queue.indexOf(turn), 1);
    this.#lastUsed = Date.now();
    if (this.#queue.length === 0) this.#playing = undefined;
  }

  async #runWith(lease: WriterLease, turn: Turn): Promise<void> {
    try {
      if (lease.changedElsewhere) this.#forget();
      const abandoned = turn.abandoned.then(() => "abandoned" as const);
      const end = await Promise.race([this.#run(lease, turn), abandoned]);
      // Memory and record may differ now, or the engine did not stop when interrupted: the record is authoritative.
      if (end !== "ended") this.#forget();
    } finally {
      lease.release();
    }
  }

  #opening(): ThreadEvent[] {
    return [
      {
        type: "threadConfigured",
        threadId: this.id,
        settings: this.#settings,
        recordPath: this.#record.path,
        sandboxBackend: this.#engineThread?.sandboxBackend,
      },
      ...(this.#engineThread?.opening ?? []),
    ];
  }

  #opened(reach: Reach | undefined): Promise<EngineThread> {
    return this.#reload({ settings: this.#settings, reach, isReconfigured: this.#isReconfigured });
  }

  #configure(settings: ThreadSettings): void {
    if (isDeepStrictEqual(settings, this.#settings)) return;
    this.#settings = settings;
    if (this.#engineThread?.configure) return this.#engineThread.configure(settings);
    this.#forget();
    this.#isReconfigured = true;
  }

  #forget(): void {
    if (this.#engineThread) this.#retire(this.#engineThread);
    this.#engineThread = undefined;
  }

  async #run(lease: WriterLease, turn: Turn): Promise<"ended" | "broken"> {
    const tell = (events: readonly ThreadEvent[]) => {
      lease.append(events);
      turn.publish(events);
    };
    const tellFailure = (error: unknown) => {
      const end = [failed(error)];
      try {
        lease.append(end);
      } catch {
        // The record itself may be the cause of the failure.
      }
      turn.publish(end);
    };
    let engineThread: EngineThread;
    const { limits } = turn.input;
    try {
      if (turn.input.settings) this.#configure(turn.input.settings);
      // A link on the path of its folder may lead elsewhere by now.
      limits?.check(this.#settings);
      this.#inForce?.(this.#settings);
      engineThread = this.#engineThread ??= await this.#opened(limits?.reach);
      if (this.#untold.length > 0) (this.#isIntroduced ? turn.publish.bind(turn) : tell)(this.#untold);
      this.#untold = [];
      if (this.#isReconfigured && engineThread.opening.length > 0) tell(engineThread.opening);
      this.#isReconfigured = false;
    } catch (error) {
      // The engine has not run, so memory and record still agree.
      turn.publish([failed(error)]);
      return "ended";
    }
    try {
      const { id: turnId, threadId, signal } = turn;
      const { looksOnly = false } = this.#settings;
      const put = looksOnly ? askNobody : questionsOf(turn, this.#desk, tell);
      const ask: TurnContext["ask"] = async (...question) => {
        const decision = await put(...question);
        this.#submissions++;
        return decision;
      };
      const confined = looksOnly || limits?.confinement !== undefined;
      const { beforeChanges } = turn.input;
      const context = { threadId, turnId, signal, confined, reach: limits?.reach, ask, beforeChanges };
      let called = false;
      for await (const batch of engineThread.run(turn.input, context)) {
        tell(batch);
        called ||= batch.some(isToolCall);
        if (called && batch.some(endsAnswer)) {
          called = false;
          // The sync runs while the call is examined; a failure surfaces where the sync is awaited.
          lease.sync().catch(() => undefined);
        }
        if (!batch.some(precedesSideEffects)) continue;
        // Anything that changes files is on record before it happens: the engine waits for this loop.
        await Promise.all([lease.sync(), batch.some(mayChangeFiles) ? beforeChanges?.() : undefined]);
        limits?.check(this.#settings);
      }
      if (turn.ended) return "ended";
      tellFailure(new Error("the engine stopped without saying how the turn ended"));
    } catch (error) {
      tellFailure(error);
    }
    return "broken";
  }
}

async function askNobody(): Promise<ApprovalDecision> {
  return { kind: "denied", reason: "this thread is read-only, and requests no approvals" };
}

/** Every tool call counts: an unknown tool may have side effects. */
function isToolCall(event: ThreadEvent): boolean {
  return event.type === "rawItem" && event.item.type.endsWith("_call");
}

/** The model's response is complete, including its token usage. */
function endsAnswer({ type }: ThreadEvent): boolean {
  return type === "tokenCount";
}

function precedesSideEffects({ type }: ThreadEvent): boolean {
  return type === "commandStarted" || type === "commandResumed" || type === "patchStarted" || type === "mcpToolStarted";
}

function mayChangeFiles(event: ThreadEvent): boolean {
  return precedesSideEffects(event) && !(event.type === "commandStarted" && event.onlyLooks);
}

function failed(error: unknown): ThreadEvent {
  return { type: "turnFailed", message: describe(error), info: error instanceof AppError ? "other" : "internal_server_error" };
}
