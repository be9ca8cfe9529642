import path from "node:path";
import type { ParsedCommand } from "../actions.js";
import { operands, optionValue } from "./options.js";
import { fileRead } from "./readers.js";
import { isSearchProgram, searchTerms } from "./searchers.js";

interface Place {
  /** The command as it is to be shown. */
  readonly cmd: string;
  /** The folder it runs in, relative to where the script started. */
  readonly cwd: string;
}

/** Programs that list files, with the options whose value is the next word. */
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

/** What one command does, as far as its words tell. */
export function classify(words: readonly string[], { cmd, cwd }: Place): ParsedCommand {
  const [program = "", ...args] = words;
  const file = fileRead(words);
  if (file !== undefined) return { type: "read", cmd, name: path.posix.basename(file), path: within(cwd, file) };
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

function within(cwd: string, file: string): string {
  return cwd === "" || path.posix.isAbsolute(file) ? file : path.posix.join(cwd, file);
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

/** The last part of a path that says something. */
function shortened(place: string | undefined): string | null {
  if (place === undefined) return null;
  const telling = place.split("/").filter((part) => part !== "" && !/^(build|dist|node_modules|src)$/.test(part));
  return telling.at(-1) ?? place;
}
