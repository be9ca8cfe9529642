/** One setting in a file in git's configuration format. */
export interface GitSetting {
  /** The text between the brackets: `core`, `remote "origin"`. */
  readonly section: string;
  /** In lower case. */
  readonly key: string;
  /** Without quotes, escapes and comments. */
  readonly value: string;
}

/**
 * The settings in such a file, in order, as git reads them. Anyone can write the file, so the time grows only with its length: a pattern with
 * several repeats in a row would take hours for a megabyte of blanks.
 */
export function* gitSettings(config: string): Generator<GitSetting> {
  const lines = config.split(/\r?\n/).values();
  let section = "";
  for (const written of lines) {
    let line = written.trimStart();
    while (line.startsWith("[")) {
      const end = endOfHeader(line);
      section = line.slice(1, end).trim();
      line = line.slice(end + 1).trimStart();
    }
    const at = line.indexOf("=");
    if (at < 0 || COMMENTS.has(line.trimStart().charAt(0))) continue;
    const value = readValue(line.slice(at + 1), () => lines.next().value);
    if (value !== undefined) yield { section, key: line.slice(0, at).trim().toLowerCase(), value };
  }
}

const COMMENTS: ReadonlySet<string> = new Set(["#", ";"]);
const BLANKS: ReadonlySet<string> = new Set([" ", "\t", "\r"]);
const ESCAPED: Readonly<Record<string, string>> = { "\\": "\\", '"': '"', n: "\n", t: "\t", b: "\b" };

/** The position of the bracket that closes a header; the name in quotes may contain brackets and escapes. */
function endOfHeader(line: string): number {
  let isQuoted = false;
  for (let at = 1; at < line.length; at++) {
    const character = line.charAt(at);
    if (character === "\\") at++;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === "]" && !isQuoted) return at;
  }
  return line.length;
}

/** Longer than any path or address. */
const LONGEST_VALUE = 65_536;

/** Undefined for a value that is invalid or too long. A backslash at the end of a line continues the value on the next one. */
function readValue(text: string, nextLine: () => string | undefined): string | undefined {
  let [line, value, blanks, isQuoted] = [text, "", "", false];
  for (let at = 0; at < line.length; at++) {
    const character = line.charAt(at);
    if (value.length > LONGEST_VALUE) return undefined;
    if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && COMMENTS.has(character)) break;
    else if (!isQuoted && BLANKS.has(character)) blanks += value === "" ? "" : character;
    else if (character === "\\" && at === line.length - 1) [line, at] = [nextLine() ?? "", -1];
    else {
      const meant = character === "\\" ? ESCAPED[line.charAt(++at)] : character;
      if (meant === undefined) return undefined;
      value += blanks + meant;
      blanks = "";
    }
  }
  return isQuoted ? undefined : value;
}
