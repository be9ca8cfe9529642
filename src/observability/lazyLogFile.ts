import path from "node:path";
import { describe } from "../lib/errors.js";
import { endsWithin } from "../lib/promises.js";
import type { LogFilter, LogLine, LogSink } from "./log.js";
import type { LogFile } from "./logFile.js";

/** How long lines are gathered before they are written. */
const GATHER_MS = 50;
/** Lines that wait to be put into words, off the path of whoever wrote them. */
const MAX_FRESH = 16;
/** Lines that wait for the disk; more are lost, and counted. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** How long a disk that refused is left alone. */
const RETRY_MS = 2_000;
/** What the last lines get before the process ends. */
const CLOSE_MS = 1_000;

export interface LogFileOptions {
  readonly codexHome: string;
  readonly filter: LogFilter;
  /** Says something about the file where it can still be said. */
  readonly complain: (text: string) => void;
}

/** The log file as a sink that never makes anybody wait. Nothing is loaded, made or opened before the first line. */
export class LazyLogFile implements LogSink {
  readonly filter: LogFilter;
  readonly #path: string;
  readonly #complain: (text: string) => void;
  #fresh: (() => LogLine)[] = [];
  #waiting: string[] = [];
  #waitingBytes = 0;
  #lost = 0;
  #lostUntold = 0;
  #file: LogFile | undefined;
  #writing: Promise<void> | undefined;
  /** Ends the wait for more lines. */
  #hurry: () => void = () => undefined;
  #state: { readonly at: "open" | "closed" } | { readonly at: "refused"; readonly retryAt: number } = { at: "open" };

  constructor({ codexHome, filter, complain }: LogFileOptions) {
    this.filter = filter;
    this.#path = path.join(codexHome, "log", "codex-mcp-server.log");
    this.#complain = complain;
  }

  /** How many lines did not fit into what may wait, or could not be put into words. */
  get lost(): number {
    return this.#lost;
  }

  write(line: () => LogLine): void {
    if (this.#state.at === "closed") return;
    if (this.#waitingBytes > MAX_WAITING_BYTES) this.#lose();
    else this.#fresh.push(line);
    if (this.#fresh.length >= MAX_FRESH || this.#state.at === "refused") this.#keepFresh();
    if (this.#state.at === "refused" && performance.now() < this.#state.retryAt) return;
    this.#begin();
  }

  async close(): Promise<void> {
    if (this.#state.at === "closed") return;
    this.#hurry();
    const last = (this.#writing ?? Promise.resolve()).then(() => this.#writeAll()).then(() => this.#file?.close());
    this.#state = { at: "closed" };
    await endsWithin(CLOSE_MS, last).catch(() => undefined);
  }

  #keepFresh(): void {
    const fresh = this.#fresh;
    this.#fresh = [];
    for (const line of fresh) {
      try {
        this.#keep(line());
      } catch {
        // What a line may not show, its failure may not show either.
        this.#lose();
      }
    }
  }

  #lose(): void {
    this.#lost++;
    this.#lostUntold++;
  }

  #keep(line: LogLine): void {
    const text = jsonLine(line);
    this.#waiting.push(text);
    this.#waitingBytes += text.length;
  }

  /** Lines of about the same time leave in one write, and a first answer need not wait for the file to be opened. */
  #begin(): void {
    this.#writing ??= new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, GATHER_MS);
      this.#hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    }).then(() => this.#writeAll());
  }

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    try {
      for (this.#keepFresh(); this.#waiting.length > 0; this.#keepFresh()) await this.#writeBatch(this.#waiting.length);
    } catch (error) {
      this.#refused(error);
    }
    this.#writing = undefined;
  }

  async #writeBatch(count: number): Promise<void> {
    const text = this.#waiting.slice(0, count).join("");
    const { openLogFile } = await import("./logFile.js");
    this.#file ??= openLogFile(this.#path);
    await this.#file.append(text);
    // Lines that came meanwhile are behind these.
    this.#waiting = this.#waiting.slice(count);
    this.#waitingBytes -= text.length;
    this.#accepted();
  }

  #refused(error: unknown): void {
    const first = this.#state.at === "open";
    if (this.#state.at !== "closed") this.#state = { at: "refused", retryAt: performance.now() + RETRY_MS };
    if (first) this.#complain(`the log file ${this.#path} cannot be written: ${describe(error)}; it goes on when it can`);
  }

  #accepted(): void {
    if (this.#state.at === "refused") {
      this.#state = { at: "open" };
      this.#complain(`the log file ${this.#path} is written again`);
    }
    if (this.#lostUntold === 0) return;
    const fields = { lost: this.#lostUntold };
    this.#lostUntold = 0;
    this.#keep({
      time: new Date(),
      level: "warn",
      target: undefined,
      message: "lines are missing here: the log could not be written",
      fields,
    });
  }
}

/** One JSON object per line; several processes may write to the same file. */
function jsonLine({ time, level, target, message, fields }: LogLine): string {
  return `${JSON.stringify({ time, level, target, message, pid: process.pid, ...fields })}\n`;
}
