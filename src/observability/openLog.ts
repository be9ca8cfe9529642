import path from "node:path";
import { describe } from "../lib/errors.js";
import { endsWithin, monotonicMs } from "../lib/promises.js";
import { createLog, type Log, type LogFields, type LogFilter, type LogLine, type LogSink, readLogFilter } from "./log.js";
import type { LogFile } from "./logFile.js";
import { Redactor } from "./redact.js";

export interface LogOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly codexHome: string;
  /** A listening server writes more to stderr, because no client shows that to a user. */
  readonly listening: boolean;
  readonly stderr: (text: string) => void;
}

/** The server's log with its lifecycle. */
export interface OpenLog {
  readonly log: Log;
  /** Receives every secret that becomes known, so that it is masked everywhere. */
  readonly redactor: Redactor;
  /** The number of lost lines since the start. */
  readonly linesLost: () => number;
  /** Writes the remaining lines, as far as possible in a short time. */
  readonly close: () => Promise<void>;
}

/** Lines for people on stderr, lines for programs in `$CODEX_HOME/log`. Creates nothing before the first line. */
export function openLog({ env, codexHome, listening, stderr }: LogOptions): OpenLog {
  const redactor = Redactor.forEnvironment(env);
  const file = new LazyLogFile({ codexHome, filter: readLogFilter(env, "info"), complain: (text) => stderr(stderrText(text)) });
  const log = createLog({
    sinks: [
      { filter: readLogFilter(env, listening ? "info" : "warn"), write: (line) => stderr(stderrText(line().message, line().fields)) },
      file,
    ],
    mask: redactor.maskLine.bind(redactor),
  });
  return { log, redactor, linesLost: () => file.lost, close: () => file.close() };
}

/** Whether prompts, responses and command texts may be logged: off by default. */
export function logsContent(env: NodeJS.ProcessEnv): boolean {
  return ["1", "true", "yes", "on"].includes(env["CODEX_MCP_LOG_PROMPTS"]?.trim().toLowerCase() ?? "");
}

/**
 * A line for people: `codex-mcp-server: message key=value`. Text after a line break is indented, so that it cannot pass for a line of ours.
 */
export function stderrText(message: string, fields: LogFields = {}): string {
  const pairs = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}=${shown(value)}`);
  return `codex-mcp-server: ${printable(message)}${pairs.join("")}\n`;
}

function shown(value: LogFields[string]): string {
  return typeof value === "string" && !/^[\w.:/@+*-]+$/.test(value) ? printable(JSON.stringify(value)) : String(value);
}

/** Control characters could move the cursor or change a terminal's colours. */
function printable(text: string): string {
  const indented = text
    .trimEnd()
    .replaceAll("\r\n", "\n")
    .replaceAll(/\n(?!\s)/g, "\n    ");
  return indented.replaceAll(/(?![\n\t])\p{Cc}|[\u2028\u2029]/gu, "\ufffd");
}

/** How long lines are collected before they are written. */
const GATHER_MS = 50;
/** The limit of lines that wait to be formatted, off the caller's path. */
const MAX_FRESH = 16;
/** The limit of lines that wait for the disk; further ones are dropped and counted. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** The delay before a retry after a write error. */
const RETRY_MS = 2_000;
/** The time limit for the last lines before the process exits. */
const CLOSE_MS = 1_000;

export interface LogFileOptions {
  readonly codexHome: string;
  readonly filter: LogFilter;
  /** Reports a problem with the file on another channel. */
  readonly complain: (text: string) => void;
}

/** The log file as a sink that never blocks its callers. Nothing is loaded, created or opened before the first line. */
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

  /** The number of lines that did not fit into the buffer, or could not be formatted. */
  get lost(): number {
    return this.#lost;
  }

  write(line: () => LogLine): void {
    if (this.#state.at === "closed") return;
    if (this.#waitingBytes > MAX_WAITING_BYTES) this.#lose();
    else this.#fresh.push(line);
    if (this.#fresh.length >= MAX_FRESH || this.#state.at === "refused") this.#keepFresh();
    if (this.#state.at === "refused" && monotonicMs() < this.#state.retryAt) return;
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
        // The error could reveal what the line must not show, so it is not logged.
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

  /** Lines of about the same time are written together, and the first response need not wait for the file to be opened. */
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
    // Lines that arrived meanwhile come after these.
    this.#waiting = this.#waiting.slice(count);
    this.#waitingBytes -= text.length;
    this.#accepted();
  }

  #refused(error: unknown): void {
    const first = this.#state.at === "open";
    if (this.#state.at !== "closed") this.#state = { at: "refused", retryAt: monotonicMs() + RETRY_MS };
    if (first) this.#complain(`the log file ${this.#path} cannot be written: ${describe(error)}; logging resumes when it can be`);
  }

  #accepted(): void {
    if (this.#state.at === "refused") {
      this.#state = { at: "open" };
      this.#complain(`the log file ${this.#path} can be written again`);
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
