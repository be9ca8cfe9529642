import path from "node:path";
import type { ParsedCommand } from "../../actions.js";
import type { BashReader } from "../bash/reader.js";
import { operands, optionValue, shellQuote, shellScript } from "../bash/words.js";

type Words = readonly string[];

/** What a command does, for display: its reads, searches and listings, without incidental commands. */
export function parsedCommand(argv: Words, parser: BashReader): ParsedCommand[] {
  const script = shellScript(argv);
  if (script === undefined) return [classify(argv, { cmd: shellQuote(argv), cwd: "" })];
  const commands = parser.plainCommands(script)?.map((command) => command.words) ?? [];
  const steps = commands.length > MOST_COMMANDS ? undefined : stepsOf(withoutNoise(commands));
  if (!steps) return [{ type: "unknown", cmd: script }];
  const [only] = steps;
  // A script that only changes its folder has no effect.
  if (commands.length > 0 && commands.every(([program]) => program === "cd")) return [];
  // A single command that only formats text is shown as written.
  const onlyShapes = commands.length === 1 && only && shapesText(only.words) && fileRead(only.words) === undefined;
  if (!only || onlyShapes) return [{ type: "unknown", cmd: script }];
  const entries = merged(steps.map(({ words, cwd }) => classify(words, { cmd: shellQuote(words), cwd })));
  return entries.length === 1 && readsARange(script, commands)
    ? entries.map((entry) => (entry.type === "read" ? { ...entry, cmd: script } : entry))
    : entries;
}

/** `nl FILE | sed -n 1,3p`: the whole pipeline reads a part of a file. */
function readsARange(script: string, commands: readonly Words[]): boolean {
  return /\s\|\s/.test(script) && commands.some(([program, option]) => program === "sed" && option === "-n");
}

function shapesText(words: Words): boolean {
  return words[0] === "sed" || isFormatter(words);
}

function withoutNoise(commands: readonly Words[]): Words[] {
  if (commands.length <= 1) return [...commands];
  const shown = commands.filter((words) => !isFormatter(words));
  const isOnlyStep = shown.filter(([program]) => program !== "cd").length === 1;
  const telling = shown.filter((words) => isOnlyStep || !isFiller(words));
  const start = telling.findIndex(([program]) => program !== "echo");
  return start < 0 ? telling.slice(-1) : telling.slice(start);
}

/** Whether a command only ends a script with success (`… || true`) or numbers the lines of a pipe. */
function isFiller([program, ...args]: Words): boolean {
  return (program === "true" && args.length === 0) || (program === "nl" && args.every((word) => word.startsWith("-")));
}

interface Step {
  readonly words: Words;
  /** The folder it runs in, relative to the script's start; empty for the start folder. */
  readonly cwd: string;
}

/** A script of more commands is shown as a whole. */
const MOST_COMMANDS = 1_000;
/** The kernel accepts no longer path. Each step in the folder repeats it. */
const LONGEST_FOLDER = 4_096;

/** The commands, each with its folder; a `cd` is not a step of its own. Undefined where a folder is too long. */
function stepsOf(commands: readonly Words[]): Step[] | undefined {
  const steps: Step[] = [];
  let cwd = "";
  for (const words of commands) {
    if (words[0] === "cd") cwd = relativeTo(cwd, operands(words.slice(1)).at(-1) ?? "");
    else steps.push({ words, cwd });
    if (cwd.length > LONGEST_FOLDER) return undefined;
  }
  return steps;
}

function merged(entries: readonly ParsedCommand[]): ParsedCommand[] {
  return entries.filter((entry, at) => at === 0 || JSON.stringify(entry) !== JSON.stringify(entries[at - 1]));
}

interface Shown {
  /** The command as it is shown. */
  readonly cmd: string;
  /** The folder it runs in, relative to the script's start. */
  readonly cwd: string;
}

/** Programs that list files, with their options that take the next word as value. */
const LISTERS: ReadonlyMap<string, readonly string[]> = new Map([
  ["ls", ["-I", "--ignore", "-w", "--width", "-T", "--block-size", "--time-style"]],
  ["eza", ["-I", "--ignore-glob", "-L", "--level", "-s", "--sort", "-t", "--time", "--time-style"]],
  ["exa", ["-I", "--ignore-glob", "-L", "--level", "-s", "--sort", "-t", "--time", "--time-style"]],
  ["tree", ["-L", "-P", "-I", "-H", "-T", "-o", "--filelimit", "--charset", "--timefmt"]],
  ["du", ["-d", "--max-depth", "-B", "--block-size", "-t", "--threshold", "--exclude"]],
]);

const FD_VALUED = "-t --type -e --extension -E --exclude -d --max-depth --min-depth -c --color -S --size -j --threads".split(" ");
const FIND_FILTERS = ["-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex"];
const FIND_ACTIONS = ["-delete", "-exec", "-execdir", "-ok", "-okdir", "-fls", "-fprint", "-fprint0", "-fprintf"];

/** What one command does, as far as its words show. */
function classify(words: readonly string[], { cmd, cwd }: Shown): ParsedCommand {
  const [program = "", ...args] = words;
  const file = fileRead(words);
  if (file !== undefined) return { type: "read", cmd, name: path.posix.basename(file), path: relativeTo(cwd, file) };
  const valued = LISTERS.get(program);
  if (valued) return list(cmd, operands(args, valued)[0]);
  if (isSearchProgram(program)) return searchOrList(program, args, cmd);
  switch (program) {
    case "git":
      return classifyGit(args, cmd);
    case "fd":
    case "fdfind":
      return classifyFd(args, cmd);
    case "find":
      return classifyFind(args, cmd);
    default:
      return { type: "unknown", cmd };
  }
}

function searchOrList(program: string, args: readonly string[], cmd: string): ParsedCommand {
  const { query, paths } = searchTerms(program, args);
  const listsFiles = (program === "rg" || program === "rga") && args.includes("--files");
  return listsFiles ? list(cmd, query ?? paths[0]) : search(cmd, query, paths[0]);
}

function classifyGit([subcommand, ...args]: readonly string[], cmd: string): ParsedCommand {
  if (subcommand === "ls-files") return list(cmd, operands(args, ["-x", "--exclude", "-X", "--exclude-from"])[0]);
  if (subcommand !== "grep") return { type: "unknown", cmd };
  const { query, paths } = searchTerms("grep", args);
  return search(cmd, query, paths[0]);
}

function classifyFd(args: readonly string[], cmd: string): ParsedCommand {
  const [first, second] = operands(args, FD_VALUED);
  if (first === undefined || (second === undefined && isPath(first))) return list(cmd, first);
  return search(cmd, first, second);
}

function classifyFind(args: readonly string[], cmd: string): ParsedCommand {
  if (args.some((word) => FIND_ACTIONS.includes(word))) return { type: "unknown", cmd };
  const folder = args.filter((word) => !/^-[HLP]$/.test(word))[0];
  const start = folder !== undefined && /^[^-(!]/.test(folder) ? folder : undefined;
  const query = optionValue(args, FIND_FILTERS);
  return query === undefined ? list(cmd, start) : search(cmd, query, start);
}

/** The paths joined as written, as Codex shows them. */
function relativeTo(cwd: string, file: string): string {
  if (file === "") return cwd;
  return cwd === "" || path.posix.isAbsolute(file) ? file : `${cwd.replace(/\/$/, "")}/${file}`;
}

function isPath(word: string): boolean {
  return word === "." || word === ".." || word.includes("/");
}

function list(cmd: string, folder: string | undefined): ParsedCommand {
  return { type: "list_files", cmd, path: shortened(folder) };
}

function search(cmd: string, query: string | undefined, place: string | undefined): ParsedCommand {
  return { type: "search", cmd, query: query ?? null, path: shortened(place) };
}

/** The last meaningful part of a path. */
function shortened(place: string | undefined): string | null {
  if (place === undefined) return null;
  const telling = place.split("/").filter((part) => part !== "" && !/^(build|dist|node_modules|src)$/.test(part));
  return telling.at(-1) ?? place.replace(/\/+$/, "");
}

/** Programs that show a file, with their options that take the next word as value. */
const READERS: ReadonlyMap<string, readonly string[]> = new Map([
  ["cat", []],
  ["bat", ["-r", "--line-range", "-l", "--language", "--style", "--theme", "-H", "--highlight-line", "--wrap", "--color", "--paging"]],
  ["less", ["-p", "-P", "-x", "-j"]],
  ["more", []],
  ["nl", ["-s", "-w", "-v", "-i", "-b", "-h", "-f", "-l", "-n", "-d"]],
  ["head", ["-n", "--lines"]],
  ["tail", ["-n", "--lines"]],
]);

/** A number of bytes, or of lines in the obsolete or the long form: Codex does not classify these as reading a file. */
const ODD_COUNT = /^-(c|-bytes|-lines|\d)/;

/** The one file a command shows; undefined if it does anything else. */
function fileRead([program = "", ...args]: readonly string[]): string | undefined {
  const valued = READERS.get(program);
  if ((program === "head" || program === "tail") && args.some((word) => ODD_COUNT.test(word))) return undefined;
  if (program === "nl") return onlyOne(operands(args, valued).slice(0, 1));
  if (valued) return onlyOne(operands(args, valued));
  if (program === "sed") return onlyOne(rangeOfSed(args));
  if (program === "awk") return onlyOne(operands(args, ["-F", "-v", "-f"]).slice(args.includes("-f") ? 0 : 1));
  return undefined;
}

/** The first file of `sed -n 3,9p FILE`. */
function rangeOfSed([silent, ...args]: readonly string[]): readonly string[] {
  const [range, ...files] = args[0] === "-e" ? args.slice(1) : args;
  return silent === "-n" && isLineRange(range) ? operands(files).slice(0, 1) : [];
}

/** `12p` or `3,9p`, the form that `sed -n` takes. */
function isLineRange(word: string | undefined): boolean {
  return word !== undefined && /^\d+(,\d+)?p$/.test(word);
}

function onlyOne(words: readonly string[]): string | undefined {
  return words.length === 1 && words[0] !== "-" ? words[0] : undefined;
}

const CONTEXT = ["-A", "-B", "-C", "-m", "--after-context", "--before-context", "--context", "--max-count"];

const RG_VALUED = [
  ...CONTEXT,
  ..."-e --regexp -f --file -g --glob --iglob -t --type -T --type-not -M --max-columns -d --max-depth".split(" "),
  ..."-j --threads -E --encoding -r --replace --sort --sortr --color --max-filesize".split(" "),
];

const GREP_VALUED = [...CONTEXT, "-e", "--regexp", "-f", "--file", "-d", "-D", "--include", "--exclude", "--exclude-dir"];

/** Programs that search text, with their options that take the next word as value. */
const SEARCHERS: ReadonlyMap<string, readonly string[]> = new Map([
  ["rg", RG_VALUED],
  ["rga", RG_VALUED],
  ["grep", GREP_VALUED],
  ["egrep", GREP_VALUED],
  ["fgrep", GREP_VALUED],
  ["ag", [...CONTEXT, "-G", "--file-search-regex", "--ignore", "--depth"]],
  ["ack", [...CONTEXT, "--type", "--ignore-dir", "--match"]],
  ["pt", [...CONTEXT, "-G", "--file-search-regexp", "--ignore", "--depth"]],
]);

function isSearchProgram(program: string): boolean {
  return SEARCHERS.has(program);
}

/** The search term and the paths searched. */
function searchTerms(program: string, args: readonly string[]): { query: string | undefined; paths: readonly string[] } {
  const words = operands(args, SEARCHERS.get(program));
  const pattern = optionValue(args, ["-e", "--regexp", "--match"]);
  if (pattern !== undefined) return { query: pattern, paths: words };
  const [query, ...paths] = words;
  return { query, paths };
}

const ALWAYS = new Set("column cut printf sort tee tr uniq wc yes".split(" "));

/** Programs that `xargs` may start without changing anything. */
const READING = new Set(
  "awk basename cat cut dirname du echo file grep head ls md5sum nl rg sed sha256sum sort stat tail uniq wc".split(" "),
);

/** A command that only formats another's output, and says nothing about the script. */
function isFormatter([program = "", ...args]: readonly string[]): boolean {
  if (ALWAYS.has(program)) return true;
  switch (program) {
    case "head":
    case "tail":
      return operands(args, ["-n", "-c", "--lines", "--bytes"]).length === 0;
    case "awk":
      return operands(args, ["-F", "-v", "-f"]).length <= 1;
    case "sed":
      return args.length < 3 || operands(args, ["-e", "-f", "-l"]).length <= 1;
    case "xargs":
      return !changesFiles(args);
    default:
      return false;
  }
}

function changesFiles(xargs: readonly string[]): boolean {
  const [program = "echo"] = operands(xargs, ["-I", "-n", "-P", "-L", "-d", "-a", "-s", "-E"]);
  return !READING.has(program) || (program === "sed" && xargs.some((word) => /^(-[a-zA-Z]*i|--in-place)/.test(word)));
}
