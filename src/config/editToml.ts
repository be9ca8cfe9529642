import { isDeepStrictEqual } from "node:util";
import { parse } from "smol-toml";
import { AppError } from "../lib/errors.js";

/** The file's layout cannot be edited automatically without risk. */
export class ConfigNotEditable extends AppError {
  readonly code = "config_not_editable";
}

/** One statement of a TOML document, on one or more lines: a table header, or a key with its value. */
interface Statement {
  /** The full path from the root. */
  readonly path: readonly string[];
  /** The start of its line, and the start of the line after it. */
  readonly start: number;
  readonly end: number;
  /** Absent for a header. */
  readonly value?: { readonly start: number; readonly end: number };
  /** The table that contains its key. */
  readonly table: readonly string[];
}

const BYTE_ORDER_MARK = "\uFEFF";

/**
 * Sets string values in one table of a TOML text, or removes those that are undefined. Everything else is kept as written: comments, order,
 * blank lines. The result is parsed again and must have the intended meaning; otherwise the document is not changed. Throws
 * `ConfigNotEditable`, and the parser's error for invalid TOML.
 */
export function withTexts(text: string, table: readonly string[], values: Readonly<Record<string, string | undefined>>): string {
  if (text.startsWith(BYTE_ORDER_MARK)) return BYTE_ORDER_MARK + withTexts(text.slice(1), table, values);
  const before: unknown = parse(text);
  const wanted = Object.entries(values).reduce((tree, [key, value]) => withText(tree, [...table, key], value), before);
  const edited = Object.entries(values).reduce((edit, [key, value]) => withOne(edit, table, { key, value }), text);
  if (!isDeepStrictEqual(plain(safely(edited)), plain(wanted)))
    throw new ConfigNotEditable(
      `${[...table, Object.keys(values)[0]].join(".")} is written in a way that cannot be edited automatically. Edit it by hand.`,
    );
  return edited;
}

function withOne(
  text: string,
  table: readonly string[],
  { key, value }: { readonly key: string; readonly value: string | undefined },
): string {
  const statements = statementsOf(text);
  const path = [...table, key];
  const there = statements.find((statement) => statement.value && isDeepStrictEqual(statement.path, path));
  if (value === undefined) return there ? text.slice(0, there.start) + text.slice(there.end) : text;
  if (there?.value) return text.slice(0, there.value.start) + quoted(value) + text.slice(there.value.end);
  return inserted(text, { statements, table, line: (inTable) => `${path.slice(inTable.length).map(bare).join(".")} = ${quoted(value)}` });
}

interface Insertion {
  readonly statements: readonly Statement[];
  readonly table: readonly string[];
  readonly line: (inTable: readonly string[]) => string;
}

/**
 * After the last key of its table; where the table is written with dotted keys, after a key with the same prefix; otherwise in a new table,
 * or at the beginning.
 */
function inserted(text: string, { statements, table, line }: Insertion): string {
  const newline = text.includes("\r\n") ? "\r\n" : "\n";
  const home =
    statements.findLast((one) => isDeepStrictEqual(one.table, table) && (one.value || one.path.length > 0)) ??
    statements.findLast((one) => one.value && one.table.length < table.length && isDeepStrictEqual(one.path.slice(0, table.length), table));
  if (home) {
    const ahead = text.slice(0, home.end);
    return `${ahead}${ahead.endsWith("\n") ? "" : newline}${line(home.table)}${newline}${text.slice(home.end)}`;
  }
  if (table.length === 0)
    return `${line([])}${newline}${text === "" || text.startsWith("\n") || text.startsWith("\r") ? "" : newline}${text}`;
  const gap = text === "" ? "" : text.endsWith("\n") ? newline : newline + newline;
  return `${text}${gap}[${table.map(bare).join(".")}]${newline}${line(table)}${newline}`;
}

/** Parses a text that may have become invalid. */
function safely(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** Without the parser's prototypes. */
function plain(tree: unknown): unknown {
  return JSON.parse(JSON.stringify(tree ?? null, (_, value: unknown) => (typeof value === "bigint" ? `${value}n` : value)));
}

type Tree = Readonly<Record<string, unknown>>;

function withText(tree: unknown, [key = "", ...rest]: readonly string[], value: string | undefined): unknown {
  const table: Tree = typeof tree === "object" && tree !== null ? (tree as Tree) : {};
  const below = Object.hasOwn(table, key) ? table[key] : undefined;
  if (rest.length > 0) return value === undefined && below === undefined ? tree : { ...table, [key]: withText(below ?? {}, rest, value) };
  const { [key]: _, ...others } = table;
  return value === undefined ? others : { ...table, [key]: value };
}

function quoted(text: string): string {
  // TOML requires DEL to be escaped; JSON does not.
  return JSON.stringify(text).replaceAll("\x7f", "\\u007f");
}

function bare(key: string): string {
  return /^[\w-]+$/.test(key) ? key : quoted(key);
}

function statementsOf(text: string): Statement[] {
  const found: Statement[] = [];
  let table: readonly string[] = [];
  for (let at = 0; at < text.length; ) {
    const start = at;
    const first = skipBlanks(text, at);
    const char = text[first];
    if (char === undefined || char === "\n" || char === "\r" || char === "#") {
      at = nextLine(text, first);
    } else if (char === "[") {
      const isArray = text[first + 1] === "[";
      const { path } = keyAt(text, first + (isArray ? 2 : 1));
      at = nextLine(text, first);
      // Entries of an array of tables are not matched.
      table = isArray ? [...path, "\0"] : path;
      found.push({ path: table, table, start, end: at });
    } else {
      const { path, end } = keyAt(text, first);
      const from = skipBlanks(text, text.indexOf("=", end) + 1);
      const to = endOfValue(text, from);
      at = nextLine(text, to);
      found.push({ path: [...table, ...path], table, start, end: at, value: { start: from, end: to } });
    }
  }
  return found;
}

function skipBlanks(text: string, at: number): number {
  let end = at;
  while (text[end] === " " || text[end] === "\t") end++;
  return end;
}

function nextLine(text: string, at: number): number {
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end + 1;
}

/** A dotted key: bare words and quoted strings. */
function keyAt(text: string, from: number): { readonly path: string[]; readonly end: number } {
  const path: string[] = [];
  let at = skipBlanks(text, from);
  for (;;) {
    const quote = text[at];
    if (quote === '"' || quote === "'") {
      const end = endOfText(text, at);
      const inside = text.slice(at + 1, end - 1);
      path.push(quote === "'" ? inside : unescaped(inside));
      at = end;
    } else {
      const [word = ""] = /^[\w-]*/.exec(text.slice(at, at + 1_024)) ?? [];
      path.push(word);
      at += word.length;
    }
    at = skipBlanks(text, at);
    if (text[at] !== ".") return { path, end: at };
    at = skipBlanks(text, at + 1);
  }
}

/** An escape that JSON does not know yields a different key, which the final check detects. */
function unescaped(inside: string): string {
  try {
    return String(JSON.parse(`"${inside}"`));
  } catch {
    return inside;
  }
}

/** The end of the string that begins here, of any of the four kinds. */
function endOfText(text: string, from: number): number {
  const quote = text[from] ?? "";
  const long = quote.repeat(3);
  const mark = text.startsWith(long, from) ? long : quote;
  for (let at = from + mark.length; at < text.length; at++) {
    if (text[at] === "\\" && quote === '"') at++;
    else if (text.startsWith(mark, at)) {
      let end = at + mark.length;
      // A multi-line string may end with quotes of its own.
      while (mark.length === 3 && text[end] === quote) end++;
      return end;
    }
  }
  return text.length;
}

/** The end of a value: its lists and tables may span several lines. */
function endOfValue(text: string, from: number): number {
  let depth = 0;
  let last = from;
  for (let at = from; at < text.length; ) {
    const char = text[at] ?? "";
    if (char === '"' || char === "'") {
      at = endOfText(text, at);
      last = at;
    } else if (char === "#") {
      if (depth === 0) return last;
      at = nextLine(text, at);
    } else if (char === "\n" && depth === 0) {
      return last;
    } else {
      if (char === "[" || char === "{") depth++;
      if (char === "]" || char === "}") depth--;
      at++;
      if (char.trim() !== "") last = at;
    }
  }
  return last;
}
