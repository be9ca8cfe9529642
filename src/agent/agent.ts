// Long because it holds every operation that a caller may request on threads and turns.
import { isDeepStrictEqual } from "node:util";
import type { ApprovalDesk } from "../approvals/desk.js";
import { type ApprovalFallback, decideWithoutClient } from "../approvals/fallback.js";
import type { ApprovalDecision, ApprovalId, ApprovalRequest } from "../approvals/model.js";
import { AppError } from "../lib/errors.js";
import { withoutUndefined } from "../lib/fields.js";
import type { ThreadId, TurnId } from "../lib/ids.js";
import { Tasks, valueWithin, waitFor } from "../lib/promises.js";
import { NothingToSteer, NothingToStop, ThreadNotFound } from "../threads/errors.js";
import type { LogReader, TurnAddress } from "../threads/eventLog.js";
import type { ReviewTarget, ThreadEvent, TurnInput, TurnOutcome } from "../threads/events.js";
import type { AskedLines, FileExcerpt } from "../threads/excerpt.js";
import type { Reach, TurnLimits } from "../threads/limits.js";
import type { ThreadSettings } from "../threads/settings.js";
import type { ShownEvent, StoredStory, ThreadHistory, ThreadPage, ThreadQuery } from "../threads/store.js";
import type { OpenThread, ThreadRegistry } from "../threads/threadRegistry.js";
import type { Turn, TurnRequest, TurnWatch } from "../threads/turn.js";
import type { TokenUsage } from "../threads/usage.js";
import type { Asker, ThreadAccess } from "./access.js";
import type { Attendance, AttendedTurn, Visit, Wish } from "./attendance.js";
import { promptly } from "./callDeadline.js";
import { type Caller, checkScope, hasScope, type Objection, type Scope, withoutSession } from "./caller.js";
import type { CallerCeilings } from "./ceilings.js";
import { AboveCeiling, CallerTimedOut, InsideTurn, InvalidArguments, NotOffered, SettingsInvalid } from "./errors.js";
import type { Feed, FeedEntry, ThreadChange } from "./feed.js";
import {
  type AskedSettings,
  changedSettings,
  checkLengths,
  FolderNotNamed,
  namesAnything,
  type SettingsChange,
} from "./grantedSettings.js";
import { type LastAnswer, lastAnswerIn, lastEnd, type SilentEnd } from "./lastAnswer.js";
import type { Patience } from "./patience.js";
import { Readers } from "./readers.js";
import { costOf, type TurnReceipt } from "./receipt.js";
import { isRecordAt, RecordRefused, threadInName } from "./recordPlace.js";
import { focusedTarget, nothingToReview, QUIET_GIT, ReviewTargetMissing } from "./reviewTarget.js";
import { ServerOperations, type ServerParts } from "./serverOperations.js";
import { activityOf, type ThreadActivity } from "./threadActivity.js";
import { type FollowedBatch, followThread } from "./threadFollower.js";
import { ThreadList } from "./threadList.js";
import { type ReceiptParts, TurnReceipts } from "./turnReceipts.js";

/** The caller of an operation, its abort signal and how its turns are observed. */
export interface Ask extends Asker {
  /** Observes the turns that this call starts. */
  readonly watchTurn?: TurnWatch | undefined;
  /** Whether receipts include the files that a turn changed on disk. */
  readonly wantsReceipt?: boolean;
}

/** A user message before the images it names are read. */
export interface SaidInput {
  readonly text: string;
  readonly images?: readonly ({ readonly url: string } | { readonly file: string })[];
}

export interface AgentParts extends ReceiptParts, ServerParts {
  readonly threads: ThreadRegistry;
  readonly desk: ApprovalDesk;
  readonly access: ThreadAccess;
  /** The key that encrypts list cursors: 32 bytes, the same for all processes that share the threads. */
  readonly cursorKey: () => Promise<Buffer>;
  readonly feed: Feed;
  readonly attendance: Attendance;
  readonly patience: Patience;
  /** The limits of network callers. Created when the first network caller arrives. */
  readonly ceilings: () => CallerCeilings;
  /** What happens to questions when the client cannot answer them. */
  readonly approvalFallback: ApprovalFallback;
  readonly settings: ServerParts["settings"] & {
    /** Throws `AppError` with the reason if the settings are invalid. */
    forNewThread(asked: AskedSettings): ThreadSettings;
    withChanges(settings: ThreadSettings, change: SettingsChange): ThreadSettings;
  };
  /**
   * Returns an image file named by a caller as a `data:` URL. Throws `AppError` if the thread's commands could not read the file, or if it
   * is not an image.
   */
  readonly readImage?:
    | ((file: string, forThread: { readonly settings: ThreadSettings; readonly reach: Reach | undefined }) => Promise<string>)
    | undefined;
  /** Lines of a file in a thread's folder. Throws `AppError` when they cannot be shown. */
  readonly readExcerpt?:
    | ((lines: AskedLines, forThread: { readonly settings: ThreadSettings; readonly reach: Reach | undefined }) => Promise<FileExcerpt>)
    | undefined;
  /** Returns why nothing may be started for a caller. */
  readonly objection: Objection;
}

/** Timeout for one git command. */
const GIT_MS = 10_000;
/** The images of one message as `data:` URLs; a few bytes can name the same large file many times. */
const MOST_IMAGES_LENGTH = 32 * 2 ** 20;
/** A title takes one line in a list. */
const LONGEST_TITLE = 200;
/** Recent folders are only a hint in an error message, so the error does not wait long for them. */
const RECENT_FOLDERS_MS = 2_000;
const RECENT_FOLDERS = { threads: 25, shown: 5 };
const NO_SEARCH = "Web search is turned off on this server. To allow it, change `web_search` in the server's config.toml.";

/**
 * Every operation that a caller may request, for all protocols. Each method takes the caller, checks its permissions and returns domain
 * values. Every expected failure is an `AppError`: its `code` is for programs, and its message says what to do.
 */
export class Agent {
  readonly feed: Feed;
  /** How long calls wait for their turns. */
  readonly patience: Patience;
  readonly #parts: AgentParts;
  readonly #list: ThreadList;
  readonly #receipts: TurnReceipts;
  #server: ServerOperations | undefined;
  readonly #readers = new Readers();
  /** If the desk cannot be reached, the question stays open until its deadline, which denies it. */
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

  /** The operations outside any thread. */
  get server(): ServerOperations {
    this.#server ??= new ServerOperations(this.#parts, {
      check: (ask, scope) => this.#check(ask, scope),
      settingsFor: (asked, caller) => this.#settingsFor(asked, caller),
      settingsForWork: (ask, asked) => this.#settingsForWork(ask, asked),
      limitsOf: (caller) => this.#limitsOf(caller),
    });
    return this.#server;
  }

  /**
   * Opens a thread of the caller's and starts its first turn. If an earlier caller with the same request was lost, returns the turn that
   * was started for it. The caller must `visit` the returned turn.
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

  /** Opens a thread of the caller's without a turn. */
  async open(ask: Ask, asked: AskedSettings): Promise<OpenThread> {
    this.#check(ask, "call");
    const settings = await this.#settingsForWork(ask, asked);
    const limits = this.#limitsOf(ask.caller);
    // An engine may start MCP servers for the thread, so opening it counts against the turn limit meanwhile.
    using _place = await this.#parts.limiter?.enter(ask);
    return await promptly(ask, () => this.#parts.threads.open(settings, { limits, opened: this.#claiming(ask) }));
  }

  /**
   * Loads a thread that the caller may use into memory, with the named settings replacing its own. Throws `ThreadInUse` while a turn runs
   * on it.
   */
  async reopen(ask: Ask, threadId: ThreadId, asked: AskedSettings = {}): Promise<OpenThread> {
    this.#check(ask, "call");
    const { threads, access } = this.#parts;
    const limits = this.#limitsOf(ask.caller);
    const isNamed = Object.values(asked).some((value) => value !== undefined);
    const settingsFor = isNamed ? (current: ThreadSettings) => this.#overridden(ask, asked, current) : undefined;
    using _place = await this.#parts.limiter?.enter(ask);
    return await promptly(ask, () => access.using(threadId, ask, () => threads.load(threadId, { limits, settingsFor })));
  }

  /** The events that were shown on a thread, in Codex's own event format. The caller must be allowed to watch the thread. */
  async shownOn(ask: Ask, threadId: ThreadId): Promise<readonly ShownEvent[]> {
    this.#check(ask, "read");
    await this.#checkVisible(ask, threadId);
    return this.#readingPromptly(ask, () => this.#parts.threads.shownOn(threadId));
  }

  /** The rollout paths of those threads that the caller may watch. */
  async recordPaths(ask: Ask, ids: readonly ThreadId[]): Promise<ReadonlyMap<ThreadId, string>> {
    this.#check(ask, "call");
    const { threads, access } = this.#parts;
    const seen = await Promise.all(ids.map((id) => access.isVisibleTo(id, ask.caller)));
    return promptly(ask, () => threads.pathsOf(ids.filter((_, at) => seen[at])));
  }

  /**
   * The thread whose rollout file is at the named path. The file is not read. Throws `RecordRefused`, or `ThreadNotFound` if the caller may
   * not watch the thread.
   */
  async threadAt(ask: Ask, named: string): Promise<{ readonly id: ThreadId; readonly path: string }> {
    const id = threadInName(named);
    if (id === undefined) throw new RecordRefused(named);
    const path = (await this.recordPaths(ask, [id])).get(id);
    if (path === undefined) throw new ThreadNotFound(id);
    if (!isRecordAt(named, path)) throw new RecordRefused(named);
    return { id, path };
  }

  /**
   * Sends a user message to a thread. The running turn takes it if it can; otherwise the message starts a new turn. A message with images
   * or changed settings always starts a new turn. Returns undefined if the running turn took the message.
   */
  async say(ask: Ask, threadId: ThreadId, said: SaidInput, change?: SettingsChange): Promise<Turn | undefined> {
    this.#check(ask, "call");
    const { threads, access } = this.#parts;
    const settings = change && (await access.using(threadId, ask, () => this.#changed(ask, threadId, change)));
    const current = async () => settings ?? this.#keptSettings(ask, threadId);
    const input = await access.using(threadId, ask, () => this.#inputOf(ask, said, current));
    const isSteering = input.images === undefined && threads.runningTurns(threadId).length > 0;
    if (isSteering && (!settings || isDeepStrictEqual(settings, await this.#keptSettings(ask, threadId)))) {
      try {
        await this.steer(ask, threadId, input.text);
        return undefined;
      } catch (error) {
        // The turn has ended meanwhile, or it accepts no more input.
        if (!(error instanceof NothingToSteer)) throw error;
      }
    }
    return this.reply(ask, threadId, input, settings);
  }

  /** Streams the events of a thread that the caller may watch: from the running turns on, or from a cursor of the feed on. */
  async follow(
    ask: Ask,
    threadId: ThreadId,
    { since }: { readonly since?: string | undefined } = {},
  ): Promise<AsyncGenerator<FollowedBatch>> {
    this.#check(ask, "read");
    const { threads, attendance, access } = this.#parts;
    // Watching is allowed per principal, whichever session holds the thread.
    if (!(await access.isVisibleTo(threadId, withoutSession(ask.caller)))) throw new ThreadNotFound(threadId);
    await threads.checkKnown(threadId);
    return followThread({ threads, attendance, feed: this.feed }, { ...ask, threadId, since });
  }

  /**
   * Starts another turn on a thread that the caller may use, whichever process started the thread. As with `begin`, a repeated request
   * returns the turn of the lost caller.
   */
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

  /** Starts another turn with changed settings. They stay in force for later turns. */
  async replyWith(ask: Ask, threadId: ThreadId, input: TurnInput, changes: AskedSettings): Promise<Turn> {
    this.#check(ask, "call");
    const changed = namesAnything(changes)
      ? await this.#parts.access.using(threadId, ask, () => this.#changedBy(ask, threadId, changes))
      : undefined;
    return this.reply(ask, threadId, input, changed);
  }

  /**
   * Starts a review turn on a new read-only thread, or returns why there is nothing to review. Throws `ReviewTargetMissing` before the
   * model is called. `focus` tells the reviewer what else to pay attention to.
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

  /** The settings of the next turn on a thread that the caller may use. Throws `ThreadNotFound`. */
  async settingsOf(ask: Ask, threadId: ThreadId): Promise<ThreadSettings> {
    this.#check(ask, "call");
    if (!(await this.#parts.access.isOpenTo(threadId, ask.caller))) throw new ThreadNotFound(threadId);
    return this.#nextSettings(ask, threadId);
  }

  /** Starts a turn that replaces a thread's history with a summary. */
  compact(ask: Ask, threadId: ThreadId): Promise<Turn> {
    return this.reply(ask, threadId, { text: "", work: { kind: "compact" } });
  }

  /** Marks the caller as attending the turn until the visit ends. */
  visit(turn: Turn): Visit {
    return this.#parts.attendance.visit(turn);
  }

  /** Marks the turn as observed until the returned value is disposed, so that it is not interrupted as unattended. */
  lookOn(turn: Turn): Disposable {
    return this.#parts.attendance.lookOn(turn);
  }

  /**
   * The turn that a returning caller should wait for: the oldest turn that runs, is queued, or has ended with an undelivered result.
   * Undefined if there is none. Throws `ThreadNotFound`.
   */
  async resume(ask: Ask, threadId: ThreadId): Promise<{ readonly turn: Turn; readonly hasNewer: boolean } | undefined> {
    this.#check(ask, "call");
    const { threads, access, attendance } = this.#parts;
    return promptly(ask, () =>
      access.using(threadId, ask, async () => {
        const [oldest] = attendance.on(threadId);
        oldest?.known();
        if (oldest) return oldest;
        const [turn, newer] = threads.runningTurns(threadId);
        if (turn) return { turn, hasNewer: newer !== undefined };
        await threads.checkKnown(threadId);
        return undefined;
      }),
    );
  }

  /**
   * What the agent answered last on a thread without a running turn, or how its last turn ended without an answer. Throws
   * `ThreadBusyElsewhere`.
   */
  lastAnswer(ask: Ask, threadId: ThreadId): Promise<LastAnswer | SilentEnd> {
    this.#check(ask, "call");
    const { threads, access } = this.#parts;
    const found = async () => {
      const answer = lastAnswerIn(await threads.historyAtRest(threadId));
      const end = await lastEnd(await threads.story(threadId));
      // What an agent said before its turn broke off is no answer.
      return end.how === "failed" || end.how === "interrupted" ? end : (answer ?? end);
    };
    return this.#readingPromptly(ask, () => access.using(threadId, ask, found));
  }

  /** How the last turn of a thread ended, according to its record. */
  async lastEnd(ask: Ask, threadId: ThreadId): Promise<SilentEnd> {
    this.#check(ask, "read");
    await this.#checkVisible(ask, threadId);
    return this.reading(ask, async () => lastEnd(await this.#parts.threads.story(threadId)));
  }

  /** The turns in the same folder whose caller was lost before it learned the thread id, and that this caller may use. */
  async lostTurns(ask: Ask, besides: Turn): Promise<readonly AttendedTurn[]> {
    const { threads, attendance } = this.#parts;
    const lost = attendance.lost();
    if (lost.length === 0) return lost;
    const folderOf = (turn: Turn) => threads.find(turn.threadId)?.settings.cwd;
    const folder = folderOf(besides);
    const there = lost.filter(({ turn }) => turn !== besides && folder !== undefined && folderOf(turn) === folder);
    return this.#open(ask, there);
  }

  /** The turns of a thread that the caller may watch: running, queued, or ended with an undelivered result. Oldest first. */
  async attended(ask: Ask, threadId: ThreadId): Promise<readonly AttendedTurn[]> {
    this.#check(ask, "read");
    await this.#checkVisible(ask, threadId);
    return this.#parts.attendance.on(threadId);
  }

  /** Gives the running turn of a thread more to consider. Throws `NothingToSteer`, `ThreadNotFound`, `ThreadBusyElsewhere`. */
  async steer(ask: Ask, threadId: ThreadId, text: string): Promise<void> {
    this.#check(ask, "call");
    const { threads, access } = this.#parts;
    await promptly(ask, () => access.using(threadId, ask, () => threads.steer(threadId, text)));
  }

  /** Interrupts the running turn of a thread and the queued ones. Returns false if there was none. */
  async interrupt(ask: Ask, threadId: ThreadId): Promise<boolean> {
    this.#check(ask, "call");
    await this.#checkVisible(ask, threadId);
    return this.#parts.threads.interrupt(threadId, "another call or a person stopped it");
  }

  /**
   * Stops the running turn of a thread and the queued ones. Resolves when they have stopped. Throws `NothingToStop`, `ThreadNotFound`,
   * `ThreadBusyElsewhere`.
   */
  async stop(ask: Ask, threadId: ThreadId): Promise<void> {
    const { threads } = this.#parts;
    const turns = threads.runningTurns(threadId);
    if (await this.interrupt(ask, threadId)) {
      // The registry bounds how long an interrupted turn may take to end, whatever the engine does.
      await Promise.all(turns.map(({ outcome }) => outcome));
      return;
    }
    await threads.historyAtRest(threadId);
    throw new NothingToStop(threadId);
  }

  /** The running and queued turns of a thread, oldest first. */
  async runningTurns(ask: Ask, threadId: ThreadId): Promise<readonly Turn[]> {
    this.#check(ask, "read");
    await this.#checkVisible(ask, threadId);
    return this.#parts.threads.runningTurns(threadId);
  }

  /**
   * The outcome of a thread's last turn if it ends within the given time, `running` if not, undefined if no turn runs. Waiting does not
   * stop the turn.
   */
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

  /** The receipt of a turn. For a running turn, what its events have reported so far. */
  receiptOf(turn: Turn): Promise<TurnReceipt> {
    return this.#receipts.of(turn);
  }

  /** The price of the given tokens in US dollars; undefined if the model's price is not configured. */
  costOf(model: string, usage: TokenUsage): number | undefined {
    const price = this.#parts.prices?.[model];
    return price && costOf(usage, price);
  }

  /** The stored history and settings of a thread. */
  async read(ask: Ask, threadId: ThreadId): Promise<ThreadHistory> {
    this.#check(ask, "read");
    await this.#checkVisible(ask, threadId);
    return this.reading(ask, () => this.#parts.threads.history(threadId));
  }

  /** Work that reads a whole thread, or many: only some of it is done for one principal at the same time. */
  reading<T>(ask: Ask, work: () => Promise<T>): Promise<T> {
    return this.#readers.read(ask, work);
  }

  /** The same with a time limit, which includes the wait. If the caller gives up, its place stays taken until the work has ended. */
  #readingPromptly<T>(ask: Ask, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return promptly(ask, (signal) => this.#readers.read({ ...ask, signal }, () => work(signal)));
  }

  /** The stored events of a thread in a readable form, oldest first. Read them within `reading`. */
  async story(ask: Ask, threadId: ThreadId): Promise<StoredStory> {
    this.#check(ask, "read");
    await this.#checkVisible(ask, threadId);
    return this.#parts.threads.story(threadId);
  }

  /** Lines of a file in the folder of a thread that the caller may see. */
  async excerpt(ask: Ask, threadId: ThreadId, lines: AskedLines): Promise<FileExcerpt> {
    this.#check(ask, "read");
    await this.#checkVisible(ask, threadId);
    const { readExcerpt, threads, engine } = this.#parts;
    if (!readExcerpt) throw new NotOffered(engine.name);
    const read = async () => readExcerpt(lines, { settings: await threads.settingsOf(threadId), reach: this.#limitsOf(ask.caller)?.reach });
    return this.#readingPromptly(ask, read);
  }

  /** The events of a running or recently ended turn; undefined if only the stored history of its thread has them. */
  async events(ask: Ask, turn: TurnAddress): Promise<LogReader<ThreadEvent> | undefined> {
    this.#check(ask, "read");
    await this.#checkVisible(ask, turn.threadId);
    return this.#parts.threads.events(turn);
  }

  /** The open questions of the threads that the caller may see. */
  async questions(ask: Ask): Promise<readonly ApprovalRequest[]> {
    this.#check(ask, "read");
    const { desk, access } = this.#parts;
    const open = await Promise.all(
      (await desk.pending()).map(async (request) => ((await access.isVisibleTo(request.threadId, ask.caller)) ? [request] : [])),
    );
    return open.flat();
  }

  /** Answers a question of a thread that the caller may see. Returns false if it is already decided or does not exist. */
  async answer(ask: Ask, id: ApprovalId, decision: ApprovalDecision): Promise<boolean> {
    this.#check(ask, "call");
    const { desk, access } = this.#parts;
    const question = (await desk.pending()).find((request) => request.id === id);
    if (!question || !(await access.isVisibleTo(question.threadId, ask.caller))) return false;
    return desk.answer(id, ask.caller ? { ...decision, who: ask.caller.principal } : decision);
  }

  /** How a question of a thread that the caller may see was settled; undefined if it is open, no longer kept or unknown. */
  settlementOf(ask: Ask, id: string): Extract<FeedEntry, { type: "questionAnswered" }> | undefined {
    this.#check(ask, "read");
    return this.feed.lastOf(ask.caller, "questionAnswered", ({ questionId }) => questionId === id);
  }

  /** For a caller that received the question together with its turn, so no access check is needed. */
  decide(id: ApprovalId, decision: ApprovalDecision): void {
    this.#deciding.start(`answer to ${id}`, async () => {
      await this.#parts.desk.answer(id, decision);
    });
  }

  /**
   * Whether to ask the client of a call. If the client cannot answer, the question is decided or left open as `--approval-fallback` says.
   * If `askAnyway` is false, the fallback `ask` counts as `deny`.
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
   * Handles an answer that the client gave without asking a person. The question stays open for others if the fallback is `hold`; otherwise
   * it is denied, never allowed. Returns true if it stays open.
   */
  answeredByNobody({ id }: ApprovalRequest): boolean {
    if (this.#parts.approvalFallback === "hold") return true;
    this.decide(id, { kind: "denied", reason: "the client declined by itself, and nobody was asked", by: "client" });
    return false;
  }

  /** A page of the threads that the caller may use, newest first. */
  list(ask: Asker, { cwd, ...query }: ThreadQuery): Promise<ThreadPage> {
    this.#check(ask, "call");
    const folder = cwd === undefined ? {} : { cwd: this.#settingsFor({ cwd }, ask.caller).cwd };
    const { threads } = this.#parts;
    const page = (signal: AbortSignal) => this.#list.page(threads, { ...query, ...folder }, { caller: ask.caller, signal });
    return this.#readingPromptly(ask, page);
  }

  /** A page of the threads that the caller may watch, whichever session uses them, newest first. */
  watchable(ask: Ask, query: ThreadQuery): Promise<ThreadPage> {
    this.#check(ask, "read");
    const { threads } = this.#parts;
    const page = (signal: AbortSignal) => this.#list.page(threads, query, { caller: ask.caller, signal, watches: true });
    return this.#readingPromptly(ask, page);
  }

  /** The current activity of the given threads. The caller got the ids from `list`, or may see the threads. */
  async activities(ask: Ask, ids: readonly ThreadId[]): Promise<ReadonlyMap<ThreadId, ThreadActivity>> {
    this.#check(ask, hasScope(ask.caller, "read") ? "read" : "call");
    const { threads, desk, access } = this.#parts;
    const seen = await Promise.all(ids.map((id) => access.isVisibleTo(id, ask.caller)));
    return activityOf(
      ids.filter((_, at) => seen[at]),
      { threads, desk },
    );
  }

  /** Of the given threads, those on which another process runs a turn. This process must not run a turn on any of them. */
  async busyElsewhere(ids: readonly ThreadId[]): Promise<ReadonlySet<ThreadId>> {
    const busy = await Promise.all(ids.map((id) => this.#parts.threads.isBusyElsewhere(id)));
    return new Set(ids.filter((_, at) => busy[at]));
  }

  /** Copies a thread with its history into a new thread of the caller's. */
  fork(ask: Ask, id: ThreadId): Promise<ThreadId> {
    this.#check(ask, "call");
    const { access, threads } = this.#parts;
    const limits = this.#limitsOf(ask.caller);
    const fork = async () => {
      const made = await access.using(id, ask, () => threads.fork(id, limits));
      await access.claim(made, ask);
      await this.#tellChange(ask, made, "forked");
      return made;
    };
    return this.#readingPromptly(ask, fork);
  }

  /** Removes a thread from the list. Throws `ThreadInUse` while a turn runs on it. */
  archive(ask: Ask, id: ThreadId): Promise<void> {
    this.#check(ask, "call");
    const { access, threads } = this.#parts;
    return promptly(ask, async () => {
      await access.using(id, ask, () => threads.archive(id));
      await this.#tellChange(ask, id, "archived");
    });
  }

  unarchive(ask: Ask, id: ThreadId): Promise<void> {
    this.#check(ask, "call");
    const { access, threads } = this.#parts;
    return promptly(ask, async () => {
      await access.using(id, ask, () => threads.unarchive(id));
      await this.#tellChange(ask, id, "unarchived");
    });
  }

  /** Sets the title that lists show, Codex's own lists included. A turn may run meanwhile. */
  rename(ask: Ask, id: ThreadId, title: string): Promise<void> {
    this.#check(ask, "call");
    const line = title.replace(/[\p{Cc}\s]+/gu, " ").trim();
    if (line === "") throw new InvalidArguments("A thread's title must not be empty.");
    if (line.length > LONGEST_TITLE)
      throw new InvalidArguments(`A thread's title has at most ${LONGEST_TITLE} characters; this one has ${line.length}.`);
    const { threads } = this.#parts;
    return promptly(ask, async () => {
      await this.#changing(ask, id, () => threads.rename(id, line));
      await this.#tellChange(ask, id, "renamed", line);
    });
  }

  /**
   * Deletes a thread and its history. The owner stays recorded, so that entries still in memory, or a restored backup, never become visible
   * to others. Throws `ThreadInUse` while a turn runs on it.
   */
  remove(ask: Ask, id: ThreadId): Promise<void> {
    this.#check(ask, "call");
    const { threads } = this.#parts;
    return promptly(ask, async () => {
      await this.#changing(ask, id, () => threads.remove(id));
      await this.#tellChange(ask, id, "removed");
    });
  }

  /** Throws `InsideTurn` for a caller inside a turn: nothing is started for it, and it sees no caller's data. */
  #check({ caller }: Asker, scope: Scope): void {
    const why = this.#parts.objection(caller);
    if (why !== undefined) throw new InsideTurn(why);
    checkScope(caller, scope);
  }

  /** Records the caller as the owner before the thread becomes visible. Threads of the server's own user have no owner. */
  #claiming(ask: Ask): ((id: ThreadId) => Promise<void>) | undefined {
    if (!ask.caller) return undefined;
    return async (id) => {
      await this.#parts.access.claim(id, ask);
      this.#noteOwner(ask, id);
    };
  }

  /** Settings that the caller does not name keep the thread's values. */
  #overridden(ask: Ask, asked: AskedSettings, current: ThreadSettings): ThreadSettings {
    const fresh = this.#settingsFor({ cwd: current.cwd, ...withoutUndefined(asked) }, ask.caller);
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

  async #inputOf(ask: Ask, { text, images: named = [] }: SaidInput, settingsOf: () => Promise<ThreadSettings>): Promise<TurnInput> {
    if (named.length === 0) return { text };
    const forThread = { settings: await settingsOf(), reach: this.#limitsOf(ask.caller)?.reach };
    const { readImage } = this.#parts;
    const images: string[] = [];
    let left = MOST_IMAGES_LENGTH;
    for (const image of named) {
      const found = "url" in image ? image.url : await promptly(ask, async () => readImage?.(image.file, forThread));
      left -= found?.length ?? 0;
      if (left < 0) throw new InvalidArguments(`The images of a message have at most ${MOST_IMAGES_LENGTH / 2 ** 20} MiB together.`);
      if (found !== undefined) images.push(found);
    }
    return { text, images };
  }

  async #changed(ask: Ask, threadId: ThreadId, change: SettingsChange): Promise<ThreadSettings> {
    const { settings: granted, folders } = this.#parts;
    checkLengths({ model: change.model, cwd: change.cwd });
    const settings = granted.withChanges(await this.#keptSettings(ask, threadId), change);
    // The limits are checked first, so that a caller never learns whether a folder outside them exists.
    this.#limitsOf(ask.caller)?.check(settings);
    folders?.checkUsable(settings.cwd);
    return settings;
  }

  /** An operator may change another principal's thread; the feed reports the change to its owner. */
  async #tellChange({ caller }: Ask, id: ThreadId, change: ThreadChange, name?: string): Promise<void> {
    const owner = (await this.#parts.access.ownerOf(id)) ?? caller?.principal;
    this.feed.threadChanged(id, { change, name, owner });
  }

  #noteOwner({ caller }: Ask, id: ThreadId): void {
    if (caller) this.feed.belongsTo(id, caller.principal);
  }

  /** Runs the change for a caller that could use the thread now, or that may watch it whichever session holds it. */
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
    checkLengths(asked);
    if (caller) this.#parts.ceilings().checkConfig(asked.config ?? {});
    try {
      const { settings: source } = this.#parts;
      if (searchesWeb && caller && source.forNewThread(asked).webSearch === "disabled") throw new AboveCeiling(NO_SEARCH);
      const settings = source.forNewThread(searchesWeb ? { ...asked, config: { ...asked.config, web_search: "live" } } : asked);
      checkLengths({ model: settings.model });
      if (!looksOnly && !takesAnyModel) return settings;
      return { ...settings, ...(looksOnly && { looksOnly }), ...(takesAnyModel && { modelIsReplaceable: true }) };
    } catch (error) {
      if (error instanceof AppError && !(error instanceof AboveCeiling)) throw new SettingsInvalid(error);
      throw error;
    }
  }

  /**
   * The settings for work in their folder, which must exist. The limits are checked first, so that a caller never learns whether a folder
   * outside them exists.
   */
  async #settingsForWork(ask: Asker, asked: AskedSettings): Promise<ThreadSettings> {
    const settings = this.#settingsFor(asked, ask.caller);
    const { folders } = this.#parts;
    if (!folders || asked.takesAnyFolder) return settings;
    this.#limitsOf(ask.caller)?.check(settings);
    if (!asked.cwd && folders.mustBeNamed(settings)) throw new FolderNotNamed(settings.cwd, await this.#recentFolders(ask, settings.cwd));
    folders.checkUsable(settings.cwd);
    return settings;
  }

  /** The thread's settings with the caller's changes; undefined if nothing changes. */
  async #changedBy(ask: Ask, threadId: ThreadId, changes: AskedSettings): Promise<ThreadSettings | undefined> {
    const current = await this.#nextSettings(ask, threadId);
    const asked = await this.#settingsForWork(ask, { ...changes, cwd: changes.cwd ?? current.cwd });
    const changed = changedSettings(current, { asked, changes });
    if (isDeepStrictEqual(changed, current)) return undefined;
    const { reasoningEffort: effort, reasoningSummary: summary } = changed;
    return this.#changed(ask, threadId, { ...changed, effort, summary });
  }

  /** The settings of the turn after the queued ones. Throws `ThreadNotFound`. */
  async #nextSettings(ask: Ask, threadId: ThreadId): Promise<ThreadSettings> {
    const waiting = this.#parts.threads.runningTurns(threadId).findLast(({ input }) => input.settings);
    return waiting?.input.settings ?? this.#keptSettings(ask, threadId);
  }

  /** The settings of a thread. If it is not in memory, its whole record is read. Do not use within `reading`. */
  async #keptSettings(ask: Ask, threadId: ThreadId): Promise<ThreadSettings> {
    const { threads } = this.#parts;
    return threads.find(threadId)?.settings ?? this.#readingPromptly(ask, () => threads.settingsOf(threadId));
  }

  /** Returns undefined if git cannot be run safely: the reviewer then looks for itself. */
  async #nothingToReview(ask: Ask, target: ReviewTarget, settings: ThreadSettings): Promise<string | undefined> {
    if (target.type === "custom") return undefined;
    const git = (args: readonly string[]) => this.server.runReading(ask, settings, { argv: [...QUIET_GIT, ...args], timeoutMs: GIT_MS });
    // Released before the review turn takes its own slot.
    using _place = await this.#parts.limiter?.enter(ask);
    try {
      return await nothingToReview(target, { run: git, folder: settings.cwd });
    } catch (error) {
      if (error instanceof ReviewTargetMissing || error instanceof AboveCeiling || !(error instanceof AppError)) throw error;
      return undefined;
    }
  }

  async #recentFolders(ask: Asker, besides: string): Promise<readonly string[]> {
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
    const attend = this.#parts.attendance.watch(wish, caller?.principal);
    const watch: TurnWatch = (turn) => {
      // A reply cancelled while it was prepared must not start when it reaches the head of the queue. A first turn may: it also reports its
      // thread id.
      const isReply = typeof wish.on === "string";
      if (isReply && ask.signal.aborted && !(ask.signal.reason instanceof CallerTimedOut))
        queueMicrotask(() => turn.interrupt("its call was cancelled before it began"));
      const [attended, watched] = [attend(turn), watchTurn?.(turn)];
      return (event) => {
        watched?.(event);
        attended(event);
      };
    };
    return { ...wish.input, limits, ...this.#receipts.requestWith({ watch, reach: limits?.reach, looks: ask.wantsReceipt === true }) };
  }

  /** A lost caller does not know the thread id and repeats its request. A second turn would do the work twice. */
  async #begunFor(ask: Ask, wish: Wish): Promise<Turn | undefined> {
    const lost = this.#parts.attendance.lost().filter((attended) => attended.fulfils(wish));
    if (lost.length === 0) return undefined;
    const [first] = await this.#open(ask, lost);
    return first?.turn;
  }

  /** Of the given turns, those whose threads the caller could use now. */
  async #open({ caller }: Ask, turns: readonly AttendedTurn[]): Promise<readonly AttendedTurn[]> {
    const { access } = this.#parts;
    const open = await Promise.all(
      turns.map(async (attended) => ((await access.isOpenTo(attended.turn.threadId, caller)) ? [attended] : [])),
    );
    return open.flat();
  }

  /** Holds a slot of the turn limiter from before the turn starts until it has ended. */
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
}
