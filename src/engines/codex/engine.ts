import { isDeepStrictEqual } from "node:util";
import type { OutsidePrograms } from "../../exec/outside/outsidePrograms.js";
import { RPC, RpcError } from "../../jsonrpc/errors.js";
import { describe } from "../../lib/errors.js";
import type { ThreadId } from "../../lib/ids.js";
import { waitFor } from "../../lib/promises.js";
import type { Engine, EngineThread, KeptThread, TurnContext } from "../../threads/engine.js";
import { ThreadNotFound } from "../../threads/errors.js";
import type { ThreadEvent, TurnInput } from "../../threads/events.js";
import type { Reach } from "../../threads/limits.js";
import type { ThreadSettings } from "../../threads/settings.js";
import type { ThreadListener, ThreadRequest } from "./appServer/appServer.js";
import { AppServers, type AppServersOptions } from "./appServer/appServers.js";
import { type AppServerGone, CodexRefused, whyNotOpened } from "./appServer/errors.js";
import { programsOf } from "./appServer/locate.js";
import type { RunningCodex, Supervisor } from "./appServer/supervisor.js";
import { type GuardOptions, type ThreadGuard, ThreadGuards } from "./guard/threadGuard.js";
import { resumeThread, startThread } from "./loadThread.js";
import { Novelties } from "./novelties.js";
import { needsNobody } from "./safeCommands.js";
import { CodexServices } from "./services/codexServices.js";
import { settledModel } from "./services/models.js";
import { CodexCatalog } from "./services/threadCatalog.js";
import { SubAgents } from "./subAgents.js";
import { settingsInForce, settingsNotices } from "./translate/settings.js";
import { ThreadMemory } from "./translate/threadMemory.js";
import { TurnTranslator } from "./translate/turnTranslator.js";
import { CodexTurn } from "./turn.js";

export type CodexEngineOptions = AppServersOptions & GuardOptions;

/** The Codex CLI of this machine, with its login, models, rules and MCP servers, driven through `codex app-server`. */
export function createCodexEngine(options: CodexEngineOptions): Engine {
  const servers = new AppServers(options);
  const guards = new ThreadGuards(options);
  const programs = programsOf(options);
  const novelties = new Novelties(options.report);
  const services = new CodexServices(servers, guards);
  const catalog = new CodexCatalog(servers, guards);
  let isClosing = false;
  return {
    name: "codex",
    services: async () => services,
    catalog: async () => catalog,
    async openThread({ id, settings, history, reach }) {
      const supervisor = servers.for(settings);
      supervisor.enter();
      let guard: ThreadGuard | undefined;
      try {
        const codex = await supervisor.get();
        guard = await guards.forThread(codex, settings, reach);
        const kept = history ? await resumeThread(codex, id, { settings, guard }) : await startThread(codex, settings, guard);
        return new CodexThread({ kept, isNew: !history, codex, guard }, { supervisor, guards, programs, novelties });
      } catch (error) {
        guard?.release();
        supervisor.leave();
        throw isClosing ? error : whyNotOpened(error);
      }
    },
    async close() {
      isClosing = true;
      await services.close();
      await servers.close();
    },
  };
}

const CLEAN_TERMINALS = "thread/backgroundTerminals/clean";
/** The time limit of each request that closes a thread. */
const CLOSING_MS = 2_000;

interface OpenedThread {
  readonly kept: KeptThread;
  readonly isNew: boolean;
  readonly codex: RunningCodex;
  readonly guard: ThreadGuard;
}

interface ThreadParts {
  readonly supervisor: Supervisor;
  readonly guards: ThreadGuards;
  readonly programs: OutsidePrograms;
  readonly novelties: Novelties;
}

/** A thread of Codex, loaded into the process that currently runs. */
class CodexThread implements EngineThread, ThreadListener {
  readonly #parts: ThreadParts;
  #kept: KeptThread;
  readonly opening: readonly ThreadEvent[];
  readonly sandboxBackend: string;
  readonly #memory = new ThreadMemory();
  /** Differs from our id if the thread had to be started again because its process died before it wrote anything. */
  #codexId: ThreadId;
  /** The process that has loaded it; undefined once that is gone. */
  #loadedIn: RunningCodex | undefined;
  #loading: Promise<RunningCodex> | undefined;
  #guard: ThreadGuard;
  /** A turn brought other settings since the thread was loaded. */
  #isReconfigured = false;
  /** The settings that Codex accepts only when it loads a thread, not with a turn. */
  #loadedWith: object;
  /** Codex has begun a turn on it, in this process or an earlier one. */
  #hasRun: boolean;
  /** The newest turn, even if it has ended: Codex may still send messages about it. */
  #turn: CodexTurn | undefined;
  readonly #agents: SubAgents;
  /** The remaining work of turns that were reported as ended. Never rejects. */
  #aftermath: Promise<unknown> = Promise.resolve();

  constructor({ kept, isNew, codex, guard }: OpenedThread, parts: ThreadParts) {
    this.#parts = parts;
    // Readers see the settings that Codex actually uses.
    this.#kept = { ...kept, settings: settingsInForce(kept.settings) };
    this.#guard = guard;
    this.#loadedWith = saidAtLoading(kept.settings);
    this.#hasRun = !isNew;
    this.opening = settingsNotices(kept.settings).map((message) => ({ type: "warning", message }));
    this.sandboxBackend = kept.settings.sandboxPolicy.type === "danger-full-access" ? "none" : "codex";
    this.#agents = new SubAgents({
      settings: kept.settings,
      isNew: (text) => this.#memory.isNew(text),
      follower: () => this.#turn,
    });
    this.#codexId = kept.id;
    this.#enter(codex, kept.id);
  }

  get kept(): KeptThread {
    return this.#kept;
  }

  /** Each turn states its settings. */
  configure(settings: ThreadSettings): void {
    this.#kept = { ...this.#kept, settings: settingsInForce(settings) };
    this.#isReconfigured = true;
  }

  async *run(input: TurnInput, ctx: TurnContext): AsyncGenerator<readonly ThreadEvent[]> {
    const reviewTarget = input.work?.kind === "review" ? input.work.target : undefined;
    const { sandboxBackend } = this;
    // The settings are only known after loading: Codex may replace a model it does not have.
    const translated = () => new TurnTranslator({ memory: this.#memory, settings: this.#kept.settings, reviewTarget, sandboxBackend });
    let codex: RunningCodex;
    try {
      const waited = await waitFor(this.#ready(ctx.reach), { signal: ctx.signal });
      if (waited.at !== "ended") return yield translated().end({ kind: "interrupted" });
      codex = waited.value;
    } catch (error) {
      return yield translated().end({ kind: "failed", message: describe(error) });
    }
    const { settings } = this.#kept;
    const translator = translated();
    const { server } = codex;
    this.#turn = new CodexTurn(input, ctx, {
      thread: {
        server,
        codexThreadId: this.#codexId,
        settings,
        guard: this.#guard,
        namesModel: this.#isReconfigured,
        canCleanTerminals: canCleanTerminals(codex),
      },
      agents: this.#agents,
      needsNobody: (method, params) => needsNobody(method, params, { settings, guard: this.#guard, programs: this.#parts.programs }),
      translator,
      afterwards: (work) => {
        this.#aftermath = Promise.all([this.#aftermath, work]);
      },
    });
    yield* this.#turn.run();
    if (!server.isGone) this.#parts.supervisor.noteSuccess();
  }

  async steer(text: string): Promise<boolean> {
    return (await this.#turn?.steer(text)) ?? false;
  }

  /** Ends commands that turns left running, and unloads the thread in Codex. */
  async close(): Promise<void> {
    await this.#aftermath;
    const codex = this.#loadedIn;
    const agents = this.#agents.threadIds;
    this.#leave();
    try {
      if (codex) for (const threadId of [...agents, this.#codexId]) await this.#unsubscribe(codex, threadId);
    } finally {
      this.#guard.release();
      this.#parts.supervisor.leave();
    }
  }

  notified(method: string, params: unknown): void {
    this.#parts.novelties.notified(method, params);
    if (method === "turn/started") this.#hasRun = true;
    this.#agents.observe(method, params);
    this.#turn?.notified(method, params);
    if (this.#turn?.isOver !== false) this.#memory.betweenTurns(method, params);
    if (method === "thread/closed") this.#leave();
  }

  asked(request: ThreadRequest): Promise<unknown> {
    this.#parts.novelties.asked(request.method);
    if (this.#turn) return this.#turn.asked(request);
    return Promise.reject(new RpcError(RPC.invalidRequest, "no turn is running"));
  }

  lost(reason: AppServerGone): void {
    this.#loadedIn = undefined;
    this.#agents.leave();
    this.#turn?.lost(reason);
  }

  /** Codex with this thread loaded. Concurrent calls share the same load. */
  #ready(reach: Reach | undefined): Promise<RunningCodex> {
    this.#loading ??= this.#load(reach).finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #load(reach: Reach | undefined): Promise<RunningCodex> {
    await this.#aftermath;
    const codex = await this.#parts.supervisor.get();
    if (this.#isReconfigured && this.#kept.settings.modelIsReplaceable)
      this.#kept = { ...this.#kept, settings: await settledModel(codex, this.#kept.settings) };
    const { settings } = this.#kept;
    const { cwd, sandboxPolicy } = settings;
    const { madeFor } = this.#guard;
    const isConfigured = isDeepStrictEqual(this.#loadedWith, saidAtLoading(settings));
    const isCurrent = isConfigured && (madeFor === undefined || isDeepStrictEqual(madeFor, { cwd, sandboxPolicy }));
    if (this.#loadedIn === codex && isSameReach(reach, this.#guard.reach) && isCurrent) return codex;
    // Codex would lose the thread: it writes nothing before the first turn.
    if (this.#loadedIn === codex && !isCurrent && !this.#hasRun) throw new CodexRefused(NOT_BEFORE_THE_FIRST_TURN);
    this.#leave();
    this.#guard.release();
    this.#guard = await this.#parts.guards.forThread(codex, settings, reach);
    this.#enter(codex, await this.#loadInto(codex, { isConfigured }));
    this.#loadedWith = saidAtLoading(settings);
    return codex;
  }

  async #loadInto(codex: RunningCodex, { isConfigured }: { readonly isConfigured: boolean }): Promise<ThreadId> {
    const { settings } = this.#kept;
    try {
      return (await resumeThread(codex, this.#codexId, { settings, guard: this.#guard, isAnew: !isConfigured })).id;
    } catch (error) {
      // Codex writes nothing before the first turn, so a process that died before it lost nothing.
      if (error instanceof ThreadNotFound && !this.#hasRun) return (await startThread(codex, settings, this.#guard)).id;
      throw error;
    }
  }

  async #unsubscribe(codex: RunningCodex, threadId: string): Promise<void> {
    const params = { threadId };
    const requests = [...(canCleanTerminals(codex) ? [CLEAN_TERMINALS] : []), "thread/unsubscribe"];
    for (const method of requests) await codex.server.request(method, params, { timeoutMs: CLOSING_MS }).catch(toleratingRefusal);
  }

  #enter(codex: RunningCodex, codexId: ThreadId): void {
    this.#codexId = codexId;
    this.#loadedIn = codex;
    this.#agents.enter(codex.server);
    codex.server.listen(codexId, this);
  }

  #leave(): void {
    this.#agents.leave();
    this.#loadedIn?.server.unlisten(this.#codexId);
    this.#loadedIn = undefined;
  }
}

const NOT_BEFORE_THE_FIRST_TURN =
  "Codex cannot change the folder or the sandbox of a thread before its first turn. Begin another thread with those, or send the first message without them.";

function saidAtLoading({ stated, looksOnly, leftOutServers }: ThreadSettings): object {
  return { stated, looksOnly, leftOutServers };
}

/** Callers pass a new object each time. */
function isSameReach(one: Reach | undefined, other: Reach | undefined): boolean {
  return (
    JSON.stringify([one?.folders, one?.foreign, one === undefined]) ===
    JSON.stringify([other?.folders, other?.foreign, other === undefined])
  );
}

function canCleanTerminals({ methods }: RunningCodex): boolean {
  return methods?.has(CLEAN_TERMINALS) ?? true;
}

function toleratingRefusal(error: unknown): void {
  if (!(error instanceof RpcError)) throw error;
}
