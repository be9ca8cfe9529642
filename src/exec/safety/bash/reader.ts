import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Node, Parser, Tree } from "web-tree-sitter";
import { tuneForGrammar } from "../../../platform/v8.js";
import { type HeredocPatch, mentionedCommands, PATCH_PROGRAMS, type PlainCommand, patchHeredoc, plainCommands } from "./syntaxTree.js";
import { anyShellScript, runsScripts, shellScript } from "./words.js";

/** Parses bash scripts without running them. */
export interface BashReader {
  /** False for a script that is too long or too slow to parse. A readable script may still be invalid bash. */
  canRead(script: string): boolean;
  /** The commands of a script that is only a sequence of commands; undefined for every other script. */
  plainCommands(script: string): PlainCommand[] | undefined;
  /**
   * Every command mentioned anywhere in the script, as far as its words are known. It can detect a dangerous command, but never rule one
   * out.
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

let opened: Promise<BashParser> | undefined;

/** Loading the grammar takes about 50 ms, so it is loaded once, for the first script that needs it. */
export function openBashParser(): Promise<BashParser> {
  opened ??= loadGrammar().catch((error: unknown) => {
    opened = undefined;
    throw error;
  });
  return opened;
}

async function loadGrammar(): Promise<BashParser> {
  tuneForGrammar();
  const { Language, Parser } = await import("web-tree-sitter");
  await Parser.init({ wasmBinary: await readWasm("web-tree-sitter.wasm") });
  const grammar = await Language.load(await readWasm("tree-sitter-bash.wasm"));
  return new BashParser(new Parser().setLanguage(grammar));
}

/** The time that is left for the scripts of one call. */
interface CallTime {
  leftMs: number;
  /** Scripts that could not be parsed: no later check of the call tries again. */
  readonly unread: Set<string>;
}

export class BashParser implements BashReader {
  readonly #grammar: Parser;
  readonly #time: CallTime | undefined;

  /** The last trees, shared by all calls: several checks parse the same script, as written and with its lines joined. */
  readonly #parsed: { readonly script: string; readonly tree: Tree }[];

  constructor(grammar: Parser, parsed: { readonly script: string; readonly tree: Tree }[] = [], time?: CallTime) {
    this.#grammar = grammar;
    this.#parsed = parsed;
    this.#time = time;
  }

  /** A reader for one call, whose scripts share one time limit. With a limit for each script, a call of many scripts could take a minute. */
  forCall(): BashParser {
    return new BashParser(this.#grammar, this.#parsed, { leftMs: PARSE_BUDGET_MS, unread: new Set() });
  }

  canRead(script: string): boolean {
    return this.#read(script, () => true) ?? false;
  }

  plainCommands(script: string): PlainCommand[] | undefined {
    return this.#read(script, (root) => plainCommands(root, script));
  }

  mentionedCommands(script: string): (readonly string[])[] {
    // In bash, a word continues after a backslash at the end of a line; in the grammar, a new word begins.
    const joined = script.replaceAll("\\\n", "");
    const found = this.#read(script, mentionedCommands);
    if (found === undefined || joined === script) return found ?? [];
    return [...found, ...(this.#read(joined, mentionedCommands) ?? [["bash", "-c", joined]])];
  }

  patchHeredoc(script: string): HeredocPatch | undefined {
    return this.#read(script, (root) => patchHeredoc(root, script));
  }

  #read<Answer>(script: string, answer: (root: Node) => Answer): Answer | undefined {
    if (script.length > MAX_SCRIPT_CHARS) return undefined;
    const tree = this.#treeOf(script);
    return tree ? answer(tree.rootNode) : undefined;
  }

  #treeOf(script: string): Tree | null {
    const known = this.#parsed.find((each) => each.script === script);
    if (known) return known.tree;
    const time = this.#time;
    if (time && (time.unread.has(script) || (time.leftMs <= 0 && script.length > SHORT_SCRIPT))) return null;
    const startedAt = performance.now();
    const deadline = startedAt + (time?.leftMs ?? PARSE_BUDGET_MS);
    const tree = this.#grammar.parse(script, null, { progressCallback: () => performance.now() > deadline });
    if (time) time.leftMs -= performance.now() - startedAt;
    if (!tree) {
      this.#grammar.reset();
      time?.unread.add(script);
      return null;
    }
    this.#parsed.push({ script, tree });
    // Answers are computed at once, so no tree in use is freed.
    if (this.#parsed.length > 2) this.#parsed.shift()?.tree.delete();
    return tree;
  }
}

/** The package that contains each file, for running from the source tree. The build copies both beside the bundle. */
const PACKAGE_OF = {
  "web-tree-sitter.wasm": "web-tree-sitter",
  "tree-sitter-bash.wasm": "tree-sitter-bash",
} as const;

function readWasm(name: keyof typeof PACKAGE_OF): Promise<Buffer> {
  return readFile(besideTheBundle(name) ?? createRequire(import.meta.url).resolve(`${PACKAGE_OF[name]}/${name}`));
}

// This code is bundled into `dist/main.js` or `dist/chunks/…`; the files are in `dist/`.
function besideTheBundle(name: string): string | undefined {
  return [`./${name}`, `../${name}`].map((file) => fileURLToPath(new URL(file, import.meta.url))).find((file) => existsSync(file));
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
