import { LOG_LEVELS, type LogFilter, type LogLevel, thresholdOf } from "./logFilter.js";

/** What is known about a line besides its words. Fields without a value are left out. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Facts about what the server does. Never prompts, outputs or secrets; what looks like a secret is masked before it leaves. */
export interface Log {
  trace(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** The same log; every line carries these fields too. */
  with(fields: LogFields): Log;
  /** The same log for one part of the server, which filters can name. */
  target(name: string): Log;
}

export interface LogLine {
  readonly time: Date;
  readonly level: LogLevel;
  readonly target: string | undefined;
  readonly message: string;
  readonly fields: LogFields;
}

export interface LogSink {
  readonly filter: LogFilter;
  /** Takes a line and comes back at once, whatever state the sink is in. The line is made when it is first asked for, which may be later. */
  write(line: () => LogLine): void;
}

export interface LogParts {
  readonly sinks: readonly LogSink[];
  /** Applied once to every line that any sink takes. */
  readonly mask: (line: LogLine) => LogLine;
}

export function createLog(parts: LogParts): Log {
  return new FilteredLog(parts, undefined, {});
}

class FilteredLog implements Log {
  readonly #parts: LogParts;
  readonly #target: string | undefined;
  readonly #fields: LogFields;
  /** For each sink, in order. */
  readonly #thresholds: readonly number[];
  readonly #lowest: number;

  constructor(parts: LogParts, target: string | undefined, fields: LogFields) {
    this.#parts = parts;
    this.#target = target;
    this.#fields = fields;
    this.#thresholds = parts.sinks.map(({ filter }) => thresholdOf(filter, target));
    this.#lowest = Math.min(...this.#thresholds);
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

  with(fields: LogFields): Log {
    return new FilteredLog(this.#parts, this.#target, { ...this.#fields, ...fields });
  }

  target(name: string): Log {
    return new FilteredLog(this.#parts, name, this.#fields);
  }

  #write(level: LogLevel, message: string, fields: LogFields | undefined): void {
    const severity = LOG_LEVELS.indexOf(level);
    if (severity < this.#lowest) return;
    const { sinks, mask } = this.#parts;
    const plain = { time: new Date(), level, target: this.#target, message, fields: { ...this.#fields, ...fields } };
    let masked: LogLine | undefined;
    const line = () => {
      masked ??= mask(plain);
      return masked;
    };
    for (const [at, sink] of sinks.entries()) if (severity >= (this.#thresholds[at] ?? 0)) sink.write(line);
  }
}

/** Says nothing, for parts that run without a log. */
export const NO_LOG: Log = createLog({ sinks: [], mask: (line) => line });
