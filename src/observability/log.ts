/** Least severe first. */
export const SEVERITIES = ["trace", "debug", "info", "warn", "error"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** The name of this server in filters; its parts are `codex_mcp_server::http` and the like, or `http` for short. */
const ROOT = "codex_mcp_server";

const WORDS: Readonly<Record<string, Severity | "off">> = {
  trace: "trace",
  debug: "debug",
  info: "info",
  warn: "warn",
  warning: "warn",
  error: "error",
  off: "off",
};

/** The minimum severity of kept lines, for the server and for parts of it. */
export interface LogFilter {
  readonly usual: Severity | "off";
  readonly byTarget: ReadonlyMap<string, Severity | "off">;
}

/** `LOG_LEVEL` wins over `RUST_LOG`; both have the syntax of Rust programs: `info`, `codex_mcp_server=debug,http=warn`, `off`. */
export function readLogFilter(env: NodeJS.ProcessEnv, usual: Severity): LogFilter {
  const text = env["LOG_LEVEL"]?.trim() || env["RUST_LOG"]?.trim() || "";
  return text.split(",").reduce(applyDirective, { usual, byTarget: new Map() });
}

/** The index in `SEVERITIES` from which lines of a target pass; one past the end when none do. */
export function thresholdOf(filter: LogFilter, target: string | undefined): number {
  const level = (target === undefined ? undefined : levelFor(filter, target)) ?? filter.byTarget.get(ROOT) ?? filter.usual;
  return level === "off" ? SEVERITIES.length : SEVERITIES.indexOf(level);
}

function applyDirective(filter: LogFilter, directive: string): LogFilter {
  const [name = "", word] = directive.split("=").map((part) => part.trim().toLowerCase());
  if (name === "") return filter;
  const named = (level: Severity | "off"): LogFilter => ({ ...filter, byTarget: new Map(filter.byTarget).set(targetName(name), level) });
  if (word !== undefined) {
    const level = WORDS[word];
    return level === undefined ? filter : named(level);
  }
  const level = WORDS[name];
  // A target without a level enables all its lines.
  return level === undefined ? named("trace") : { ...filter, usual: level };
}

/** `http::sse` falls back to `http`. */
function levelFor({ byTarget }: LogFilter, target: string): Severity | "off" | undefined {
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

/** The structured data of a line. Fields without a value are left out. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Facts about the server's work. Never prompts, outputs or secrets; anything that looks like a secret is masked before it is written. */
export interface Log {
  trace(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Whether lines of this severity are written anywhere. */
  writes(level: Severity): boolean;
  /** A log that adds these fields to every line. */
  with(fields: LogFields): Log;
  /** A log for one part of the server, which filters can name. */
  target(name: string): Log;
}

export interface LogLine {
  readonly time: Date;
  readonly level: Severity;
  readonly target: string | undefined;
  readonly message: string;
  readonly fields: LogFields;
}

export interface LogSink {
  readonly filter: LogFilter;
  /** Accepts a line and returns at once, whatever state the sink is in. The line is built when it is first needed, which may be later. */
  write(line: () => LogLine): void;
}

export interface LogParts {
  readonly sinks: readonly LogSink[];
  /** Applied once to every line that any sink accepts. */
  readonly mask: (line: LogLine) => LogLine;
}

export function createLog(parts: LogParts): Log {
  const known = new Map<string | undefined, Thresholds>();
  const thresholdsOf = (target: string | undefined): Thresholds => {
    const found = known.get(target) ?? thresholdsIn(parts, target);
    known.set(target, found);
    return found;
  };
  return new FilteredLog({ ...parts, thresholdsOf }, undefined, {});
}

interface Thresholds {
  /** One per sink, in order. */
  readonly each: readonly number[];
  readonly lowest: number;
}

function thresholdsIn({ sinks }: LogParts, target: string | undefined): Thresholds {
  const each = sinks.map(({ filter }) => thresholdOf(filter, target));
  return { each, lowest: Math.min(...each) };
}

interface SharedParts extends LogParts {
  /** Computed once for each target, that is, for each part of the server. */
  readonly thresholdsOf: (target: string | undefined) => Thresholds;
}

class FilteredLog implements Log {
  readonly #parts: SharedParts;
  readonly #target: string | undefined;
  readonly #fields: LogFields;
  readonly #thresholds: Thresholds;

  constructor(parts: SharedParts, target: string | undefined, fields: LogFields) {
    this.#parts = parts;
    this.#target = target;
    this.#fields = fields;
    this.#thresholds = parts.thresholdsOf(target);
  }

  trace(message: string, fields?: LogFields): void {
    this.#write("trace", message, fields);
  }

  debug(message: string, fields?: LogFields): void {
    this.#write("debug", message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#write("info", message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#write("warn", message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#write("error", message, fields);
  }

  writes(level: Severity): boolean {
    return SEVERITIES.indexOf(level) >= this.#thresholds.lowest;
  }

  with(fields: LogFields): Log {
    return new FilteredLog(this.#parts, this.#target, { ...this.#fields, ...fields });
  }

  target(name: string): Log {
    return new FilteredLog(this.#parts, name, this.#fields);
  }

  #write(level: Severity, message: string, fields: LogFields | undefined): void {
    const severity = SEVERITIES.indexOf(level);
    if (severity < this.#thresholds.lowest) return;
    const { sinks, mask } = this.#parts;
    const plain = { time: new Date(), level, target: this.#target, message, fields: { ...this.#fields, ...fields } };
    let masked: LogLine | undefined;
    const line = () => {
      masked ??= mask(plain);
      return masked;
    };
    for (const [at, sink] of sinks.entries()) if (severity >= (this.#thresholds.each[at] ?? 0)) sink.write(line);
  }
}

/** Discards everything, for parts that run without a log. */
export const NO_LOG: Log = createLog({ sinks: [], mask: (line) => line });
