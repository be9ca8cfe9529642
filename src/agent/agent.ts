// Long because it is the whole of what a caller may do with the agent.
import { isDeepStrictEqual } from "node:util";
import type { ApprovalDesk } from "../approvals/desk.js";
import { type ApprovalFallback, decideWithoutClient } from "../approvals/fallback.js";
import type { ApprovalDecision, ApprovalId, ApprovalRequest } from "../approvals/model.js";
import type { ConfigTree } from "../config/schema/settingTypes.js";
import type { DefaultModel, UserConfig } from "../config/userConfig.js";
import { AppError } from "../lib/errors.js";
import { isFields } from "../lib/fields.js";
import type { ThreadId, TurnId } from "../lib/ids.js";
import { Deadline, Tasks, valueWithin, waitFor, withDeadline } from "../lib/promises.js";
import type { Engine } from "../threads/engine.js";
import type {
  Account,
  AccountState,
  BrowserLogin,
  Credentials,
  DeviceCode,
  EngineServices,
  ModelSummary,
  OneOffResult,
} from "../threads/engineServices.js";
import { NothingToSteer, NothingToStop, ThreadNotFound } from "../threads/errors.js";
import type { LogReader, TurnAddress } from "../threads/eventLog.js";
import type { ReviewTarget, ThreadEvent, TurnInput, TurnOutcome } from "../threads/events.js";
import type { RawItem } from "../threads/items.js";
import type { Reach, TurnLimits } from "../threads/limits.js";
import { findingsIn, isReviewRequest, type ReviewFinding } from "../threads/reviewFindings.js";
import type { ThreadSettings } from "../threads/settings.js";
import type { ShownEvent, StoredStory, ThreadHistory, ThreadPage, ThreadQuery } from "../threads/store.js";
import type { OpenThread, ThreadRegistry } from "../threads/threadRegistry.js";
import type { Turn, TurnRequest, TurnWatch } from "../threads/turn.js";
import type { TokenUsage } from "../threads/usage.js";
import type { Asker, ThreadAccess } from "./access.js";
import { type AskedSettings, changedSettings, namesAnything, type SettingsChange } from "./askedSettings.js";
import type { Attendance, AttendedTurn, Visit, Wish } from "./attendance.js";
import { type Caller, checkScope, hasScope, type Objection, type Scope, withoutSession } from "./caller.js";
import type { CallerCeilings } from "./ceilings.js";
import { AboveCeiling, CallerTimedOut, InsideTurn, InvalidArguments, NotOffered, SettingsInvalid, TookTooLong } from "./errors.js";
import type { Feed, FeedEntry, ThreadChange } from "./feed.js";
import type { Patience } from "./patience.js";
import type { TurnReceipt } from "./receipt.js";
import { isRecordAt, RecordRefused, threadInName } from "./recordPlace.js";
import { diffToRemote, type RemoteDiff } from "./remoteDiff.js";
import { focusedTarget, nothingToReview, QUIET_GIT, ReviewTargetMissing } from "./reviewTarget.js";
import { activityOf, type ThreadActivity } from "./threadActivity.js";
import { type FollowedBatch, followThread } from "./threadFollower.js";
import { ThreadList } from "./threadList.js";
import type { TurnLimiter } from "./turnLimiter.js";
import { type ReceiptParts, TurnReceipts } from "./turnReceipts.js";
import { costOf } from "./turnUsage.js";
import { FolderNotNamed, type WorkingFolders } from "./workingFolder.js";

/** Who asks the agent for something, and whether they still want it. */
export interface Ask extends Asker {
  /** Follows the turns that are begun for it. */
  readonly watchTurn?: TurnWatch | undefined;
  /** What its turns change on the disk is to be told. */
  readonly wantsReceipt?: boolean;
}

/** What somebody says, before the pictures are looked at that it names. */
export interface SaidInput {
  readonly text: string;
  readonly pictures?: readonly ({ readonly address: string } | { readonly file: string })[];
}

/** What was said last on a thread on which nothing runs. */
export interface LastAnswer {
  readonly text: string;
  readonly cwd: string;
  /** Of a review. */
  readonly findings?: readonly ReviewFinding[];
}

export interface AskedCommand {
  readonly argv: readonly string[];
  readonly cwd?: string | undefined;
  readonly sandbox?: AskedSettings["sandbox"];
  /** In the place of what is configured for the sandbox. */
  readonly sandboxPolicy?: ThreadSettings["sandboxPolicy"] | undefined;
  readonly timeoutMs: number;
}

export interface AgentParts extends ReceiptParts {
  readonly engine: Engine;
  readonly threads: ThreadRegistry;
  readonly desk: ApprovalDesk;
  readonly access: ThreadAccess;
  /** What seals the cursors of lists: 32 bytes, the same for all processes that share the threads. */
  readonly cursorKey: () => Promise<Buffer>;
  readonly feed: Feed;
  readonly attendance: Attendance;
  readonly patience: Patience;
  /** Absent on stdio, where nobody is limited. */
  readonly limiter?: TurnLimiter | undefined;
  /** What network callers may not go beyond. Opened when the first of them asks. */
  readonly ceilings: () => CallerCeilings;
  /** What happens to questions of clients that cannot be asked. */
  readonly approvalFallback: ApprovalFallback;
  readonly settings: {
    /** Throws `AppError` with the reason when settings cannot be had. */
    forNewThread(asked: AskedSettings): ThreadSettings;
    withChanges(settings: ThreadSettings, change: SettingsChange): ThreadSettings;
    withSandbox(settings: ThreadSettings, policy: ThreadSettings["sandboxPolicy"]): ThreadSettings;
  };
  /** The user's own configuration file. */
  readonly userConfig: Pick<UserConfig, "read" | "setDefaultModel">;
  /** Absent: every folder is taken. */
  readonly folders?: WorkingFolders | undefined;
  /** A picture that a caller names, as a `data:` address. Throws `AppError` when the thread's commands could not read it, or it is none. */
  readonly readPicture?:
    | ((file: string, forThread: { readonly settings: ThreadSettings; readonly reach: Reach | undefined }) => Promise<string>)
    | undefined;
  /** Throws `AppError` with the reason when the user's rules forbid a command, whoever wants to run it. */
  readonly checkCommand: (argv: readonly string[], settings: ThreadSettings) => Promise<void>;
  /** Why nothing is started for a caller. */
  readonly objection: Objection;
}

/** What the engine answers by itself, it answers within this time. */
const ENGINE_ANSWER_MS = 60_000;
/** Beyond its own time a command has this long to begin and to end. */
const COMMAND_START_MS = 30_000;
const COMMAND_STOP_MS = 5_000;
/** One look at a repository. */
const GIT_MS = 10_000;
/** The same, as Codex has it for what a remote lacks. */
const REMOTE_GIT_MS = 5_000;
/** One line of a list. */
const LONGEST_TITLE = 200;
/** For advice that may come without them. */
const RECENT_FOLDERS_MS = 2_000;
const RECENT_FOLDERS = { threads: 25, shown: 5 };
const NO_SEARCH = "Searching the web is turned off on this server: have `web_search` in its config.toml changed.";

/**
 * What a caller may do with the agent, whichever protocol it speaks. Every method takes who asks, checks what they may, and returns values of the
 * domain. Whatever was foreseen to go wrong is an `AppError`, whose `code` is for programs and whose message says what to do.
 */
export class Agent {
  readonly feed: Feed;
  /** How long calls wait for their turns. */
  readonly patience: Patience;
  readonly #parts: AgentParts;
  readonly #list: ThreadList;
  readonly #receipts: TurnReceipts;
  /** A desk that cannot be reached leaves a question open until its deadline, which denies it. */
  readonly #deciding = new Tasks(() => undefined);

  constructor(parts: AgentParts) {
    this.#parts = parts;
    this.feed = parts.feed;
    this.patience = parts.patience;
    this.#list = new ThreadList(parts.access, parts.cursorKey);
    this.#receipts = new TurnReceipts(parts);
  }

  get engineName(): string {
    return this.#parts.engine.name;
  }

  /**
   * Opens a thread of the caller's with its first turn, or gives the turn that was begun for the same wish when its caller was lost. Whoever gets a
   * turn visits it.
   */
  async begin(ask: Ask, input: TurnInput, { turnId, ...asked }: AskedSettings & { readonly turnId: TurnId }): Promise<Turn> {
    this.#check(ask, "call");
    const settings = await this.#settingsForWork(ask, asked);
    const { threads } = this.#parts;
    const wish = { input, on: settings };
    const begun = await this.#begunFor(ask, wish);
    if (begun) return begun;
    return this.#withPlace(ask, () => threads.start(settings, { ...this.#request(ask, wish), opened: this.#claiming(ask) }, turnId));
  }

  /** Opens a thread of the caller's on which nothing is asked yet. */
  async open(ask: Ask, asked: AskedSettings): Promise<OpenThread> {
    this.#check(ask, "call");
    const settings = await this.#settingsForWork(ask, asked);
    const limits = this.#limitsOf(ask.caller);
    // An engine may start servers for it, so that it needs a place as long as that takes.
    using _place = await this.#parts.limiter?.enter(ask);
    return await this.#promptly(ask, () => this.#parts.threads.open(settings, { limits, opened: this.#claiming(ask) }));
  }

  /** Brings a thread that the caller may use back into memory, with the settings that are named in the place of its own. Throws `ThreadInUse` while a turn runs on it. */
  async reopen(ask: Ask, threadId: ThreadId, asked: AskedSettings = {}): Promise<OpenThread> {
    this.#check(ask, "call");
    const { threads, access } = this.#parts;
    const limits = this.#limitsOf(ask.caller);
    const isNamed = Object.values(asked).some((value) => value !== undefined);
    const settingsFor = isNamed ? (current: ThreadSettings) => this.#overridden(ask, asked, current) : undefined;
    using _place = await this.#parts.limiter?.enter(ask);
    return await this.#promptly(ask, () => access.using(threadId, ask, () => threads.load(threadId, { limits, settingsFor })));
  }

  /** What was shown of a thread that the caller may watch, in Codex's own words for events. */
  async shownOn(ask: Ask, threadId: ThreadId): Promise<readonly ShownEvent[]> {
    this.#check(ask, "read");
    await this.#checkVisible(ask, threadId);
    return this.#promptly(ask, () => this.#parts.threads.shownOn(threadId));
  }

  /** Where the records of threads are that the caller may watch. */
  async recordPaths(ask: Ask, ids: readonly ThreadId[]): Promise<ReadonlyMap<ThreadId, string>> {
    this.#check(ask, "call");
    const { threads, access } = this.#parts;
    const seen = await Promise.all(ids.map((id) => access.isVisibleTo(id, ask.caller)));
    return this.#promptly(ask, () => threads.pathsOf(ids.filter((_, at) => seen[at])));
  }

  /** The thread whose record is at a path that somebody names. Nothing is read there. Throws `RecordRefused`, or `ThreadNotFound` for one that the caller may not watch. */
  async threadAt(ask: Ask, named: string): Promise<{ readonly id: ThreadId; readonly path: string }> {
    const id = threadInName(named);
    if (id === undefined) throw new RecordRefused(named);
    const path = (await this.recordPaths(ask, [id])).get(id);
    if (path === undefined) throw new ThreadNotFound(id);
    if (!isRecordAt(named, path)) throw new RecordRefused(named);
    return { id, path };
  }

  /**
   * What somebody says to a thread: given to the turn that runs, where that takes it, otherwise a turn of its own. With other settings, or
   * with pictures, it is always one of its own. Undefined when a running turn took it.
   */
  async say(ask: Ask, threadId: ThreadId, said: SaidInput, change?: SettingsChange): Promise<Turn | undefined> {
    this.#check(ask, "call");
    const { threads, access } = this.#parts;
    const settings = change && (await access.using(threadId, ask, () => this.#changed(ask, threadId, change)));
    const input = await access.using(threadId, ask, () => this.#inputOf(ask, said, async () => settings ?? threads.settingsOf(threadId)));
    const isSteering = input.images === undefined && threads.runningTurns(threadId).length > 0;
    if (isSteering && (!settings || isDeepStrictEqual(settings, await threads.settingsOf(threadId)))) {
      try {
        await this.steer(ask, threadId, input.text);
        return undefined;
      } catch (error) {
        // It has ended meanwhile, or takes nothing more.
        if (!(error instanceof NothingToSteer)) throw error;
      }
    }
    return this.reply(ask, threadId, input, settings);
  }

  /** What happens on a thread that the caller may watch, turn by turn, from what runs on; or from what happened after a cursor of the feed on. */
  async follow(
    ask: Ask,
    threadId: ThreadId,
    { since }: { readonly since?: string | undefined } = {},
  ): Promise<AsyncGenerator<FollowedBatch>> {
    this.#check(ask, "read");
    const { threads, attendance, access } = this.#parts;
    // Whoever watches sees by principal, whichever session uses the thread.
    if (!(await access.isVisibleTo(threadId, withoutSession(ask.caller)))) throw new ThreadNotFound(threadId);
    if (!threads.find(threadId)) await threads.history(threadId);
    return followThread({ threads, attendance, feed: this.feed }, { ...ask, threadId, since });
  }

  /** One more turn on a thread that the caller may use, whichever process started it; as with `begin`, the same wish has one turn. */
  async reply(ask: Ask, threadId: ThreadId, input: TurnInput, settings?: ThreadSettings): Promise<Turn> {
    this.#check(ask, "call");
    const { threads, access } = this.#parts;
    const wish = { input, on: threadId };
    const begun = await this.#begunFor(ask, wish);
    if (begun) return begun;
    const reply = async () => {
      this.#noteOwner(ask, threadId);
      try {
        return await threads.reply(threadId, { ...this.#request(ask, wish), settings });
      } catch (error) {
        if (!threads.find(threadId)) this.feed.forget(threadId);
        throw error;
      }
    };
    return this.#withPlace(ask, () => access.using(threadId, ask, reply));
  }

  /** A further turn with what the caller names in the place of what the thread ran with; it holds from this turn on. */
  async replyWith(ask: Ask, threadId: ThreadId, input: TurnInput, changes: AskedSettings): Promise<Turn> {
    this.#check(ask, "call");
    const changed = namesAnything(changes)
      ? await this.#parts.access.using(threadId, ask, () => this.#changedBy(ask, threadId, changes))
      : undefined;
    return this.reply(ask, threadId, input, changed);
  }

  /**
   * A turn that looks at changes, on a thread of its own that only looks; or why there is nothing to look at. Throws `ReviewTargetMissing` before a model is
   * asked. `focus` is what the reviewer should mind beside the changes themselves.
   */
  async review(
    ask: Ask,
    target: ReviewTarget,
    { focus, ...named }: AskedSettings & { readonly turnId: TurnId; readonly focus?: string | undefined },
  ): Promise<Turn | { readonly nothing: string }> {
    this.#check(ask, "call");
    const asked = { ...named, looksOnly: true } as const;
    const nothing = await this.#nothingToReview(ask, target, await this.#settingsForWork(ask, asked));
    if (nothing !== undefined) return { nothing };
    return this.begin(ask, { text: "", work: { kind: "review", target: focusedTarget(target, focus) } }, asked);
  }

  /** What the next turn on a thread that the caller may use runs with. Throws `ThreadNotFound`. */
  async settingsOf(ask: Ask, threadId: ThreadId): Promise<ThreadSettings> {
    this.#check(ask, "call");
    if (!(await this.#parts.access.isOpenTo(threadId, ask.caller))) throw new ThreadNotFound(threadId);
    return this.#nextSettings(threadId);
  }

  /** A turn that puts a summary in the place of a thread's past. */
  compact(ask: Ask, threadId: ThreadId): Promise<Turn> {
    return this.reply(ask, threadId, { text: "", work: { kind: "compact" } });
  }

  /** The caller is there for the turn until the visit ends. */
  visit(turn: Turn): Visit {
    return this.#parts.attendance.visit(turn);
  }

  /** Somebody looks on, until the returned value is disposed of: the turn does not end for want of callers. */
  lookOn(turn: Turn): Disposable {
    return this.#parts.attendance.lookOn(turn);
  }

  /**
   * The turn that somebody waits for who comes back to a thread: the oldest that runs or waits, or has ended without anybody being told. Undefined
   * when there is none. Throws `ThreadNotFound`.
   */
  async resume(ask: Ask, threadId: ThreadId): Promise<Turn | undefined> {
    this.#check(ask, "call");
    const { threads, access, attendance } = this.#parts;
    return this.#promptly(ask, () =>
      access.using(threadId, ask, async () => {
        const [oldest] = attendance.on(threadId);
        oldest?.known();
        const turn = oldest?.turn ?? threads.runningTurns(threadId)[0];
        if (!turn && !threads.find(threadId)) await threads.history(threadId);
        return turn;
      }),
    );
  }

  /** What the agent answered last on a thread on which nothing runs; undefined when its last turn was cut short before it did. */
  lastAnswer(ask: Ask, threadId: ThreadId): Promise<LastAnswer | undefined> {
    this.#check(ask, "call");
    const { threads, access } = this.#parts;
    return this.#promptly(ask, () => access.using(threadId, ask, async () => lastWords(await threads.history(threadId))));
  }

  /** The turns in the folder of this one whose caller was lost before it knew the thread; the caller may go on with them. */
  async lostTurns(ask: Ask, besides: Turn): Promise<readonly AttendedTurn[]> {
    const { threads, attendance } = this.#parts;
    const folderOf = (turn: Turn) => threads.find(turn.threadId)?.settings.cwd;
    const folder = folderOf(besides);
    const there = attendance.lost().filter(({ turn }) => turn !== besides && folder !== undefined && folderOf(turn) === folder);
    return this.#open(ask, there);
  }

  /** How the turns of a thread stand that the caller may watch: those that run or wait, and those whose end nobody was told. Oldest first. */
  async attended(ask: Ask, threadId: ThreadId): Promise<readonly AttendedTurn[]> {
    this.#check(ask, "read");
    await this.#checkVisible(ask, threadId);
    return this.#parts.attendance.on(threadId);
  }

  /** Gives the running turn of a thread more to consider. Throws `NothingToSteer`. */
  async steer(ask: Ask, threadId: ThreadId, text: string): Promise<void> {
    this.#check(ask, "call");
    const { threads, access } = this.#parts;
    await this.#promptly(ask, () => access.using(threadId, ask, () => threads.steer(threadId, text)));
  }

  /** Stops the running turn of a thread and those that wait behind it. False when there was none. */
  async interrupt(ask: Ask, threadId: ThreadId): Promise<boolean> {
    this.#check(ask, "call");
    await this.#checkVisible(ask, threadId);
    return this.#parts.threads.interrupt(threadId);
  }

  /** Stops what runs on a thread and waits behind it, and comes back when it has stopped. Throws `NothingToStop`, `ThreadNotFound`. */
  async stop(ask: Ask, threadId: ThreadId): Promise<void> {
    const { threads } = this.#parts;
    const turns = threads.runningTurns(threadId);
    if (await this.interrupt(ask, threadId)) {
      // A turn ends within the time that its engine has for it, whatever the engine does.
      await Promise.all(turns.map(({ outcome }) => outcome));
      return;
    }
    await threads.history(threadId);
    throw new NothingToStop(threadId);
  }

  /** The turns of a thread that run or wait, oldest first. */
  async runningTurns(ask: Ask, threadId: ThreadId): Promise<readonly Turn[]> {
    this.#check(ask, "read");
    await this.#checkVisible(ask, threadId);
    return this.#parts.threads.runningTurns(threadId);
  }

  /** How the last turn of a thread ends, if that is within the time; `running` if not, undefined when none runs. The turn goes on. */
  async wait(
    ask: Ask,
    threadId: ThreadId,
    { ms }: { readonly ms: number },
  ): Promise<TurnOutcome | { readonly status: "running" } | undefined> {
    const last = (await this.runningTurns(ask, threadId)).at(-1);
    if (!last) return undefined;
    const waited = await waitFor(last.outcome, { ms, signal: ask.signal });
    return waited.at === "ended" ? waited.value : { status: "running" };
  }

  /** What a turn did, whoever followed it. Of one that runs, what it did so far as its own events tell. */
  receiptOf(turn: Turn): Promise<TurnReceipt> {
    return this.#receipts.of(turn);
  }

  /** What so many tokens of a model cost in US dollars; undefined where its price is not configured. */
  costOf(model: string, usage: TokenUsage): number | undefined {
    const price = this.#parts.prices?.[model];
    return price && costOf(usage, price);
  }

  /** What is kept of a thread: what was said on it, and the settings it ran with. */
  async read(ask: Ask, threadId: ThreadId): Promise<ThreadHistory> {
    this.#check(ask, "read");
    await this.#checkVisible(ask, threadId);
    return this.#parts.threads.history(threadId);
  }

  /** What happened on a thread as it is kept, oldest first, for somebody who reads it. */
  async story(ask: Ask, threadId: ThreadId): Promise<StoredStory> {
    this.#check(ask, "read");
    await this.#checkVisible(ask, threadId);
    return this.#parts.threads.story(threadId);
  }

  /** The events of a turn that runs, or has ended not long ago; undefined when only what is kept of its thread tells of it. */
  async events(ask: Ask, turn: TurnAddress): Promise<LogReader<ThreadEvent> | undefined> {
    this.#check(ask, "read");
    await this.#checkVisible(ask, turn.threadId);
    return this.#parts.threads.events(turn);
  }

  /** The questions that wait for somebody, of the threads that the caller may see. */
  async questions(ask: Ask): Promise<readonly ApprovalRequest[]> {
    this.#check(ask, "read");
    const { desk, access } = this.#parts;
    const open = await Promise.all(
      (await desk.pending()).map(async (request) => ((await access.isVisibleTo(request.threadId, ask.caller)) ? [request] : [])),
    );
    return open.flat();
  }

  /** Decides a question of a thread that the caller may see. False when it is decided already, or nobody asked it. */
  async answer(ask: Ask, id: ApprovalId, decision: ApprovalDecision): Promise<boolean> {
    this.#check(ask, "call");
    const { desk, access } = this.#parts;
    const question = (await desk.pending()).find((request) => request.id === id);
    if (!question || !(await access.isVisibleTo(question.threadId, ask.caller))) return false;
    return desk.answer(id, ask.caller ? { ...decision, who: ask.caller.principal } : decision);
  }

  /** How a question of a thread that the caller may see was settled; undefined for one that is open, long past or unknown. */
  settlementOf(ask: Ask, id: ApprovalId): Extract<FeedEntry, { type: "questionAnswered" }> | undefined {
    this.#check(ask, "read");
    return this.feed.lastOf(ask.caller, "questionAnswered", ({ questionId }) => questionId === id);
  }

  /** For whoever was given the question with its turn. */
  decide(id: ApprovalId, decision: ApprovalDecision): void {
    this.#deciding.start(`answer to ${id}`, async () => {
      await this.#parts.desk.answer(id, decision);
    });
  }

  /**
   * Whether the client of a call is to be asked. For one that cannot answer, the question is decided or left open as `--approval-fallback` says;
   * where clients must not be asked unless they can answer, `ask` is `deny`.
   */
  mustAsk(
    { id, subject }: ApprovalRequest,
    { canAnswer, askAnyway }: { readonly canAnswer: boolean; readonly askAnyway: boolean },
  ): boolean {
    const { approvalFallback: fallback } = this.#parts;
    if (canAnswer || (fallback === "ask" && askAnyway)) return true;
    const decision = decideWithoutClient(subject, fallback === "ask" ? "deny" : fallback);
    if (decision) this.decide(id, { ...decision, by: "fallback" });
    return false;
  }

  /**
   * A client that was asked answered without a person. The question is left to others where the fallback holds such, and otherwise denied; never allowed.
   * True when it is left open.
   */
  answeredByNobody({ id }: ApprovalRequest): boolean {
    if (this.#parts.approvalFallback === "hold") return true;
    this.decide(id, { kind: "denied", reason: "the client declined by itself, and nobody was asked", by: "client" });
    return false;
  }

  /** A page of the threads that the caller may use, newest first. */
  list(ask: Ask, { cwd, ...query }: ThreadQuery): Promise<ThreadPage> {
    this.#check(ask, "call");
    const folder = cwd === undefined ? {} : { cwd: this.#settingsFor({ cwd }, ask.caller).cwd };
    const { threads } = this.#parts;
    return this.#promptly(ask, (signal) => this.#list.page(threads, { ...query, ...folder }, { caller: ask.caller, signal }));
  }

  /** A page of the threads that the caller may watch, whichever session uses them, newest first. */
  watchable(ask: Ask, query: ThreadQuery): Promise<ThreadPage> {
    this.#check(ask, "read");
    const { threads } = this.#parts;
    return this.#promptly(ask, (signal) => this.#list.page(threads, query, { caller: ask.caller, signal, watches: true }));
  }

  /** What goes on on threads that the caller was told of by `list`, or may see. */
  async activities(ask: Ask, ids: readonly ThreadId[]): Promise<ReadonlyMap<ThreadId, ThreadActivity>> {
    this.#check(ask, hasScope(ask.caller, "read") ? "read" : "call");
    const { threads, desk, access } = this.#parts;
    const seen = await Promise.all(ids.map((id) => access.isVisibleTo(id, ask.caller)));
    return activityOf(
      ids.filter((_, at) => seen[at]),
      { threads, desk, now: Date.now() },
    );
  }

  /** A thread of the caller's own with the same past. */
  fork(ask: Ask, id: ThreadId): Promise<ThreadId> {
    this.#check(ask, "call");
    const { access, threads } = this.#parts;
    const limits = this.#limitsOf(ask.caller);
    return this.#promptly(ask, async () => {
      const fork = await access.using(id, ask, () => threads.fork(id, limits));
      await access.claim(fork, ask);
      await this.#tellChange(ask, fork, "forked");
      return fork;
    });
  }

  /** Takes a thread out of the list. Throws `ThreadInUse` while a turn runs on it. */
  archive(ask: Ask, id: ThreadId): Promise<void> {
    this.#check(ask, "call");
    const { access, threads } = this.#parts;
    return this.#promptly(ask, async () => {
      await access.using(id, ask, () => threads.archive(id));
      await this.#tellChange(ask, id, "archived");
    });
  }

  unarchive(ask: Ask, id: ThreadId): Promise<void> {
    this.#check(ask, "call");
    const { access, threads } = this.#parts;
    return this.#promptly(ask, async () => {
      await access.using(id, ask, () => threads.unarchive(id));
      await this.#tellChange(ask, id, "unarchived");
    });
  }

  /** Gives a thread the title that lists show, Codex's included. A turn may run on it meanwhile. */
  rename(ask: Ask, id: ThreadId, title: string): Promise<void> {
    this.#check(ask, "call");
    const line = title.replace(/[\p{Cc}\s]+/gu, " ").trim();
    if (line === "") throw new InvalidArguments("A thread's title must not be empty.");
    if (line.length > LONGEST_TITLE)
      throw new InvalidArguments(`A thread's title has at most ${LONGEST_TITLE} characters; this one has ${line.length}.`);
    const { threads } = this.#parts;
    return this.#promptly(ask, async () => {
      await this.#changing(ask, id, () => threads.rename(id, line));
      await this.#tellChange(ask, id, "renamed", line);
    });
  }

  /**
   * Removes a thread and everything that was said on it. Whose it was stays known: what memory still has of it, or a backup brings back, is nobody
   * else's. Throws `ThreadInUse` while a turn runs on it.
   */
  remove(ask: Ask, id: ThreadId): Promise<void> {
    this.#check(ask, "call");
    const { threads } = this.#parts;
    return this.#promptly(ask, async () => {
      await this.#changing(ask, id, () => threads.remove(id));
      await this.#tellChange(ask, id, "removed");
    });
  }

  /** Runs one command in the sandbox it names, outside any thread. Nobody is asked. */
  async run(ask: Ask, { argv, timeoutMs, sandboxPolicy: policy, ...asked }: AskedCommand): Promise<OneOffResult> {
    this.#check(ask, "call");
    if (!argv[0]) throw new InvalidArguments("`command` must begin with a program.");
    const configured = await this.#settingsForWork(ask, asked);
    const settings = policy ? this.#parts.settings.withSandbox(configured, policy) : configured;
    const limits = this.#limitsOf(ask.caller);
    const check = () => limits?.check(settings);
    check();
    await this.#parts.checkCommand(argv, settings);
    const { cwd, sandboxPolicy } = settings;
    const command = { argv, cwd, sandboxPolicy, timeoutMs, check, reach: limits?.reach };
    using _place = await this.#parts.limiter?.enter(ask);
    const limit = { ms: timeoutMs + COMMAND_START_MS, stopMs: COMMAND_STOP_MS };
    return await endedWithin(limit, ask, async (signal) => {
      const services = await this.#services();
      signal.throwIfAborted();
      return services.runOnce(command, signal);
    });
  }

  /** What the user's own config.toml says, as it is written. It may hold secrets: whoever shows it chooses what. */
  savedConfig(ask: Ask): Promise<ConfigTree> {
    this.#check(ask, "manage");
    return this.#promptly(ask, () => this.#parts.userConfig.read());
  }

  /** Changes the user's own config.toml, for whoever starts threads from now on. */
  setDefaultModel(ask: Ask, wanted: DefaultModel): Promise<void> {
    this.#check(ask, "manage");
    return this.#promptly(ask, () => this.#parts.userConfig.setDefaultModel(wanted));
  }

  /** What a folder's repository has that its remote has not. Throws `NoRemoteDiff` with the reason when there is no such thing. */
  async diffToRemote(ask: Ask, cwd: string): Promise<RemoteDiff> {
    this.#check(ask, "manage");
    const settings = await this.#settingsForWork(ask, { cwd });
    using _place = await this.#parts.limiter?.enter(ask);
    return await diffToRemote((argv) => this.#runReading(ask, settings, { argv, timeoutMs: REMOTE_GIT_MS }));
  }

  /** The models that may be named. Also for turns: it starts nothing and tells nothing of anybody. */
  async models(ask: Ask): Promise<readonly ModelSummary[]> {
    checkScope(ask.caller, "call");
    return this.#promptly(ask, async (signal) => (await this.#services()).models(signal));
  }

  /** The settings in force in a folder, secrets masked. */
  config(ask: Ask, cwd: string | undefined): Promise<Readonly<Record<string, unknown>>> {
    this.#check(ask, "manage");
    const { cwd: folder } = this.#settingsFor({ cwd }, ask.caller);
    if (cwd !== undefined) this.#parts.folders?.checkUsable(folder);
    return this.#promptly(ask, async () => (await this.#services()).config(folder));
  }

  /** Who pays for the model. Whose account it is concerns only those who may change it. */
  async accountState(ask: Ask): Promise<AccountState> {
    this.#check(ask, "call");
    const state = await this.#promptly(ask, async () => (await this.#services()).account.state());
    if (state.kind !== "chatgpt" || hasScope(ask.caller, "manage")) return state;
    const { email: _, ...rest } = state;
    return rest;
  }

  /** Changes it for everybody on this server. */
  login(ask: Ask, apiKey: string): Promise<void> {
    return this.#onAccount(ask, (account) => account.loginWithKey(apiKey));
  }

  loginWithDeviceCode(ask: Ask): Promise<DeviceCode> {
    return this.#onAccount(ask, (account) => account.loginWithDeviceCode());
  }

  /** The login goes on when its caller has gone. */
  loginWithBrowser(ask: Ask): Promise<BrowserLogin> {
    return this.#onAccount(ask, (account) => account.loginWithBrowser());
  }

  /** False when no such login waits. */
  cancelLogin(ask: Ask, id: string): Promise<boolean> {
    return this.#onAccount(ask, (account) => account.cancelLogin(id));
  }

  /** How the server is logged in. Its secret is for those who run the server, and only where it is asked for. */
  async credentials(ask: Ask, { refresh, withToken }: { readonly refresh: boolean; readonly withToken: boolean }): Promise<Credentials> {
    if (withToken) checkScope(ask.caller, "operator");
    const { token, ...known } = await this.#onAccount(ask, (account) => account.credentials({ refresh }));
    return withToken && token !== undefined ? { ...known, token } : known;
  }

  logout(ask: Ask): Promise<void> {
    return this.#onAccount(ask, (account) => account.logout());
  }

  #onAccount<T>(ask: Ask, change: (account: Account) => Promise<T>): Promise<T> {
    this.#check(ask, "manage");
    return this.#promptly(ask, async () => change((await this.#services()).account));
  }

  /** Whoever is inside a turn gets nothing started, and nothing told that is somebody's. */
  #check({ caller }: Ask, scope: Scope): void {
    const why = this.#parts.objection(caller);
    if (why !== undefined) throw new InsideTurn(why);
    checkScope(caller, scope);
  }

  /** Makes a thread its caller's before anybody sees it. What the server's own user opens belongs to nobody. */
  #claiming(ask: Ask): ((id: ThreadId) => Promise<void>) | undefined {
    if (!ask.caller) return undefined;
    return async (id) => {
      await this.#parts.access.claim(id, ask);
      this.#noteOwner(ask, id);
    };
  }

  /** What nobody names stays as the thread has it. */
  #overridden(ask: Ask, asked: AskedSettings, current: ThreadSettings): ThreadSettings {
    const fresh = this.#settingsFor({ cwd: current.cwd, ...withoutAbsent(asked) }, ask.caller);
    const isNamed = (value: unknown, key: string) =>
      value !== undefined || asked.profile !== undefined || Object.hasOwn(asked.config ?? {}, key);
    const { approvalPolicy, sandboxPolicy, model, reasoningEffort } = current;
    this.#parts.folders?.checkUsable(fresh.cwd);
    return {
      ...fresh,
      ...(!isNamed(asked.approvalPolicy, "approval_policy") && { approvalPolicy }),
      ...(!isNamed(asked.sandbox, "sandbox_mode") && { sandboxPolicy }),
      ...(!isNamed(asked.model, "model") && {
        model,
        ...(current.modelIsDefault !== undefined && { modelIsDefault: current.modelIsDefault }),
      }),
      ...(!isNamed(undefined, "model_reasoning_effort") && reasoningEffort !== undefined && { reasoningEffort }),
    };
  }

  async #inputOf(ask: Ask, { text, pictures = [] }: SaidInput, settingsOf: () => Promise<ThreadSettings>): Promise<TurnInput> {
    if (pictures.length === 0) return { text };
    const forThread = { settings: await settingsOf(), reach: this.#limitsOf(ask.caller)?.reach };
    const { readPicture } = this.#parts;
    const images: string[] = [];
    for (const picture of pictures) {
      if ("address" in picture) images.push(picture.address);
      else if (readPicture) images.push(await this.#promptly(ask, () => readPicture(picture.file, forThread)));
    }
    return { text, images };
  }

  async #changed(ask: Ask, threadId: ThreadId, change: SettingsChange): Promise<ThreadSettings> {
    const { threads, settings: granted, folders } = this.#parts;
    const settings = granted.withChanges(await threads.settingsOf(threadId), change);
    // Nobody learns whether a folder exists that is beyond their ceilings.
    this.#limitsOf(ask.caller)?.check(settings);
    folders?.checkUsable(settings.cwd);
    return settings;
  }

  /** An operator may change what is somebody else's, who is told of it. */
  async #tellChange({ caller }: Ask, id: ThreadId, change: ThreadChange, name?: string): Promise<void> {
    const owner = (await this.#parts.access.ownerOf(id)) ?? caller?.principal;
    this.feed.threadChanged(id, { change, name, owner });
  }

  #noteOwner({ caller }: Ask, id: ThreadId): void {
    if (caller) this.feed.belongsTo(id, caller.principal);
  }

  /** For whoever could use the thread now, and for those who see it whichever session uses it. */
  async #changing(ask: Ask, id: ThreadId, change: () => Promise<void>): Promise<void> {
    const { access } = this.#parts;
    if (await access.isOpenTo(id, ask.caller)) return access.using(id, ask, change);
    await this.#checkVisible(ask, id);
    return change();
  }

  async #checkVisible({ caller }: Ask, id: ThreadId): Promise<void> {
    if (!(await this.#parts.access.isVisibleTo(id, caller))) throw new ThreadNotFound(id);
  }

  #settingsFor({ looksOnly, takesAnyModel = false, searchesWeb, ...named }: AskedSettings, caller: Caller | undefined): ThreadSettings {
    const asked: AskedSettings = looksOnly ? { ...named, sandbox: "read-only", approvalPolicy: "never" } : named;
    if (caller) this.#parts.ceilings().checkConfig(asked.config ?? {});
    try {
      const { settings: source } = this.#parts;
      if (searchesWeb && caller && source.forNewThread(asked).webSearch === "disabled") throw new AboveCeiling(NO_SEARCH);
      const settings = source.forNewThread(searchesWeb ? { ...asked, config: { ...asked.config, web_search: "live" } } : asked);
      return { ...settings, ...(looksOnly && { looksOnly }), ...(takesAnyModel && { modelIsReplaceable: true }) };
    } catch (error) {
      if (error instanceof AppError && !(error instanceof AboveCeiling)) throw new SettingsInvalid(error);
      throw error;
    }
  }

  /** Settings for what runs in their folder, which must be there. Nobody learns whether a folder exists that is beyond their ceilings. */
  async #settingsForWork(ask: Ask, asked: AskedSettings): Promise<ThreadSettings> {
    const settings = this.#settingsFor(asked, ask.caller);
    const { folders } = this.#parts;
    if (!folders || asked.takesAnyFolder) return settings;
    this.#limitsOf(ask.caller)?.check(settings);
    if (!asked.cwd && folders.mustBeNamed(settings)) throw new FolderNotNamed(settings.cwd, await this.#recentFolders(ask, settings.cwd));
    folders.checkUsable(settings.cwd);
    return settings;
  }

  /** The settings of a thread with those that the caller names; undefined where they are the same. */
  async #changedBy(ask: Ask, threadId: ThreadId, changes: AskedSettings): Promise<ThreadSettings | undefined> {
    const current = await this.#nextSettings(threadId);
    const asked = await this.#settingsForWork(ask, { ...changes, cwd: changes.cwd ?? current.cwd });
    const changed = changedSettings(current, { asked, changes });
    if (isDeepStrictEqual(changed, current)) return undefined;
    const { reasoningEffort: effort, reasoningSummary: summary } = changed;
    return this.#changed(ask, threadId, { ...changed, effort, summary });
  }

  /** What the turn after those that wait will run with. Throws `ThreadNotFound`. */
  async #nextSettings(threadId: ThreadId): Promise<ThreadSettings> {
    const { threads } = this.#parts;
    const waiting = threads.runningTurns(threadId).findLast(({ input }) => input.settings);
    return waiting?.input.settings ?? threads.settingsOf(threadId);
  }

  /** Where git cannot be run safely, the reviewer finds out by itself. */
  async #nothingToReview(ask: Ask, target: ReviewTarget, settings: ThreadSettings): Promise<string | undefined> {
    if (target.type === "custom") return undefined;
    const git = (args: readonly string[]) => this.#runReading(ask, settings, { argv: [...QUIET_GIT, ...args], timeoutMs: GIT_MS });
    // Given back before the review takes its own.
    using _place = await this.#parts.limiter?.enter(ask);
    try {
      return await nothingToReview(target, git);
    } catch (error) {
      if (error instanceof ReviewTargetMissing || error instanceof AboveCeiling || !(error instanceof AppError)) throw error;
      return undefined;
    }
  }

  /** A command of ours in the folder of a caller, in a sandbox that only reads. */
  #runReading(ask: Ask, settings: ThreadSettings, { argv, timeoutMs }: Pick<AskedCommand, "argv" | "timeoutMs">): Promise<OneOffResult> {
    const limits = this.#limitsOf(ask.caller);
    const command = {
      argv,
      cwd: settings.cwd,
      sandboxPolicy: { type: "read-only" } as const,
      timeoutMs,
      check: () => limits?.check(settings),
      reach: limits?.reach,
    };
    return this.#promptly(ask, async (signal) => (await this.#services()).runOnce(command, signal));
  }

  async #recentFolders(ask: Ask, besides: string): Promise<readonly string[]> {
    try {
      const page = await valueWithin(RECENT_FOLDERS_MS, this.list(ask, { limit: RECENT_FOLDERS.threads }), { threads: [] });
      const folders = new Set(page.threads.map(({ cwd }) => cwd));
      return [...folders].filter((folder) => folder !== besides).slice(0, RECENT_FOLDERS.shown);
    } catch {
      return [];
    }
  }

  #limitsOf(caller: Caller | undefined): TurnLimits | undefined {
    return caller && this.#parts.ceilings().limitsOf(caller);
  }

  #request(ask: Ask, wish: Wish): TurnRequest {
    const { caller, watchTurn } = ask;
    const limits = this.#limitsOf(caller);
    const attend = this.#parts.attendance.watch(wish);
    const watch: TurnWatch = (turn) => {
      // A reply that was cancelled while it was prepared must not begin when its place in the queue comes. A first turn also tells of its thread.
      const isReply = typeof wish.on === "string";
      if (isReply && ask.signal.aborted && !(ask.signal.reason instanceof CallerTimedOut)) queueMicrotask(() => turn.interrupt());
      const [attended, watched] = [attend(turn), watchTurn?.(turn)];
      return (event) => {
        watched?.(event);
        attended(event);
      };
    };
    return { ...wish.input, limits, ...this.#receipts.requestWith({ watch, reach: limits?.reach, looks: ask.wantsReceipt === true }) };
  }

  /** A caller that was lost does not know the thread and asks again: a second turn for the same would do everything twice. */
  async #begunFor(ask: Ask, wish: Wish): Promise<Turn | undefined> {
    const lost = this.#parts.attendance.lost().filter((attended) => attended.fulfils(wish));
    const [first] = await this.#open(ask, lost);
    return first?.turn;
  }

  /** Those whose threads the caller could use now. */
  async #open({ caller }: Ask, turns: readonly AttendedTurn[]): Promise<readonly AttendedTurn[]> {
    const { access } = this.#parts;
    const open = await Promise.all(
      turns.map(async (attended) => ((await access.isOpenTo(attended.turn.threadId, caller)) ? [attended] : [])),
    );
    return open.flat();
  }

  /** A place among the turns that may run at once, from before the turn begins until it has ended. */
  async #withPlace(ask: Ask, begin: () => Promise<Turn>): Promise<Turn> {
    const place = await this.#parts.limiter?.enter(ask);
    try {
      const turn = await begin();
      // The outcome never rejects.
      if (place) void turn.outcome.then(() => place[Symbol.dispose]());
      return turn;
    } catch (error) {
      place?.[Symbol.dispose]();
      throw error;
    }
  }

  #promptly<T>(ask: Ask, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return endedWithin({ ms: ENGINE_ANSWER_MS, stopMs: 0 }, ask, work);
  }

  async #services(): Promise<EngineServices> {
    const { engine } = this.#parts;
    if (!engine.services) throw new NotOffered(engine.name);
    return engine.services();
  }
}

/** A key without a value would hide a default. */
function withoutAbsent(asked: AskedSettings): AskedSettings {
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
}

/** Ends with the work, with its call, or with its time, whichever comes first. */
async function endedWithin<T>(
  { ms, stopMs }: { readonly ms: number; readonly stopMs: number },
  { signal }: Ask,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  using deadline = new Deadline(ms, () => new TookTooLong(ms));
  return await withDeadline({ deadline, signal, stopMs }, work);
}

/** Of the last turn only: what was said before is no answer to it, and neither is what was said before a tool was called. */
function lastWords({ items, settings: { cwd } }: ThreadHistory): LastAnswer | undefined {
  const isStep = ({ type, role }: RawItem) =>
    type === "message" ? role === "assistant" || role === "user" : /_(?:call|output)$/.test(type);
  const last = items.findLast(isStep);
  if (last?.["role"] !== "assistant" || !Array.isArray(last["content"])) return undefined;
  const text = textOf(last);
  const request = items.findLast(({ type, role }) => type === "message" && role === "user");
  return { text, cwd, ...(request && isReviewRequest(textOf(request)) && { findings: findingsIn(text) }) };
}

function textOf({ content }: RawItem): string {
  if (!Array.isArray(content)) return "";
  return content.map((part: unknown) => (isFields(part) && typeof part["text"] === "string" ? part["text"] : "")).join("");
}
