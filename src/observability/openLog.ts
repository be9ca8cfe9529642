import { createLog, type Log, type LogFields, readLogFilter } from "./log.js";
import { LazyLogFile } from "./logFile.js";
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
