import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { markedPath } from "../../../exec/commandMark.js";
import { withoutSecrets } from "../../../exec/environment.js";
import { endStragglers, endWithUs, killTree } from "../../../exec/killTree.js";
import type { Containment, Launch } from "../../../exec/launch.js";
import { MARK_VARIABLE, markText, markWithin, type TurnMark } from "../../../exec/nesting/turnMark.js";
import type { OutsidePrograms } from "../../../exec/outside/outsidePrograms.js";
import { launchPlainly } from "../../../exec/sandbox/fullAccess.js";
import { LineSplitter, StreamWire } from "../../../jsonrpc/streamWire.js";
import type { Wire } from "../../../jsonrpc/wire.js";
import { describe } from "../../../lib/errors.js";
import { deferred, endsWithin } from "../../../lib/promises.js";
import { Redactor } from "../../../observability/redact.js";
import { AppServerGone, CodexUnusable, UNCAUGHT_ERROR } from "./errors.js";

interface AppServerProgram {
  readonly program: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** Arguments of `-c` in addition to those that every process gets. */
  readonly settings: readonly string[];
  /** The turn inside which this server runs. */
  readonly surrounding?: TurnMark | undefined;
  /** Receives Codex's stderr, one line at a time. */
  readonly report: (line: string) => void;
}

/**
 * Without the first setting, Codex fetches a plug-in catalogue from the internet when it starts. The second gives the model its plan tool
 * back. The third is set by every thread anyway; in config.toml, `untrusted` would keep Codex from starting.
 */
const SETTINGS = ["features.plugins=false", "tools.update_plan.enabled=true", 'approval_policy="on-request"'];

/** Tells `git` where its repository is; set to an invalid path, it makes every call fail that does not override it. */
export const GIT_VARIABLE = "GIT_DIR";
const NO_REPOSITORY = "/dev/null";

/** Codex exits by itself, with all its commands, once its stdin is closed. */
const EXIT_MS = 2_000;
/** Time to read the output that was written just before the end. */
const DRAIN_MS = 200;

/** Starts `codex app-server` in its own process group. Throws `CodexUnusable` when the system cannot start it. */
export function startAppServerProcess(options: AppServerProgram): Promise<AppServerProcess> {
  const { program, cwd } = options;
  const argv = [program, "app-server", ...[...SETTINGS, ...options.settings].flatMap((setting) => ["-c", setting])];
  // One process runs turns with any sandbox, so everything it starts gets the strictest mark.
  const mark = { [MARK_VARIABLE]: markText(markWithin(options.surrounding, { type: "read-only" }, undefined)) };
  const launch = launchPlainly({ argv, cwd, env: { ...withoutSecrets(options.env, []), ...mark } });
  return new Promise((resolve, reject) => {
    const child = spawn(launch.program, launch.args, { cwd, env: withMarkedPath(launch), detached: true, stdio: "pipe" });
    child.once("error", (error) => reject(new CodexUnusable(`${program} cannot be started: ${describe(error)}`, { cause: error })));
    child.once("spawn", () => resolve(new AppServerProcess(child, launch.containment, options)));
  });
}

/** Codex starts its file helper and MCP servers with few variables, but with its own PATH. So PATH has the mark too. */
function withMarkedPath({ env, containment }: Launch): Record<string, string> {
  const { PATH } = env;
  return PATH === undefined ? env : { ...env, PATH: markedPath(PATH, containment.mark) };
}

/** One `codex app-server` process, until everything it started has ended. */
export class AppServerProcess {
  readonly wire: Wire;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #stderr: StderrReader;
  readonly #exitCode: Promise<number>;
  readonly #outputEnded: Promise<void>;
  readonly #gone = deferred<AppServerGone>();
  readonly #life: Promise<void>;
  #state: "running" | "leaving" = "running";

  constructor(child: ChildProcessWithoutNullStreams, containment: Containment, { report, env }: Pick<AppServerProgram, "report" | "env">) {
    this.#child = child;
    for (const emitter of [child, child.stdin, child.stdout, child.stderr]) emitter.on("error", ignore);
    const redactor = Redactor.forEnvironment(env);
    this.#stderr = new StderrReader(child.stderr, { report, mask: (line) => redactor.mask(line) });
    this.#exitCode = new Promise((resolve) => child.once("exit", (code) => resolve(code ?? 1)));
    this.#outputEnded = new Promise((resolve) => child.stdout.once("close", resolve));
    this.wire = new StreamWire(child.stdout, { stream: child.stdin, write: (text, written) => child.stdin.write(text, written) });
    this.#life = this.#untilNothingLives(containment);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Resolves with the reason as soon as no more output can come. Never rejects. */
  get gone(): Promise<AppServerGone> {
    return this.#gone.promise;
  }

  /** Closes its stdin, and kills it if that is not enough. Resolves when everything it started has ended. */
  async close(reason: AppServerGone): Promise<void> {
    this.#leave(reason);
    await this.#life;
  }

  /** For a process that no longer responds. */
  async kill(reason: AppServerGone): Promise<void> {
    this.#leave(reason);
    this.#child.kill("SIGKILL");
    await this.#life;
  }

  #howItEnded(): string {
    const { exitCode, signalCode } = this.#child;
    // A program that gets SIGKILL cannot print the reason, so its last line is about something else.
    if (signalCode === "SIGKILL") return "was ended by SIGKILL";
    if (signalCode !== null) return `was ended by ${signalCode}${this.#stderr.lastLine}`;
    return `${exitCode === null ? "closed its output" : `exited with code ${exitCode}`}${this.#stderr.lastLine}`;
  }

  #leave(reason: AppServerGone): void {
    this.#state = "leaving";
    this.#gone.resolve(reason);
  }

  async #untilNothingLives(containment: Containment): Promise<void> {
    const tree = { pid: this.pid, containment, firstProcess: () => undefined, exitCode: this.#exitCode };
    const gone = endWithUs(tree);
    await Promise.race([this.#exitCode, this.#outputEnded, this.#gone.promise]);
    if (this.#state === "running") {
      await endsWithin(DRAIN_MS, Promise.all([this.#exitCode, this.#outputEnded]));
      this.#leave(new AppServerGone(`The Codex process ${this.#howItEnded()}.`));
    }
    this.#child.stdin.end();
    if (await endsWithin(EXIT_MS, this.#exitCode)) await endStragglers(tree);
    else await killTree(tree);
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream.destroy();
    gone();
  }
}

/** Errors of the streams are not reported, because the end of the process is. */
const ignore = () => {};

interface AppServerNeeds {
  /** Absent where PATH is used unchanged. */
  readonly programs?: Pick<OutsidePrograms, "searchPath">;
  readonly withoutGit: boolean;
}

/** Variables of ours that Codex's children need: the callback address, and the mark that they run inside a turn. */
const PASSED_ON = new Set(["CODEX_MCP_CALLBACK_URI", MARK_VARIABLE]);
const OURS = /^(CODEX_MCP_|OTEL_.*HEADERS$)/;

/**
 * The environment of `codex app-server`: what Codex needs, without our secrets. Codex starts programs by name outside its sandbox, so its
 * PATH has no folder that commands can write.
 */
export function appServerEnvironment(env: NodeJS.ProcessEnv, { programs, withoutGit }: AppServerNeeds): NodeJS.ProcessEnv {
  const kept = Object.entries(withoutSecrets(env, [])).filter(([name]) => PASSED_ON.has(name) || !OURS.test(name));
  return {
    ...Object.fromEntries(kept),
    ...(programs ? { PATH: programs.searchPath } : {}),
    ...(withoutGit ? { [GIT_VARIABLE]: NO_REPOSITORY } : {}),
  };
}

const LONGEST_LINE = 2_000;
/** The limit of reported stderr lines per process. */
const REPORTED_LINES = 200;

const NODE_VERSION = /^Node\.js v\d/;

interface StderrOptions {
  readonly report: (line: string) => void;
  /** Masks secrets: the last line may become part of an error message. */
  readonly mask: (line: string) => string;
}

/** Drains a program's stderr: reports its lines, up to a limit, and keeps the last one. */
export class StderrReader {
  readonly #options: StderrOptions;
  #last = "";
  #uncaught: string | undefined;
  #reported = 0;

  constructor(stream: Readable, options: StderrOptions) {
    this.#options = options;
    const lines = new LineSplitter(LONGEST_LINE);
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      for (const frame of lines.push(chunk)) this.#take("text" in frame ? frame.text : `a line of ${frame.tooLongBytes} characters`);
    });
    stream.once("end", () => {
      for (const frame of lines.end()) if ("text" in frame) this.#take(frame.text);
    });
  }

  /** The last line as the end of a sentence: `: …`, without its full stop. Empty without output. */
  get lastLine(): string {
    return this.#last === "" ? "" : `: ${this.#last.replace(/\.$/, "")}`;
  }

  #take(line: string): void {
    const plain = this.#options.mask(stripVTControlCharacters(line).trim());
    if (plain === "") return;
    if (UNCAUGHT_ERROR.test(plain)) this.#uncaught = plain;
    // After an error that nobody caught, Node prints its own version last.
    this.#last = NODE_VERSION.test(plain) ? (this.#uncaught ?? plain) : plain;
    if (this.#reported > REPORTED_LINES) return;
    this.#options.report(this.#reported++ < REPORTED_LINES ? `codex: ${plain}` : "codex: further lines of this process are not shown");
  }
}
