import path from "node:path";
import type { ParsedCommand } from "../actions.js";
import type { BashReader } from "./bashReader.js";
import { classify } from "./classify.js";
import { isFormatter } from "./formatters.js";
import { operands } from "./options.js";
import { shellScript } from "./program.js";
import { shellQuote } from "./shellQuote.js";

type Words = readonly string[];

/** What a command does, for display: its reads, searches and listings, with the noise around them left out. */
export function parsedCommand(argv: Words, parser: BashReader): ParsedCommand[] {
  const script = shellScript(argv);
  if (script === undefined) return [classify(argv, { cmd: shellQuote(argv), cwd: "" })];
  const commands = parser.plainCommands(script)?.map((command) => command.words) ?? [];
  const steps = stepsOf(withoutNoise(commands));
  const [only] = steps;
  if (!only) return [{ type: "unknown", cmd: script }];
  if (commands.length === 1) return [classify(only.words, { cmd: script, cwd: only.cwd })];
  return merged(steps.map(({ words, cwd }) => classify(words, { cmd: shellQuote(words), cwd })));
}

function withoutNoise(commands: readonly Words[]): Words[] {
  if (commands.length <= 1) return [...commands];
  const telling = commands.filter((words) => !isFormatter(words)).filter((words, _, all) => all.length === 1 || !isFiller(words));
  const start = telling.findIndex(([program]) => program !== "echo");
  return start < 0 ? telling.slice(-1) : telling.slice(start);
}

/** `… || true`, and numbering lines of a pipe. */
function isFiller([program, ...args]: Words): boolean {
  return (program === "true" && args.length === 0) || (program === "nl" && args.every((word) => word.startsWith("-")));
}

interface Step {
  readonly words: Words;
  /** Where it runs, relative to where the script started; empty for there. */
  readonly cwd: string;
}

/** The commands with the folder each runs in; a `cd` that something follows is no step of its own. */
function stepsOf(commands: readonly Words[]): Step[] {
  const steps: Step[] = [];
  let cwd = "";
  for (const [at, words] of commands.entries()) {
    const folder = words[0] === "cd" && at < commands.length - 1 ? (operands(words.slice(1)).at(-1) ?? "") : undefined;
    if (folder === undefined) steps.push({ words, cwd });
    else cwd = path.posix.isAbsolute(folder) ? folder : path.posix.join(cwd, folder);
  }
  return steps;
}

function merged(entries: readonly ParsedCommand[]): ParsedCommand[] {
  return entries.filter((entry, at) => at === 0 || JSON.stringify(entry) !== JSON.stringify(entries[at - 1]));
}
