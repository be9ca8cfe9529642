import { randomInt } from "node:crypto";
import { StringDecoder } from "node:string_decoder";
import { AppError } from "../lib/errors.js";
import { orAborted, valueWithin } from "../lib/promises.js";
import type { Launch } from "./launch.js";
import { HeadAndTail } from "./output.js";
import { systemProgram } from "./outside/outsidePrograms.js";
import { type CommandResult, type RunningCommand, type RunOptions, runCommand } from "./run.js";

export class UnknownSession extends AppError {
  readonly code = "unknown_session";
  constructor(sessionId: number) {
    super(`Unknown process id ${sessionId}`);
  }
}

export class InputClosed extends AppError {
  readonly code = "input_closed";
  constructor() {
    super("stdin is closed for this session; rerun exec_command with tty=true to keep stdin open");
  }
}

/** A command's output since the last report, and whether it still runs. */
export interface SessionReport {
  readonly output: string;
  readonly wallTimeMs: number;
  /** Exactly one of the two is present. */
  readonly sessionId: number | undefined;
  readonly exitCode: number | undefined;
}

export interface StartedSession {
  readonly report: SessionReport;
  /** The command's end, even if that comes long after the report. */
  readonly finished: Promise<CommandResult>;
}

export interface WaitOptions {
  readonly yieldTimeMs: number;
  readonly signal: AbortSignal;
}

type SessionOptions = Pick<RunOptions, "stdin" | "onOutput" | "endsAtOnce">;

export const MOST_SESSIONS = 64;
/** The most recently used sessions are never ended to make room. */
const SPARED_SESSIONS = 8;
const FIRST_ID = 1_000;
const LAST_ID = 99_999;

/** Commands that may outlive the call that started them. They belong to a thread and end with it. */
export class ExecSessions implements AsyncDisposable {
  /** Least recently used first. */
  readonly #sessions = new Map<number, Session>();
  /** Sessions that were told to end and still run. */
  readonly #ending = new Set<Session>();

  get size(): number {
    return this.#sessions.size;
  }

  /** False for a session that was told to end, although its command may still be about to. */
  has(sessionId: number): boolean {
    return this.#sessions.has(sessionId);
  }

  /** Reserves an id for a command that is announced before it starts. */
  reserve(): number {
    return this.#newId();
  }

  /** Waits for the command's end, but no longer than requested. If cancelled meanwhile, the command is ended as well. */
  async start(launch: Launch, options: WaitOptions & SessionOptions & { readonly sessionId?: number }): Promise<StartedSession> {
    this.#makeRoom();
    const { sessionId } = options;
    const id = sessionId === undefined || this.#sessions.has(sessionId) ? this.#newId() : sessionId;
    const session: Session = new Session(id, launch, { ...options, onEnd: () => this.#ending.delete(session) });
    this.#sessions.set(session.id, session);
    try {
      return { report: await this.#report(session, options), finished: session.finished };
    } catch (error) {
      this.#tellToEnd(session);
      await session.ended;
      throw error;
    }
  }

  /** Sends input to the command, and waits for its output. */
  async write(sessionId: number, chars: string, options: WaitOptions): Promise<SessionReport> {
    const session = this.#sessions.get(sessionId);
    if (!session) throw new UnknownSession(sessionId);
    this.#sessions.delete(sessionId);
    this.#sessions.set(sessionId, session);
    if (chars !== "" && !(await session.write(chars))) throw new InputClosed();
    return this.#report(session, options);
  }

  /** Ends all commands. Resolves when they are gone. */
  async endAll(): Promise<void> {
    for (const session of this.#sessions.values()) this.#tellToEnd(session);
    await Promise.all([...this.#ending].map(({ ended }) => ended));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.endAll();
  }

  async #report(session: Session, { yieldTimeMs, signal }: WaitOptions): Promise<SessionReport> {
    const startedAt = performance.now();
    const exitCode = await orAborted(valueWithin(yieldTimeMs, session.finished, undefined), signal).then((result) => result?.exitCode);
    if (exitCode !== undefined) this.#sessions.delete(session.id);
    return {
      output: session.takeOutput({ last: exitCode !== undefined }),
      wallTimeMs: performance.now() - startedAt,
      sessionId: exitCode === undefined ? session.id : undefined,
      exitCode,
    };
  }

  #makeRoom(): void {
    if (this.#sessions.size < MOST_SESSIONS) return;
    const idle = [...this.#sessions.values()].slice(0, -SPARED_SESSIONS);
    const victim = idle.find(({ hasEnded }) => hasEnded) ?? idle[0];
    if (victim) this.#tellToEnd(victim);
  }

  #tellToEnd(session: Session): void {
    this.#sessions.delete(session.id);
    this.#ending.add(session);
    session.stop();
  }

  #newId(): number {
    for (;;) {
      const id = randomInt(FIRST_ID, LAST_ID + 1);
      if (!this.#sessions.has(id)) return id;
    }
  }
}

class Session {
  readonly finished: Promise<CommandResult>;
  /** Resolves in any case. */
  readonly ended: Promise<void>;
  hasEnded = false;
  readonly #command: RunningCommand;
  readonly #decoder = new StringDecoder("utf8");
  #unread = new HeadAndTail();

  constructor(
    readonly id: number,
    launch: Launch,
    { stdin, onOutput, endsAtOnce, onEnd }: SessionOptions & { readonly onEnd: () => void },
  ) {
    this.#command = runCommand(launch, {
      ...(stdin && { stdin }),
      ...(onOutput && { onOutput }),
      ...(endsAtOnce && { endsAtOnce }),
      onBytes: (bytes) => this.#unread.push(bytes),
    });
    this.finished = this.#command.result;
    const over = () => {
      this.hasEnded = true;
      onEnd();
    };
    this.ended = this.finished.then(over, over);
  }

  write(chars: string): Promise<boolean> {
    return this.#command.write(chars);
  }

  stop(): void {
    this.#command.stop();
  }

  /** An incomplete character is kept for the next report. */
  takeOutput({ last }: { last: boolean }): string {
    const bytes = this.#unread.bytes();
    this.#unread = new HeadAndTail();
    return this.#decoder.write(bytes) + (last ? this.#decoder.end() : "");
  }
}

const SHORTEST_MS = 250;
const LONGEST_MS = 30_000;
const START_DEFAULT_MS = 10_000;
const WRITE_DEFAULT_MS = 250;
/** Polling for nothing costs a model request each time. */
const SHORTEST_POLL_MS = 5_000;

/** How long `exec_command` waits before it reports a command that still runs. */
export function startYieldMs(requestedMs: number | undefined): number {
  return between(SHORTEST_MS, requestedMs ?? START_DEFAULT_MS, LONGEST_MS);
}

/** How long `write_stdin` waits for output; without input it only checks for more. */
export function writeYieldMs(requestedMs: number | undefined, chars: string): number {
  return between(chars === "" ? SHORTEST_POLL_MS : SHORTEST_MS, requestedMs ?? WRITE_DEFAULT_MS, LONGEST_MS);
}

function between(least: number, ms: number, most: number): number {
  return Math.min(Math.max(ms, least), most);
}

export class NoTerminal extends AppError {
  readonly code = "no_terminal";
  constructor() {
    super("no pseudo-terminal available: the program `script` (package bsdutils or util-linux) is not installed");
  }
}

/**
 * The command on a pseudo-terminal of its own. The system's `script` creates it inside the sandbox, which avoids a native dependency and
 * keeps our side an ordinary pair of pipes.
 */
export function onTerminal(argv: readonly string[]): string[] {
  const script = systemProgram("script");
  if (script === undefined) throw new NoTerminal();
  if (process.platform === "darwin") return [script, "-q", "/dev/null", ...argv];
  return [script, "--quiet", "--return", "--flush", "--command", `${SIZE}; exec ${argv.map(quoted).join(" ")}`, "/dev/null"];
}

/** Without a size some programs print one column. */
const SIZE = "stty rows 24 cols 80 2>/dev/null";

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
