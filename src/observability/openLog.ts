import { LazyLogFile } from "./lazyLogFile.js";
import { createLog, type Log, type LogFields, readLogFilter } from "./log.js";
import { Redactor } from "./redact.js";

export interface LogOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly codexHome: string;
  /** A server that listens has nobody at its stderr who would be disturbed: it shows more there. */
  readonly listening: boolean;
  readonly stderr: (text: string) => void;
}

/** The server's log, and what ends it. */
export interface OpenLog {
  readonly log: Log;
  /** Told every secret that comes to be known, so that it appears nowhere. */
  readonly redactor: Redactor;
  /** Lines that could not be written since the start. */
  readonly linesLost: () => number;
  /** Writes what is still to be written, as far as that is possible in a short time. */
  readonly close: () => Promise<void>;
}

/** Lines for people on stderr, lines for programs in `$CODEX_HOME/log`. Touches nothing before there is a line to write. */
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

/** Whether prompts, answers and command texts may be written to the log: off unless somebody asks. */
export function logsContent(env: NodeJS.ProcessEnv): boolean {
  return ["1", "true", "yes", "on"].includes(env["CODEX_MCP_LOG_PROMPTS"]?.trim().toLowerCase() ?? "");
}

/** A line as people read it: `codex-mcp-server: message key=value`. What follows a line break is indented, so that no text can pass for a line of ours. */
export function stderrText(message: string, fields: LogFields = {}): string {
  const pairs = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}=${shown(value)}`);
  return `codex-mcp-server: ${printable(message)}${pairs.join("")}\n`;
}

function shown(value: LogFields[string]): string {
  return typeof value === "string" && !/^[\w.:/@+*-]+$/.test(value) ? printable(JSON.stringify(value)) : String(value);
}

/** Control characters could move the cursor or change the colours of a terminal. */
function printable(text: string): string {
  const indented = text
    .trimEnd()
    .replaceAll("\r\n", "\n")
    .replaceAll(/\n(?!\s)/g, "\n    ");
  return indented.replaceAll(/(?![\n\t])\p{Cc}|[\u2028\u2029]/gu, "\ufffd");
}
