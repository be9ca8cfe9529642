import { newThreadId, type ThreadId } from "../../../src/lib/ids.js";
import { deferred } from "../../../src/lib/promises.js";
import type {
  Account,
  AccountState,
  EngineServices,
  ModelSummary,
  OneOffCommand,
  OneOffResult,
} from "../../../src/threads/engineServices.js";
import { ThreadNotFound } from "../../../src/threads/errors.js";
import type { ThreadCatalog, ThreadPage, ThreadQuery } from "../../../src/threads/store.js";

/** The services of an engine, in memory. */
export class MemoryServices implements EngineServices {
  readonly account = new MemoryAccount();
  /** The commands that were run. */
  readonly ran: OneOffCommand[] = [];
  result: OneOffResult = { exitCode: 0, stdout: "", stderr: "" };
  offered: readonly ModelSummary[] = [];

  async models(): Promise<readonly ModelSummary[]> {
    return this.offered;
  }

  async config(cwd: string): Promise<Readonly<Record<string, unknown>>> {
    return { model: "mock", cwd };
  }

  /** The command `hang` runs until it is cancelled. */
  async runOnce(command: OneOffCommand, signal: AbortSignal): Promise<OneOffResult> {
    this.ran.push(command);
    if (command.argv[0] !== "hang") return this.result;
    const stopped = deferred<never>();
    signal.addEventListener("abort", () => stopped.reject(signal.reason as Error), { once: true });
    return stopped.promise;
  }
}

/** Threads by their number in the list, the first one newest. */
export class MemoryCatalog implements ThreadCatalog {
  readonly kept: ThreadId[] = [];
  readonly archived = new Set<ThreadId>();
  readonly titles = new Map<ThreadId, string>();
  /** The requested pages. */
  readonly queries: ThreadQuery[] = [];

  async list(query: ThreadQuery): Promise<ThreadPage> {
    this.queries.push(query);
    const from = Number(query.cursor ?? 0);
    const found = this.kept.slice(from, from + query.limit);
    const threads = found.map((id) => ({ id, preview: "said", cwd: "/repo", startedAt: "then", lastUsedAt: "now" }));
    const next = from + found.length;
    return next < this.kept.length ? { threads, nextCursor: String(next) } : { threads };
  }

  async fork(id: ThreadId): Promise<ThreadId> {
    this.#check(id);
    const forked = newThreadId();
    this.kept.unshift(forked);
    return forked;
  }

  async archive(id: ThreadId): Promise<void> {
    this.#check(id);
    this.archived.add(id);
  }

  async unarchive(id: ThreadId): Promise<void> {
    this.#check(id);
    this.archived.delete(id);
  }

  async rename(id: ThreadId, title: string): Promise<void> {
    this.#check(id);
    this.titles.set(id, title);
  }

  async remove(id: ThreadId): Promise<void> {
    this.#check(id);
    this.kept.splice(this.kept.indexOf(id), 1);
  }

  #check(id: ThreadId): void {
    if (!this.kept.includes(id)) throw new ThreadNotFound(id);
  }
}

class MemoryAccount implements Account {
  current: AccountState = { kind: "none", isNeeded: true, remedy: "Set a key." };
  /** Thrown by a login. */
  failure: Error | undefined;

  async loginWithBrowser(): Promise<never> {
    throw this.failure ?? new Error("not here");
  }

  async cancelLogin(): Promise<boolean> {
    return false;
  }

  async credentials(): Promise<{ needsOpenai: boolean }> {
    return { needsOpenai: true };
  }

  async state(): Promise<AccountState> {
    return this.current;
  }

  async loginWithKey(): Promise<void> {
    if (this.failure) throw this.failure;
    this.current = { kind: "apiKey", source: "memory" };
  }

  async loginWithDeviceCode(): Promise<{ url: string; code: string }> {
    return { url: "https://login.invalid/device", code: "ABCD-1234" };
  }

  async logout(): Promise<void> {
    this.current = { kind: "none", isNeeded: true };
  }
}
