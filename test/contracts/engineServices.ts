import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { SandboxPolicy } from "../../src/exec/policies.js";
import { AppError } from "../../src/lib/errors.js";
import { newThreadId, type ThreadId, turnIdOf } from "../../src/lib/ids.js";
import type { Engine } from "../../src/threads/engine.js";
import type { EngineServices, OneOffCommand, OneOffResult } from "../../src/threads/engineServices.js";
import { InvalidCursor, ThreadNotFound } from "../../src/threads/errors.js";
import type { ThreadSettings } from "../../src/threads/settings.js";
import type { ThreadQuery, ThreadSummary } from "../../src/threads/store.js";
import type { ThreadRegistry } from "../../src/threads/threadRegistry.js";
import { eventually } from "../support/eventually.js";
import { processesIn } from "../support/processes/processesIn.js";

/** An engine whose model is the scripted one, and the threads it runs. */
export interface ServicesUnderTest extends AsyncDisposable {
  readonly engine: Engine;
  readonly threads: ThreadRegistry;
  readonly settings: ThreadSettings;
  /** An empty folder that a sandbox does not allow by default, so not a temporary one. */
  readonly workspace: string;
  /** A secret of the configuration, which must never be shown. */
  readonly secret: string;
}

export interface ServicesContractOptions {
  readonly openEngine: () => Promise<ServicesUnderTest>;
  /** Commands cannot be confined on this machine. */
  readonly withoutSandbox?: boolean;
  readonly timeoutMs?: number;
}

const READ_ONLY: SandboxPolicy = { type: "read-only" };
const FULL_ACCESS: SandboxPolicy = { type: "danger-full-access" };
const WORKSPACE_WRITE: SandboxPolicy = {
  type: "workspace-write",
  network_access: false,
  exclude_tmpdir_env_var: true,
  exclude_slash_tmp: true,
};
const KEY = "sk-contract-0123456789abcdef";
const unending = new AbortController().signal;

/** The contract of the services of every engine. */
export function servicesContract(name: string, options: ServicesContractOptions): void {
  const { openEngine, withoutSandbox = false, timeoutMs = 20_000 } = options;

  async function withServices(check: (services: EngineServices, under: ServicesUnderTest) => Promise<void>): Promise<void> {
    await using under = await openEngine();
    const services = await under.engine.services?.();
    if (!services) throw new Error(`the ${name} engine has no services`);
    await check(services, under);
  }

  describe(`the models of the ${name} engine`, { timeout: timeoutMs }, () => {
    it("begin with the default", () =>
      withServices(async (services) => {
        const offered = await services.models(unending);
        expect(offered.map(({ isDefault }) => isDefault)).toEqual(offered.map((_, at) => at === 0));
        expect(offered[0]).toEqual({
          model: expect.stringMatching(/\S/),
          displayName: expect.stringMatching(/\S/),
          isDefault: true,
          reasoningEfforts: expect.any(Array),
        });
        expect(new Set(offered.map(({ model }) => model)).size).toBe(offered.length);
      }));
  });

  describe(`the account of the ${name} engine`, { timeout: timeoutMs }, () => {
    it("exists after a login with a key, which is never shown, and is gone after the logout", () =>
      withServices(async ({ account }) => {
        expect(await account.state()).toMatchObject({ kind: "none" });
        await account.loginWithKey(KEY);
        const state = await account.state();
        expect(state).toEqual({ kind: "apiKey", source: expect.stringMatching(/\S/) });
        expect(JSON.stringify(state)).not.toContain(KEY);
        await account.logout();
        expect(await account.state()).toMatchObject({ kind: "none" });
      }));
  });

  describe(`the threads that the ${name} engine keeps`, { timeout: timeoutMs }, () => {
    it("are listed newest first, page by page: of 24 that began at the same time none is lost or repeated", () =>
      withServices(async (_services, { threads, settings }) => {
        const begun = Array.from({ length: 24 }, (_, at) => threads.start(settings, { text: `!say thread ${at}` }, turnIdOf("1")));
        const turns = await Promise.all(begun);
        await Promise.all(turns.map(({ outcome }) => outcome));
        const pages = await allPages(threads, { limit: 5 });
        expect(pages.map(({ length }) => length).filter((length) => length > 5)).toEqual([]);
        const listed = pages.flat();
        expect(listed.map(({ id }) => id).sort()).toEqual(turns.map(({ threadId }) => threadId).sort());
        expect(new Set(listed.map(({ preview }) => preview)).size).toBe(24);
        expect(listed.map(({ cwd }) => cwd)).toEqual(listed.map(() => settings.cwd));
      }));

    it("are found by their first message and their folder", () =>
      withServices(async (_, { threads, settings }) => {
        const [one, two] = [await played(threads, settings, "!say apple"), await played(threads, settings, "!say pear")];
        expect(idsOf(await allPages(threads, { limit: 10, search: "APPLE" }))).toEqual([one]);
        expect(idsOf(await allPages(threads, { limit: 10, cwd: settings.cwd })).sort()).toEqual([one, two].sort());
        expect(idsOf(await allPages(threads, { limit: 10, cwd: path.join(settings.cwd, "elsewhere") }))).toEqual([]);
      }));

    it("are not listed from an invalid cursor", () =>
      withServices(async (_, { threads }) => {
        await expect(threads.list({ limit: 5, cursor: "no such place" })).rejects.toThrow(InvalidCursor);
      }));

    it("can be forked: the fork has the same history, and then each continues separately", () =>
      withServices(async (_, { threads, settings }) => {
        const source = await played(threads, settings, "!say alpha");
        const fork = await threads.fork(source);
        expect(fork).not.toBe(source);
        expect(await replied(threads, fork, "go on")).toBe("alpha");
        expect(await replied(threads, fork, "!say beta")).toBe("beta");
        expect(await replied(threads, source, "go on")).toBe("alpha");
        expect(await replied(threads, source, "!say gamma")).toBe("gamma");
        expect(await replied(threads, fork, "go on")).toBe("beta");
        expect(idsOf(await allPages(threads, { limit: 10 })).sort()).toEqual([source, fork].sort());
      }));

    it("leave the list when they are archived, and return when they are unarchived", () =>
      withServices(async (_, { threads, settings }) => {
        const [kept, archived] = [await played(threads, settings, "!say alpha"), await played(threads, settings, "!say beta")];
        await threads.archive(archived);
        expect(idsOf(await allPages(threads, { limit: 10 }))).toEqual([kept]);
        expect(idsOf(await allPages(threads, { limit: 10, archived: true }))).toEqual([archived]);
        await threads.unarchive(archived);
        expect(idsOf(await allPages(threads, { limit: 10 })).sort()).toEqual([kept, archived].sort());
        expect(idsOf(await allPages(threads, { limit: 10, archived: true }))).toEqual([]);
        expect(await replied(threads, archived, "go on")).toBe("beta");
      }));

    it.each(["fork", "archive", "unarchive"] as const)("that do not exist are not found: %s", (action) =>
      withServices(async (_, { threads }) => {
        await expect(threads[action](newThreadId())).rejects.toThrow(ThreadNotFound);
      }),
    );
  });

  describe(`a single command of the ${name} engine`, { timeout: timeoutMs }, () => {
    it("returns its exit code and its output", () =>
      withServices(async (services, { workspace }) => {
        const command = shell("echo out; echo err >&2; pwd; exit 3", { cwd: workspace, sandboxPolicy: FULL_ACCESS });
        expect(await services.runOnce(command, unending)).toEqual({ exitCode: 3, stdout: `out\n${workspace}\n`, stderr: "err\n" });
      }));

    it.skipIf(withoutSandbox)("writes nowhere in a read-only sandbox", () =>
      withServices(async (services, { workspace }) => {
        const result = await services.runOnce(shell("echo x > made.txt", { cwd: workspace, sandboxPolicy: READ_ONLY }), unending);
        expect(result.exitCode).toBeGreaterThan(0);
        expect(readdirSync(workspace)).toEqual([]);
      }),
    );

    it.skipIf(withoutSandbox)("writes in its folder under workspace-write, and not beside it", () =>
      withServices(async (services, { workspace }) => {
        const script = "echo x > made.txt && ! echo x > ../beside.txt";
        const result = await services.runOnce(shell(script, { cwd: workspace, sandboxPolicy: WORKSPACE_WRITE }), unending);
        expect(result.exitCode).toBe(0);
        expect(readFileSync(path.join(workspace, "made.txt"), "utf8")).toBe("x\n");
        expect(existsSync(path.join(workspace, "..", "beside.txt"))).toBe(false);
      }),
    );

    it("is ended at its timeout, with everything it started", () =>
      withServices(async (services, { workspace }) => {
        const command = shell("sleep 300 & sleep 300", { cwd: workspace, sandboxPolicy: FULL_ACCESS, timeoutMs: 300 });
        expect((await services.runOnce(command, unending)).exitCode).toBe(124);
        await eventually("the end of everything", () => processesIn(workspace).length === 0 || undefined);
      }));

    it("is ended when it is cancelled, with everything it started", () =>
      withServices(async (services, { workspace }) => {
        const abort = new AbortController();
        const command = shell("sleep 300 & sleep 300 & touch begun; wait", { cwd: workspace, sandboxPolicy: FULL_ACCESS });
        const running = outcomeOf(services.runOnce(command, abort.signal));
        await eventually("its beginning", () => existsSync(path.join(workspace, "begun")) || undefined);
        abort.abort(new Error("not wanted any more"));
        expect(await running).toEqual({ failed: true });
        await eventually("the end of everything", () => processesIn(workspace).length === 0 || undefined);
      }));

    it("does not start when it is already cancelled", () =>
      withServices(async (services, { workspace }) => {
        const command = shell("touch begun", { cwd: workspace, sandboxPolicy: FULL_ACCESS });
        expect(await outcomeOf(services.runOnce(command, AbortSignal.abort()))).toEqual({ failed: true });
        expect(readdirSync(workspace)).toEqual([]);
      }));

    it("that does not exist, or whose folder does not exist, is reported as not run", () =>
      withServices(async (services, { workspace }) => {
        const missing = { argv: ["no-such-program-anywhere"], cwd: workspace, sandboxPolicy: FULL_ACCESS, timeoutMs: 10_000 };
        await expect(services.runOnce(missing, unending)).rejects.toThrow(AppError);
        const nowhere = shell("true", { cwd: path.join(workspace, "nowhere"), sandboxPolicy: FULL_ACCESS });
        await expect(services.runOnce(nowhere, unending)).rejects.toThrow(AppError);
      }));
  });

  describe(`the configuration of the ${name} engine`, { timeout: timeoutMs }, () => {
    it("has the form of config.toml, with secrets masked", () =>
      withServices(async (services, { settings, workspace, secret }) => {
        const config = await services.config(workspace);
        expect(config).toMatchObject({
          ...(settings.modelIsDefault ? {} : { model: settings.model }),
          model_provider: settings.provider.id,
        });
        expect(JSON.stringify(config)).not.toContain(secret);
      }));
  });
}

function shell(
  script: string,
  { timeoutMs = 10_000, ...where }: Omit<OneOffCommand, "argv" | "timeoutMs"> & { readonly timeoutMs?: number },
): OneOffCommand {
  return { argv: ["bash", "-c", script], timeoutMs, ...where };
}

/** A thread with one completed turn. */
async function played(threads: ThreadRegistry, settings: ThreadSettings, text: string): Promise<ThreadId> {
  const turn = await threads.start(settings, { text }, turnIdOf("1"));
  await turn.outcome;
  // A thread is idle a moment after its turn has ended.
  await threads.settle();
  return turn.threadId;
}

async function replied(threads: ThreadRegistry, id: ThreadId, text: string): Promise<string | null | undefined> {
  const outcome = await (await threads.reply(id, { text })).outcome;
  return outcome.status === "completed" ? outcome.lastMessage : undefined;
}

/** More pages than this mean an endless loop. */
const MOST_PAGES = 50;

async function allPages(threads: ThreadRegistry, query: ThreadQuery): Promise<(readonly ThreadSummary[])[]> {
  const pages: (readonly ThreadSummary[])[] = [];
  let cursor: string | undefined;
  do {
    const page = await threads.list({ ...query, cursor });
    pages.push(page.threads);
    cursor = page.nextCursor;
  } while (cursor !== undefined && pages.length < MOST_PAGES);
  expect(pages.length).toBeLessThan(MOST_PAGES);
  return pages;
}

function idsOf(pages: readonly (readonly ThreadSummary[])[]): ThreadId[] {
  return pages.flat().map(({ id }) => id);
}

/** The outcome of a promise; prevents an unhandled rejection before it is awaited. */
async function outcomeOf(running: Promise<OneOffResult>): Promise<OneOffResult | { readonly failed: true }> {
  return running.catch(() => ({ failed: true }) as const);
}
