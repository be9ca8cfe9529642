import { setTimeout as sleep } from "node:timers/promises";
import { RpcError } from "../../../jsonrpc/errors.js";
import type { RequestId } from "../../../jsonrpc/message.js";
import { type IncomingRequest, JsonRpcPeer } from "../../../jsonrpc/peer.js";
import { describe } from "../../../lib/errors.js";
import { isFields, textOrNothing } from "../../../lib/fields.js";
import { Deadline, withDeadline } from "../../../lib/promises.js";
import type { AppServerProcess } from "./appServerProcess.js";
import { AppServerGone, AppServerSilent } from "./errors.js";

/** Receives Codex's messages for one thread. */
export interface ThreadListener {
  notified(method: string, params: unknown): void;
  /** Resolves with the result; a thrown error becomes the error response to Codex. */
  asked(request: ThreadRequest): Promise<unknown>;
  /** No more messages will come. */
  lost(reason: AppServerGone): void;
}

export interface ThreadRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params: unknown;
}

interface RequestOptions {
  readonly timeoutMs?: number;
  /** Stops waiting; the request may still take effect. */
  readonly signal?: AbortSignal | undefined;
}

type PlainProcess = Pick<AppServerProcess, "wire" | "pid" | "gone" | "close" | "kill">;
type ThreadlessListener = (method: string, params: unknown) => void;

const REQUEST_MS = 30_000;
/** Codex is overloaded and asks for a retry. */
const OVERLOADED = -32001;
const OVERLOAD_WAITS_MS = [50, 150, 400, 1_000, 2_000];
/** Longer than the slowest response on a busy machine. */
const SIGN_OF_LIFE_MS = 30_000;
/** The limit of notifications kept until a listener is registered for the thread. */
const MOST_UNCLAIMED = 200;
/** Notifications that name no thread and concern all of them. */
export const THREADLESS: ReadonlySet<string> = new Set([
  "account/rateLimits/updated",
  "configWarning",
  "deprecationNotice",
  "windows/worldWritableWarning",
]);
/** Requests that read the settings of one thread. Codex's warnings about those settings name no thread, but concern no other. */
const READS_SETTINGS: ReadonlySet<string> = new Set(["thread/fork", "thread/resume", "thread/start"]);
/** After these a thread is unloaded: earlier notifications do not concern its next listener. */
const UNLOADED: ReadonlySet<string> = new Set(["thread/closed", "thread/archived"]);

/** Sends requests to a running Codex and routes its messages to threads. */
export class AppServer {
  readonly #process: PlainProcess;
  readonly #report: (line: string) => void;
  readonly #peer: JsonRpcPeer;
  readonly #listeners = new Map<string, ThreadListener>();
  readonly #threadlessListeners = new Set<ThreadlessListener>();
  #unclaimed: { readonly threadId: string; readonly method: string; readonly params: unknown }[] = [];
  /** How many requests that read a thread's settings are in flight. */
  #readingSettings = 0;
  /** A sign of life that is being awaited. Never rejects. */
  #checking: Promise<void> | undefined;
  #state: { readonly at: "open" } | { readonly at: "gone"; readonly reason: AppServerGone } = { at: "open" };

  constructor(process: PlainProcess, report: (line: string) => void) {
    this.#process = process;
    this.#report = report;
    this.#peer = new JsonRpcPeer(process.wire, {
      answer: (request) => this.#answer(request),
      notified: (method, params) => this.#notified(method, params),
      unreadable: (reason) => report(`codex: ignored a message: ${reason}`),
      failed: (method, error) => {
        report(`codex: ${method} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
        return `internal error: ${describe(error)}`;
      },
    });
  }

  /** Reads until the process is gone. Never rejects. */
  async run(): Promise<void> {
    const reading = this.#peer.run(this.#process.wire.incoming).catch((error: unknown) => this.#report(`codex: ${String(error)}`));
    const reason = await this.#process.gone;
    // Messages that arrived before the end still count.
    await Promise.race([reading, sleep(100)]);
    this.#state = { at: "gone", reason };
    this.#peer.close(reason);
    for (const listener of this.#listeners.values()) listener.lost(reason);
    this.#listeners.clear();
    await this.#checking;
  }

  get pid(): number {
    return this.#process.pid;
  }

  get gone(): Promise<AppServerGone> {
    return this.#process.gone;
  }

  get isGone(): boolean {
    return this.#state.at === "gone";
  }

  /** Throws `RpcError` with Codex's own message, `AppServerSilent` or `AppServerGone`. */
  async request(method: string, params: unknown, { timeoutMs = REQUEST_MS, signal }: RequestOptions = {}): Promise<unknown> {
    const silence = () => new AppServerSilent(`Codex did not answer ${method} within ${Math.round(timeoutMs / 1_000)} s.`);
    using deadline = new Deadline(timeoutMs, silence);
    const readsSettings = READS_SETTINGS.has(method) ? 1 : 0;
    this.#readingSettings += readsSettings;
    try {
      return await withDeadline({ deadline, signal }, (ends) => this.#requestUntilTaken(method, params, ends));
    } catch (error) {
      // A process that hangs would make all later calls wait in vain.
      if (error instanceof AppServerSilent) void this.checkAlive();
      throw error;
    } finally {
      this.#readingSettings -= readsSettings;
    }
  }

  /** Archiving and unarchiving a thread unloads it at once; otherwise it stays loaded for half an hour. */
  async unload(threadId: string): Promise<void> {
    for (const method of ["thread/archive", "thread/unarchive"]) await this.request(method, { threadId });
  }

  notify(method: string): void {
    this.#peer.notify(method, undefined);
  }

  /** Routes the thread's messages to the listener until the caller calls `unlisten`. */
  listen(threadId: string, listener: ThreadListener): void {
    this.#listeners.set(threadId, listener);
    for (const { method, params } of this.#unclaimed.filter((early) => early.threadId === threadId)) listener.notified(method, params);
    this.#unclaimed = this.#unclaimed.filter((early) => early.threadId !== threadId);
  }

  unlisten(threadId: string): void {
    this.#listeners.delete(threadId);
  }

  /** Receives messages that concern no thread, until the returned function is called. */
  listenThreadless(listener: ThreadlessListener): () => void {
    this.#threadlessListeners.add(listener);
    return () => this.#threadlessListeners.delete(listener);
  }

  close(reason: string): Promise<void> {
    return this.#process.close(new AppServerGone(reason));
  }

  /** Kills a process that no longer responds; a responsive one is not affected. Never rejects. */
  checkAlive(): Promise<void> {
    this.#checking ??= this.#awaitSignOfLife().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async #awaitSignOfLife(): Promise<void> {
    try {
      await this.request("thread/loaded/list", { limit: 1 }, { timeoutMs: SIGN_OF_LIFE_MS });
    } catch (error) {
      if (error instanceof AppServerSilent) await this.kill("The Codex process was ended because it no longer responded.");
    }
  }

  kill(reason: string): Promise<void> {
    return this.#process.kill(new AppServerGone(reason));
  }

  async #requestUntilTaken(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    for (const waitMs of OVERLOAD_WAITS_MS) {
      try {
        return await this.#peer.request(method, params, { signal });
      } catch (error) {
        if (!(error instanceof RpcError && error.code === OVERLOADED)) throw error;
        await sleep(waitMs);
      }
    }
    return this.#peer.request(method, params, { signal });
  }

  #notified(method: string, params: unknown): void {
    const threadId = threadOf(params);
    const listener = threadId === undefined ? undefined : this.#listeners.get(threadId);
    if (listener) listener.notified(method, params);
    else if (threadId !== undefined) this.#keepUnclaimed(threadId, method, params);
    else this.#notifyAll(method, params);
  }

  #notifyAll(method: string, params: unknown): void {
    for (const listener of this.#threadlessListeners) listener(method, params);
    // The thread itself gets a `warning` with the same text.
    if (method === "configWarning" && this.#readingSettings > 0) return;
    if (THREADLESS.has(method)) for (const listener of this.#listeners.values()) listener.notified(method, params);
  }

  #keepUnclaimed(threadId: string, method: string, params: unknown): void {
    if (UNLOADED.has(method)) this.#unclaimed = this.#unclaimed.filter((early) => early.threadId !== threadId);
    else this.#unclaimed.push({ threadId, method, params });
    if (this.#unclaimed.length > MOST_UNCLAIMED) this.#unclaimed.shift();
  }

  async #answer({ id, method, params }: IncomingRequest): Promise<unknown> {
    const listener = this.#listeners.get(threadOf(params) ?? "");
    if (!listener) throw new RpcError(NOBODY, `no turn is running that could answer ${method}`);
    return listener.asked({ id, method, params });
  }
}

const NOBODY = -32000;

function threadOf(params: unknown): string | undefined {
  return isFields(params) ? textOrNothing(params["threadId"]) : undefined;
}
