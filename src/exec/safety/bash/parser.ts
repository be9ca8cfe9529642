import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Node, Parser, Tree } from "web-tree-sitter";
import { tuneCompiler } from "../../../platform/v8.js";
import { patchHeredoc } from "./patchCall.js";
import { mentionedCommands, plainCommands } from "./plainScript.js";
import { areUnmistakable, type BashReader, type HeredocPatch, type PlainCommand, UNMISTAKABLE_SCRIPTS } from "./reader.js";

/** Longer scripts are unreadable: no question about them is answered "harmless". */
const MAX_SCRIPT_CHARS = 1_000_000;

/** Error recovery can be slow on hostile text; a script that takes longer is unreadable. */
const PARSE_BUDGET_MS = 500;

/** For the scripts in this call; most calls are so plain that they need no grammar. */
export async function openBashReader(argv: readonly string[]): Promise<BashReader> {
  return areUnmistakable(argv) ? UNMISTAKABLE_SCRIPTS : await openBashParser();
}

let opened: Promise<BashParser> | undefined;

/** The grammar takes some 50 ms to load, so it is loaded when first asked for, and then kept. */
export function openBashParser(): Promise<BashParser> {
  opened ??= loadGrammar().catch((error: unknown) => {
    opened = undefined;
    throw error;
  });
  return opened;
}

async function loadGrammar(): Promise<BashParser> {
  const { Language, Parser } = await import("web-tree-sitter");
  await Parser.init({ wasmBinary: await readWasm("web-tree-sitter.wasm") });
  const grammar = await Language.load(await readWasm("tree-sitter-bash.wasm"));
  return new BashParser(new Parser().setLanguage(grammar));
}

/** Lives as long as the process. */
export class BashParser implements BashReader {
  /** Several questions are asked about one script: its tree is kept until another one comes. No tree is the memory of a failure. */
  #last: { readonly script: string; readonly tree: Tree | null } | undefined;

  constructor(private readonly grammar: Parser) {}

  canRead(script: string): boolean {
    return this.#read(script, () => true) ?? false;
  }

  plainCommands(script: string): PlainCommand[] | undefined {
    return this.#read(script, (root) => plainCommands(root, script));
  }

  mentionedCommands(script: string): string[][] {
    return this.#read(script, mentionedCommands) ?? [];
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
    if (this.#last?.script === script) return this.#last.tree;
    this.#last?.tree?.delete();
    const deadline = performance.now() + PARSE_BUDGET_MS;
    const tree = this.grammar.parse(script, null, { progressCallback: () => performance.now() > deadline });
    if (!tree) this.grammar.reset();
    this.#last = { script, tree };
    return tree;
  }
}

/** The package that brings each file, for a run from the source tree. The build puts copies of both beside the bundle. */
const PACKAGE_OF = {
  "web-tree-sitter.wasm": "web-tree-sitter",
  "tree-sitter-bash.wasm": "tree-sitter-bash",
} as const;

// In a server that has been done; not where this is used by itself.
tuneCompiler();

function readWasm(name: keyof typeof PACKAGE_OF): Promise<Buffer> {
  return readFile(besideTheBundle(name) ?? createRequire(import.meta.url).resolve(`${PACKAGE_OF[name]}/${name}`));
}

// This code ends up in `dist/main.js` or in `dist/chunks/…`, the files in `dist/`.
function besideTheBundle(name: string): string | undefined {
  return [`./${name}`, `../${name}`].map((file) => fileURLToPath(new URL(file, import.meta.url))).find((file) => existsSync(file));
}
