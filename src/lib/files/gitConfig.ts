/** One setting in a file in git's configuration format. */
export interface GitSetting {
  /** The text between the brackets: `core`, `remote "origin"`. */
  readonly section: string;
  /** In lower case. */
  readonly key: string;
  /** Without quotes around it. */
  readonly value: string;
}

/**
 * The settings that take one line each, in order. Anyone can write such a file, so the time grows only with its length: a pattern with several
 * repeats in a row would take hours for a megabyte of blanks.
 */
export function* gitSettings(config: string): Generator<GitSetting> {
  let section = "";
  for (const written of config.split("\n")) {
    const line = written.trim();
    if (line.startsWith("[")) {
      const end = line.lastIndexOf("]");
      if (end > 0) section = line.slice(1, end);
      continue;
    }
    const at = line.indexOf("=");
    if (at < 0) continue;
    const value = unquoted(line.slice(at + 1).trim());
    if (value !== undefined) yield { section, key: line.slice(0, at).trim().toLowerCase(), value };
  }
}

/** Undefined for a value with quotes inside, which this server never needs. */
function unquoted(value: string): string | undefined {
  const bare = value.slice(value.startsWith('"') ? 1 : 0, value.length > 1 && value.endsWith('"') ? -1 : undefined);
  return bare.includes('"') ? undefined : bare;
}
