import path from "node:path";
import type { Node } from "web-tree-sitter";
import { type BashGrammar, clock, openGrammar } from "./grammar.js";
import { type HeredocPatch, mentionedCommands, PATCH_PROGRAMS, type PlainCommand, patchHeredoc, plainCommands } from "./syntaxTree.js";
import { anyShellScript, runsScripts, shellScript, UNREAD_COMMANDS } from "./words.js";

/** Parses bash scripts without running them. */
export interface BashReader {
  /** False for a script that is too long or too slow to parse. A readable script may still be invalid bash. */
  canRead(script: string): boolean;
  /** The commands of a script that is only a sequence of commands; undefined for every other script. */
  plainCommands(script: string): PlainCommand[] | undefined;
  /**
   * Every command mentioned anywhere in the script, as far as its words are known. It can detect a dangerous command, but never rule one
   * out. `UNREAD_COMMANDS` for a script that cannot be read.
   */
  mentionedCommands(script: string): (readonly string[])[];
  /** The patch of a script that only passes one to `apply_patch`, perhaps after a `cd`. */
  patchHeredoc(script: string): HeredocPatch | undefined;
}

/** Letters, digits and characters without a meaning in bash, with one blank between words. */
const PLAIN_WORDS = /^[\w./:@%+,-]+(?: [\w./:@%+,-]+)*$/;
/** The grammar does not parse numbers and some symbols as a program's name. */
const PROGRAM_FIRST = /^[A-Za-z_./][\w./-]*(?: |$)/;

/** Words with a special meaning in bash or in the grammar. */
const SPECIAL_WORDS = new Set(
  (
    "if then elif else fi for while until do done case esac in select function coproc time " +
    "declare typeset export readonly local unset unsetenv let"
  ).split(" "),
);

const LONGEST_PLAIN_SCRIPT = 10_000;
const MOST_SHELLS = 10;

/** Whether every script in this call, at any depth, is a single command in plain words. */
function areUnmistakable(argv: readonly string[]): boolean {
  return argv.every(arePlainWords) && [argv, ...argv.map((text) => text.split(" "))].every(scriptsBeginWithPrograms);
}

/** Whether the script of every shell among the words can be read without the grammar. A script that begins with `7z` or `:` cannot. */
function scriptsBeginWithPrograms(words: readonly string[]): boolean {
  const shells = words.flatMap((word, at) => (runsScripts(word) ? at : []));
  if (shells.length > MOST_SHELLS) return false;
  return shells.every((at) => {
    const script = anyShellScript(words.slice(at));
    return script === undefined || isUnmistakable(script);
  });
}

function arePlainWords(text: string): boolean {
  return text.length <= LONGEST_PLAIN_SCRIPT && PLAIN_WORDS.test(text) && !text.split(" ").some((word) => SPECIAL_WORDS.has(word));
}

function isUnmistakable(script: string): boolean {
  return arePlainWords(script) && PROGRAM_FIRST.test(script);
}

/**
 * Reads scripts of one command in plain words. It treats every other script as unreadable, and an unreadable script counts as dangerous.
 */
export const UNMISTAKABLE_SCRIPTS: BashReader = {
  canRead: isUnmistakable,
  plainCommands: (script) => (isUnmistakable(script) ? [{ words: script.split(" "), mayGainOptions: false }] : undefined),
  mentionedCommands: (script) => (isUnmistakable(script) ? [script.split(" ")] : []),
  patchHeredoc: () => undefined,
};

/** Longer scripts count as unreadable, and therefore never as safe. */
const MAX_SCRIPT_CHARS = 1_000_000;

/** Error recovery can be slow on hostile text; a script that takes longer counts as unreadable. */
const PARSE_BUDGET_MS = 500;
/** In characters. Scripts up to this length are parsed even if no time is left, because that takes almost none. */
const SHORT_SCRIPT = 1_000;

/** A reader for the scripts of one call, which share its time. Most calls can be read without the grammar, which is then not loaded. */
export async function openBashReader(argv: readonly string[]): Promise<BashReader> {
  return areUnmistakable(argv) ? UNMISTAKABLE_SCRIPTS : (await openBashParser()).forCall();
}

/** Reads any script. Loads the grammar where that has not happened yet. */
export async function openBashParser(): Promise<BashParser> {
  return new BashParser(await openGrammar());
}

/** What the checks of one call share: a call may hold many scripts, and each is looked at several times. */
class CallBudget {
  #leftMs = PARSE_BUDGET_MS;
  readonly #answers = new Map<string, Answers>();

  answersTo(script: string): Answers {
    const known = this.#answers.get(script) ?? {};
    this.#answers.set(script, known);
    return known;
  }

  /** Until when a script may be parsed; undefined when no time is left. */
  deadlineFor(script: string): number | undefined {
    return this.#leftMs <= 0 && script.length > SHORT_SCRIPT ? undefined : clock.nowMs() + this.#leftMs;
  }

  spend(ms: number): void {
    this.#leftMs -= ms;
  }
}

/** What is known of a script; a script that could not be read is not tried again. */
interface Answers {
  isUnread?: true;
  plain?: { readonly commands: PlainCommand[] | undefined };
  mentioned?: (readonly string[])[] | undefined;
}

export class BashParser implements BashReader {
  readonly #grammar: BashGrammar;
  readonly #budget: CallBudget | undefined;

  constructor(grammar: BashGrammar, budget?: CallBudget) {
    this.#grammar = grammar;
    this.#budget = budget;
  }

  /** A reader for one call, whose scripts share one time limit. With a limit for each script, a call of many scripts could take a minute. */
  forCall(): BashParser {
    return new BashParser(this.#grammar, new CallBudget());
  }

  canRead(script: string): boolean {
    return this.#read(script, () => true) ?? false;
  }

  plainCommands(script: string): PlainCommand[] | undefined {
    const known = this.#budget?.answersTo(script) ?? {};
    known.plain ??= { commands: this.#read(script, (root) => plainCommands(root, script)) };
    return known.plain.commands;
  }

  mentionedCommands(script: string): (readonly string[])[] {
    // In bash, a word continues after a backslash at the end of a line; in the grammar, a new word begins.
    const joined = script.replaceAll("\\\n", "");
    const found = this.#mentionedIn(script);
    if (found === undefined) return [UNREAD_COMMANDS];
    if (joined === script) return found;
    return [...found, ...(this.#mentionedIn(joined) ?? [["bash", "-c", joined]])];
  }

  patchHeredoc(script: string): HeredocPatch | undefined {
    return this.#read(script, (root) => patchHeredoc(root, script));
  }

  #mentionedIn(script: string): (readonly string[])[] | undefined {
    const known = this.#budget?.answersTo(script) ?? {};
    known.mentioned ??= this.#read(script, mentionedCommands);
    return known.mentioned;
  }

  #read<Answer>(script: string, answer: (root: Node) => Answer): Answer | undefined {
    if (script.length > MAX_SCRIPT_CHARS) return undefined;
    const known = this.#budget?.answersTo(script);
    const deadline = this.#budget ? this.#budget.deadlineFor(script) : clock.nowMs() + PARSE_BUDGET_MS;
    if (known?.isUnread) return undefined;
    if (deadline === undefined && !this.#grammar.hasParsed(script)) return undefined;
    const startedAt = clock.nowMs();
    const read = this.#grammar.read(script, { deadline: deadline ?? startedAt, answer });
    this.#budget?.spend(read.parseMs);
    if (read.isUnread && known) known.isUnread = true;
    return read.answer;
  }
}

export type PatchCall =
  | ({ readonly kind: "patch" } & HeredocPatch)
  /** The model sent a patch in place of a command; the error explains how to call apply_patch. */
  | { readonly kind: "bare" };

/** A shell call that is really a patch, to be applied in this process instead. */
export function patchCall(argv: readonly string[], reader: BashReader): PatchCall | undefined {
  const [program = "", text, ...more] = argv;
  if (text === undefined) return looksLikePatch(program) ? { kind: "bare" } : undefined;
  if (PATCH_PROGRAMS.includes(program) && more.length === 0) return { kind: "patch", patch: text };
  const script = shellScript(argv) ?? windowsScript(argv);
  if (script === undefined) return undefined;
  if (looksLikePatch(script)) return { kind: "bare" };
  const found = reader.patchHeredoc(script);
  return found && { kind: "patch", ...found };
}

function windowsScript(argv: readonly string[]): string | undefined {
  const [shell = "", ...args] = argv;
  const name = path.posix.parse(shell.replaceAll("\\", "/")).name.toLowerCase();
  if (name === "cmd") return args.length === 2 && args[0] === "/c" ? args[1] : undefined;
  if (name !== "pwsh" && name !== "powershell") return undefined;
  const [flag, script, ...more] = args[0] === "-NoProfile" ? args.slice(1) : args;
  return flag === "-Command" && more.length === 0 ? script : undefined;
}

function looksLikePatch(text: string): boolean {
  const trimmed = text.trim();
  return trimmed.startsWith("*** Begin Patch\n") && trimmed.endsWith("\n*** End Patch");
}
