import { setTimeout as sleep } from "node:timers/promises";
import type { TurnMark } from "../../../exec/nesting/turnMark.js";
import { OutsidePrograms } from "../../../exec/outside/outsidePrograms.js";
import { Tasks } from "../../../lib/promises.js";
import { AppServer } from "./appServer.js";
import { appServerEnvironment, startAppServerProcess } from "./appServerProcess.js";
import { AppServerGone, AppServerSilent, CodexUnusable } from "./errors.js";
import { codexProgram } from "./findBinary.js";
import {
  askVersion,
  type CodexAbilities,
  configurationFault,
  hidesSecrets,
  INSTALL_AGAIN,
  requireSupported,
  shakeHands,
} from "./handshake.js";
import type { CodexSearch } from "./locate.js";

export interface SupervisorOptions extends CodexSearch {
  /** Arguments of `-c`. */
  readonly settings: readonly string[];
  readonly cwd: string;
  /** The turn inside which this server runs. */
  readonly surrounding?: TurnMark | undefined;
  /** Callers come over the network: their repositories must not decide which programs Codex runs. */
  readonly listens?: boolean;
  readonly report: (line: string) => void;
}

/** A running Codex whose abilities are known. */
export interface RunningCodex extends CodexAbilities {
  readonly server: AppServer;
  readonly program: string;
}

/** The delay before a start after consecutive failures. */
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

/** Keeps one Codex process for all threads: starts it when first needed, restarts it after it is gone, and ends it after its last user. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #tasks: Tasks;
  #running: RunningCodex | undefined;
  #starting: Promise<RunningCodex> | undefined;
  /** The newest process, including one that is still starting. */
  #server: AppServer | undefined;
  /** Settles when the previous process is gone. */
  #ended: Promise<void> = Promise.resolve();
  #users = 0;
  #failuresInARow = 0;
  #introduction: string | undefined;
  #state: "open" | "closed" = "open";

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#tasks = new Tasks((name, error) => options.report(`${name}: ${String(error)}`));
  }

  /** The running Codex, started if necessary. Throws `CodexMissing`, `CodexUnusable` or `AppServerGone`. */
  async get(): Promise<RunningCodex> {
    if (this.#state === "closed") throw SHUTTING_DOWN;
    if (this.#running) return this.#running;
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /** Registers a user of the process: a thread that is open or opening, or other work. */
  enter(): void {
    this.#users++;
  }

  /**
   * Unregisters a user. After the last one the process ends: it holds much memory and the write locks of all threads it has opened, which
   * their owner may want to continue elsewhere.
   */
  leave(): void {
    if (--this.#users > 0 || !this.#running) return;
    const { server } = this.#running;
    this.#running = undefined;
    this.#ended = server.close("The Codex process was stopped because no thread is open.");
    this.#tasks.start("end of codex app-server", () => this.#ended);
  }

  /** Lends the running Codex to work without a thread. */
  async lend<T>(work: (codex: RunningCodex) => Promise<T>): Promise<T> {
    this.enter();
    try {
      const result = await work(await this.get());
      this.noteSuccess();
      return result;
    } finally {
      this.leave();
    }
  }

  /** Keeps the running Codex until this work, which never rejects, is done. */
  keepFor(name: string, work: () => Promise<void>): void {
    this.enter();
    this.#tasks.start(name, () => work().finally(() => this.leave()));
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Resets the failure count after success. */
  noteSuccess(): void {
    this.#failuresInARow = 0;
  }

  /** Resolves when all Codex processes have ended. */
  async close(): Promise<void> {
    this.#state = "closed";
    await this.#server?.close(SHUTTING_DOWN.message);
    await this.#starting?.catch(() => undefined);
    await this.#tasks.settle();
  }

  async #start(): Promise<RunningCodex> {
    if (this.#failuresInARow > 0) await sleep(Math.min(FIRST_WAIT_MS * 2 ** (this.#failuresInARow - 1), LONGEST_WAIT_MS));
    // Two processes cannot have the same thread open.
    await this.#ended;
    const program = codexProgram(this.#options);
    const env = await this.#environment(program);
    const server = new AppServer(await startAppServerProcess({ ...this.#options, program, env }), this.#options.report);
    this.#server = server;
    this.#tasks.start("codex app-server", () => this.#watch(server));
    try {
      if (this.#state === "closed") throw SHUTTING_DOWN;
      const running = { server, program, ...(await shakeHands(server, program)) };
      if (server.isGone) throw await server.gone;
      this.#running = running;
      this.#introduce(running);
      return running;
    } catch (error) {
      this.#failuresInARow++;
      await server.kill("The Codex process was ended because its start-up failed.");
      throw await this.#explain(error, { program, env });
    }
  }

  /** Only a version that can hide the variable from commands is started with `git` disabled. */
  async #environment(program: string): Promise<NodeJS.ProcessEnv> {
    const { env, writable, listens } = this.#options;
    const withoutGit = listens === true && hidesSecrets(await askVersion(program, env));
    return appServerEnvironment(env, { withoutGit, ...(writable ? { programs: new OutsidePrograms({ env, writable }) } : {}) });
  }

  /** Logged once per program and version: the process starts and ends often. */
  #introduce({ program, version }: RunningCodex): void {
    const introduction = `engine codex: ${program}, version ${version}`;
    if (introduction !== this.#introduction) this.#options.report(introduction);
    this.#introduction = introduction;
  }

  async #watch(server: AppServer): Promise<void> {
    await server.run();
    if (this.#running?.server !== server) return;
    this.#running = undefined;
    this.#failuresInARow++;
    if (this.#state === "open") this.#options.report((await server.gone).message);
  }

  /** A process that exits or does not respond at the start is often too old to know `app-server`. */
  async #explain(failure: unknown, { program, env }: CodexProgram): Promise<unknown> {
    if (this.#state === "closed" || !(failure instanceof AppServerGone || failure instanceof AppServerSilent)) return failure;
    const version = await askVersion(program, this.#options.env).catch(() => undefined);
    if (version !== undefined) requireSupported(version, program);
    const isRefused = version !== undefined && failure instanceof AppServerGone;
    const fault = isRefused ? await this.#faultWithoutSettings({ program, env }).catch(() => undefined) : undefined;
    const why = fault ?? `${failure.message} ${version === undefined ? INSTALL_AGAIN : SEE_WHY}`;
    return new CodexUnusable(`Codex ${version ?? "of unknown version"} at ${program} did not start. ${why}`, { cause: failure });
  }

  /** A Codex that cannot read config.toml exits because it lacks the provider named on its command line. Without one, it reports the cause. */
  async #faultWithoutSettings({ program, env }: CodexProgram): Promise<string | undefined> {
    if (this.#state === "closed") throw SHUTTING_DOWN;
    const options = { ...this.#options, program, env, settings: [], report: () => {} };
    const server = new AppServer(await startAppServerProcess(options), options.report);
    this.#server = server;
    const watching = server.run();
    try {
      await shakeHands(server, program);
      return await configurationFault(server);
    } finally {
      await server.close("Codex has told what it cannot read.");
      await watching;
    }
  }
}

interface CodexProgram {
  readonly program: string;
  readonly env: NodeJS.ProcessEnv;
}

const SEE_WHY = "Run `codex` in a terminal to see what it lacks, or use --engine native.";

const SHUTTING_DOWN = new AppServerGone("The server is shutting down.");
