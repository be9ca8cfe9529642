import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";

/** The polling interval for conditions without an event. */
const LOOK_EVERY_MS = 20;

export interface ServerCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface ServerOutput {
  onLine(line: string): void;
  onErrorLine(line: string): void;
}

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A running stdio server: lines in, lines out. Every wait ends with an event or its deadline. */
export class ServerProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #watchers = new Set<() => void>();
  #lastOutput = performance.now();
  #end: ProcessEnd | undefined;

  constructor(command: ServerCommand, output: ServerOutput) {
    const { program, args, cwd, env } = command;
    this.#child = spawn(program, args, { cwd, env, stdio: "pipe" });
    splitLines(this.#child.stdout, (line) => {
      this.#lastOutput = performance.now();
      output.onLine(line);
      this.#wake();
    });
    splitLines(this.#child.stderr, (line) => output.onErrorLine(line));
    // An ended server no longer reads; its end is noticed below.
    this.#child.stdin.on("error", () => {});
    this.#child.once("error", () => this.#finish({ code: null, signal: null }));
    this.#child.once("close", (code, signal) => this.#finish({ code, signal }));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get end(): ProcessEnd | undefined {
    return this.#end;
  }

  write(text: string | Uint8Array): void {
    this.#child.stdin.write(text);
  }

  closeStdin(): void {
    this.#child.stdin.end();
  }

  /** Stops reading stdout until `resumeStdout`. */
  pauseStdout(): void {
    this.#child.stdout.pause();
  }

  resumeStdout(): void {
    this.#child.stdout.resume();
  }

  /** The server's next write fails. */
  closeReadingEnd(of: "stdout" | "stderr"): void {
    this.#child[of].destroy();
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** The result of `look`, which is called again after each line; undefined at the deadline or if the process ended first. */
  async waitFor<T>(look: () => T | undefined, deadlineMs: number): Promise<T | undefined> {
    return this.#wait(() => look() ?? (this.#end ? null : undefined), deadlineMs).then((found) => found ?? undefined);
  }

  async waitForEnd(deadlineMs: number): Promise<ProcessEnd | undefined> {
    return this.#wait(() => this.#end, deadlineMs);
  }

  /** Resolves once nothing was written for this long, or the process ended. */
  async waitForQuiet(quietMs: number): Promise<void> {
    this.#lastOutput = performance.now();
    for (;;) {
      const left = this.#lastOutput + quietMs - performance.now();
      if (left <= 0 || this.#end) return;
      await this.waitForEnd(left);
    }
  }

  /** Resolves once everything was read by the server, or nothing more of it for this long. */
  async waitForInputTaken(stalledMs: number): Promise<void> {
    let waiting = this.#child.stdin.writableLength;
    let since = performance.now();
    while (waiting > 0 && performance.now() - since < stalledMs) {
      await this.waitForEnd(LOOK_EVERY_MS);
      if (this.#child.stdin.writableLength < waiting) since = performance.now();
      waiting = this.#child.stdin.writableLength;
    }
  }

  #wait<T>(look: () => T | undefined, deadlineMs: number): Promise<T | undefined> {
    return new Promise((resolve) => {
      const settle = (value: T | undefined) => {
        clearTimeout(timer);
        this.#watchers.delete(check);
        resolve(value);
      };
      const check = () => {
        const found = look();
        if (found !== undefined) settle(found);
      };
      const timer = setTimeout(() => settle(look()), deadlineMs);
      this.#watchers.add(check);
      check();
    });
  }

  #finish(end: ProcessEnd): void {
    this.#end ??= end;
    this.#wake();
  }

  #wake(): void {
    for (const check of this.#watchers) check();
  }
}

/** Text after the last line break counts as a line when the stream ends. */
function splitLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let begun: string[] = [];
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    const [first = "", ...others] = chunk.split("\n");
    begun.push(first);
    for (const piece of others) {
      onLine(begun.join(""));
      begun = [piece];
    }
  });
  stream.on("end", () => {
    const rest = begun.join("");
    if (rest !== "") onLine(rest);
  });
}
