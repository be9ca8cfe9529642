import path from "node:path";

const SHELLS = new Set(["bash", "zsh", "sh"]);

/** Folders of programs that no sandboxed command can write to. */
const SYSTEM_FOLDERS = new Set([
  "/bin",
  "/sbin",
  "/usr/bin",
  "/usr/sbin",
  "/usr/local/bin",
  "/opt/homebrew/bin",
  "/opt/local/bin",
  "/run/current-system/sw/bin",
]);

/** Shells whose scripts never count as safe, but are searched for dangerous commands. */
const OTHER_SHELLS = new Set(["dash", "ash", "ksh", "ksh93", "mksh", "rbash", "yash", "fish"]);

/** Stands for commands that are not examined, because there are too many or they are too long. */
export const UNREAD_COMMANDS: readonly string[] = ["(commands that are not examined)"];

/** The base name of a program. */
export function programName(word: string): string {
  return path.posix.basename(word);
}

/** Called by a bare name or from a system folder: not a file of the workspace that happens to be called `ls`. */
export function isSystemProgram(word: string): boolean {
  return !word.includes("/") || SYSTEM_FOLDERS.has(path.posix.dirname(word));
}

function isShell(word: string): boolean {
  return SHELLS.has(
    programName(word)
      .toLowerCase()
      .replace(/\.exe$/, ""),
  );
}

/** Shells whose scripts the bash grammar reads. Fish has another language. */
export function isBashLike(word: string): boolean {
  return isShell(word) || (OTHER_SHELLS.has(programName(word)) && programName(word) !== "fish");
}

/** Any shell, and the builtins that run a file of commands. */
export function runsScripts(word: string): boolean {
  return word === "." || word === "source" || isShell(word) || OTHER_SHELLS.has(programName(word));
}

/** The script of `[bash|zsh|sh, -lc|-c, script]`, exactly. */
export function shellScript(argv: readonly string[]): string | undefined {
  const [shell, flag, script, ...more] = argv;
  if (shell === undefined || !isShell(shell) || more.length > 0) return undefined;
  return flag === "-lc" || flag === "-c" ? script : undefined;
}

/** The script given to a shell in any form (`-ec`, `--login -c`, with further words). */
export function anyShellScript(argv: readonly string[]): string | undefined {
  const [shell, ...rest] = argv;
  if (shell === undefined || !(isShell(shell) || OTHER_SHELLS.has(programName(shell)))) return undefined;
  const named = rest.find((word) => word.startsWith("--command="));
  if (named !== undefined) return named.slice("--command=".length);
  const flag = rest.findIndex((word) => (word.startsWith("-") && hasFlag(word, /c/i)) || word === "--command");
  return flag < 0 ? undefined : scriptBehind(rest.slice(flag));
}

/** One of the single letters behind a dash or plus. */
function hasFlag(word: string, letter: RegExp): boolean {
  return /^[-+][a-z]+$/i.test(word) && letter.test(word);
}

/** Options may stand between `-c` and its script, and `-o` takes the next word. */
function scriptBehind([flag = "", ...words]: readonly string[]): string | undefined {
  const takesWord = (option: string) => hasFlag(option, /o/i);
  let at = takesWord(flag) ? 1 : 0;
  for (let word = words[at]; word !== undefined && /^[-+]./.test(word); word = words[at]) {
    at += takesWord(word) ? 2 : 1;
    if (word === "--") break;
  }
  return words[at];
}

/** The words that are neither options nor the value of one of `valued`. */
export function operands(args: readonly string[], valued: readonly string[] = []): string[] {
  const found: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? "";
    if (word === "--") return [...found, ...args.slice(at + 1)];
    if (valued.includes(word)) at++;
    else if (!word.startsWith("-") || word === "-") found.push(word);
  }
  return found;
}

/** The value of the first of these options, given as the next word or after `=`. */
export function optionValue(args: readonly string[], names: readonly string[]): string | undefined {
  for (const [at, word] of args.entries()) {
    if (word === "--") return undefined;
    if (names.includes(word)) return args[at + 1];
    const name = names.find((each) => each.startsWith("--") && word.startsWith(`${each}=`));
    if (name) return word.slice(name.length + 1);
  }
  return undefined;
}

/** A short option, alone or in a cluster: `-f` in `-rf`. */
export function hasShort(args: readonly string[], letter: string): boolean {
  return optionsOf(args).some((word) => /^-[^-]/.test(word) && word.includes(letter));
}

/** A long option, with or without `=value`, whole or abbreviated as most programs allow (`--forc`). */
export function hasLong(args: readonly string[], option: string): boolean {
  return optionsOf(args).some((word) => {
    const [name = ""] = word.split("=", 1);
    return name.length > 2 && option.startsWith(name);
  });
}

function optionsOf(args: readonly string[]): string[] {
  const end = args.indexOf("--");
  return (end < 0 ? args : args.slice(0, end)).filter((word) => word.startsWith("-") && word !== "-");
}

/** Letters, digits and characters without a meaning in any shell. */
const BARE = /^[+\-./:@\]_0-9A-Za-z]+/;
const SINGLE_QUOTED = /^\^?[^'\\^]*/;
const DOUBLE_QUOTED = /^[^$`!^]*/;

/**
 * One line that can be pasted into a shell. It uses Codex's quoting, so that events and questions compare equal: single quotes where
 * possible, double quotes around apostrophes and backslashes.
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

/** The quoting style that covers most of the remaining text; on a tie, the one with the fewest quotes. */
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

/** The words of one command line, with quotes and backslashes resolved and nothing expanded; undefined for an unclosed quote. */
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
