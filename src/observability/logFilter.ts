/** Least severe first. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The name of this server in filters; its parts are `codex_mcp_server::http` and the like, or `http` for short. */
const ROOT = "codex_mcp_server";

const WORDS: Readonly<Record<string, LogLevel | "off">> = {
  trace: "trace",
  debug: "debug",
  info: "info",
  warn: "warn",
  warning: "warn",
  error: "error",
  off: "off",
};

/** From which severity on lines are kept, for the server and for parts of it. */
export interface LogFilter {
  readonly usual: LogLevel | "off";
  readonly byTarget: ReadonlyMap<string, LogLevel | "off">;
}

/** `LOG_LEVEL` wins over `RUST_LOG`; both are read as Rust programs read them: `info`, `codex_mcp_server=debug,http=warn`, `off`. */
export function readLogFilter(env: NodeJS.ProcessEnv, usual: LogLevel): LogFilter {
  const text = env["LOG_LEVEL"]?.trim() || env["RUST_LOG"]?.trim() || "";
  return text.split(",").reduce(applyDirective, { usual, byTarget: new Map() });
}

/** The position in `LOG_LEVELS` from which lines of a target pass; one past the end when none do. */
export function thresholdOf(filter: LogFilter, target: string | undefined): number {
  const level = (target === undefined ? undefined : levelFor(filter, target)) ?? filter.byTarget.get(ROOT) ?? filter.usual;
  return level === "off" ? LOG_LEVELS.length : LOG_LEVELS.indexOf(level);
}

function applyDirective(filter: LogFilter, directive: string): LogFilter {
  const [name = "", word] = directive.split("=").map((part) => part.trim().toLowerCase());
  if (name === "") return filter;
  const named = (level: LogLevel | "off"): LogFilter => ({ ...filter, byTarget: new Map(filter.byTarget).set(targetName(name), level) });
  if (word !== undefined) {
    const level = WORDS[word];
    return level === undefined ? filter : named(level);
  }
  const level = WORDS[name];
  // A target without a level means all of its lines.
  return level === undefined ? named("trace") : { ...filter, usual: level };
}

/** `http::sse` falls back to `http`. */
function levelFor({ byTarget }: LogFilter, target: string): LogLevel | "off" | undefined {
  for (let name = targetName(target); name !== ""; name = name.slice(0, Math.max(0, name.lastIndexOf("::")))) {
    const level = byTarget.get(name);
    if (level !== undefined) return level;
  }
  return undefined;
}

function targetName(name: string): string {
  const plain = name.replaceAll("-", "_");
  return plain.startsWith(`${ROOT}::`) ? plain.slice(ROOT.length + 2) : plain;
}
