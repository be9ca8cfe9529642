/** Letters, digits and marks that mean nothing to any shell. */
const BARE = /^[+\-./:@\]_0-9A-Za-z]+/;
const SINGLE_QUOTED = /^\^?[^'\\^]*/;
const DOUBLE_QUOTED = /^[^$`!^]*/;

/**
 * One line a person can paste into a shell. Written as Codex writes it: single quotes where they do, double quotes around
 * apostrophes and backslashes, so that events and questions compare equal.
 */
export function shellQuote(argv: readonly string[]): string {
  return argv.some((word) => word.includes("\0")) ? argv.join(" ") : argv.map(quoteWord).join(" ");
}

function quoteWord(word: string): string {
  if (word === "") return "''";
  let quoted = "";
  for (let rest = word; rest !== ""; ) {
    const chunk = longestChunk(rest);
    quoted += chunk.quoted;
    rest = rest.slice(chunk.length);
  }
  return quoted;
}

interface Chunk {
  readonly quoted: string;
  readonly length: number;
}

/** The style that covers most of what is left; on a tie the one with the fewest quotes. */
function longestChunk(text: string): Chunk {
  const bare = prefix(text, BARE);
  const single = prefix(text, SINGLE_QUOTED);
  const double = prefix(text, DOUBLE_QUOTED);
  if (bare.length >= single.length && bare.length >= double.length) return { quoted: bare, length: bare.length };
  if (single.length >= double.length) return { quoted: `'${single}'`, length: single.length };
  return { quoted: `"${double.replace(/["\\]/g, "\\$&")}"`, length: double.length };
}

function prefix(text: string, style: RegExp): string {
  return style.exec(text)?.[0] ?? "";
}

/** The words of one command line, quotes and backslashes resolved, nothing expanded; undefined when a quote stays open. */
export function shellWords(line: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  const token = /\s+|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s'"\\]+)/gsy;
  let end = 0;
  for (let match = token.exec(line); match; match = token.exec(line)) {
    end = token.lastIndex;
    const [blank, single, double, escaped, bare] = match;
    const piece = single ?? double?.replace(/\\([$`"\\])/g, "$1") ?? escaped ?? bare;
    if (piece !== undefined) word = (word ?? "") + piece;
    else if (blank && word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  if (end < line.length) return undefined;
  return word === undefined ? words : [...words, word];
}
