import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { Node, Parser, Tree } from "web-tree-sitter";
import { tuneForGrammar } from "../../../platform/v8.js";

type Library = typeof import("web-tree-sitter");

// The parts that the types of Node lack.
declare global {
  namespace WebAssembly {
    class Memory {
      constructor(size: { readonly initial: number; readonly maximum: number });
      readonly buffer: ArrayBuffer;
    }
    class RuntimeError extends Error {}
  }
}

const PAGE_BYTES = 64 * 1024;
const MEMORY = { initial: (32 * 1024 * 1024) / PAGE_BYTES, maximum: (256 * 1024 * 1024) / PAGE_BYTES };
/** WebAssembly never gives memory back, so a grammar with more memory than this is replaced before the next call. */
const WORN_BYTES = 128 * 1024 * 1024;

/** Each part of a script takes some microseconds whenever the tree is walked; a script with more parts counts as unreadable. */
const MOST_NODES = 50_000;

/** The CPU time of this process. Elapsed time would make scripts unreadable when other processes use the cores. */
export const clock = {
  nowMs(): number {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  },
};

interface Reading<Answer> {
  readonly answer: Answer | undefined;
  /** The script takes too long, has too many parts or needs too much memory. */
  readonly isUnread: boolean;
  readonly parseMs: number;
}

interface ParsedScript {
  readonly script: string;
  readonly tree: Tree;
}

/** The bash grammar: WebAssembly with a memory of its own. */
export class BashGrammar {
  readonly #parser: Parser;
  readonly #memory: WebAssembly.Memory;
  /** Several checks parse the same script, as written and with its lines joined. All calls share these trees. */
  #parsed: ParsedScript[] = [];
  #hasFailed = false;

  constructor(parser: Parser, memory: WebAssembly.Memory) {
    this.#parser = parser;
    this.#memory = memory;
  }

  /** Whether the grammar has failed, or has so much memory that it should not be used for further calls. */
  get isSpent(): boolean {
    return this.#hasFailed || this.#memory.buffer.byteLength > WORN_BYTES;
  }

  hasParsed(script: string): boolean {
    return this.#parsed.some((each) => each.script === script);
  }

  /** Parses a script and answers a question about its tree. The answer is computed at once, so no tree in use is freed. */
  read<Answer>(
    script: string,
    { deadline, answer }: { readonly deadline: number; readonly answer: (root: Node) => Answer },
  ): Reading<Answer> {
    const startedAt = clock.nowMs();
    let parseMs = 0;
    const unread = () => ({ answer: undefined, isUnread: true, parseMs });
    if (this.#hasFailed) return unread();
    try {
      const tree = this.#treeOf(script, deadline);
      parseMs = clock.nowMs() - startedAt;
      if (!tree || tree.rootNode.descendantCount > MOST_NODES) return unread();
      return { answer: answer(tree.rootNode), isUnread: false, parseMs };
    } catch (error) {
      if (!isFailure(error)) throw error;
      // Its work was interrupted, so its memory may be inconsistent and its further results wrong.
      this.#hasFailed = true;
      for (const held of [this.#parser, ...this.#parsed.map(({ tree }) => tree)]) forget(held);
      this.#parsed = [];
      parseMs = clock.nowMs() - startedAt;
      return unread();
    }
  }

  #treeOf(script: string, deadline: number): Tree | null {
    const known = this.#parsed.find((each) => each.script === script);
    if (known) return known.tree;
    let isLate = false;
    let isParsing = true;
    const checkTime = () => (isLate ||= clock.nowMs() > deadline);
    // The callback is called after every hundred steps only, and one step may read the whole rest of the script. So beyond the deadline this
    // function returns no text, which ends the step. The tree gets the texts of its nodes from the same function.
    const textFrom = (index: number) => (isParsing && checkTime() ? "" : script.slice(index));
    const tree = this.#parser.parse(textFrom, null, { progressCallback: checkTime });
    isParsing = false;
    if (!tree || isLate) {
      tree?.delete();
      this.#parser.reset();
      return null;
    }
    this.#parsed.push({ script, tree });
    if (this.#parsed.length > 2) this.#parsed.shift()?.tree.delete();
    return tree;
  }
}

/**
 * Prevents the package from freeing an object when it is garbage-collected: in an inconsistent memory, that may never end. The memory is
 * collected as a whole.
 */
function forget(held: Parser | Tree): void {
  const addresses: { 0: number; 1?: number } = held as never;
  addresses[0] = 0;
  if (addresses[1] !== undefined) addresses[1] = 0;
  // Without an address, this frees nothing, and the package does not try again.
  held.delete();
}

/** Whether the grammar has exhausted its memory or its stack. */
function isFailure(error: unknown): boolean {
  return error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
}

let opened: Promise<BashGrammar> | undefined;

/** Loading the grammar takes about 50 ms, so it is loaded once, for the first script that needs it, and again after a script exhausted it. */
export async function openGrammar(): Promise<BashGrammar> {
  for (;;) {
    opened ??= loadGrammar();
    const loading = opened;
    const grammar = await loading.catch((error: unknown) => {
      if (opened === loading) opened = undefined;
      throw error;
    });
    if (!grammar.isSpent) return grammar;
    if (opened === loading) opened = undefined;
  }
}

async function loadGrammar(): Promise<BashGrammar> {
  tuneForGrammar();
  const { Language, Parser } = freshLibrary();
  const memory = new WebAssembly.Memory(MEMORY);
  const silent = { print: () => {}, printErr: () => {} };
  await Parser.init({ ...silent, wasmMemory: memory, wasmBinary: await readWasm("web-tree-sitter.wasm") });
  const grammar = await Language.load(await readWasm("tree-sitter-bash.wasm"));
  return new BashGrammar(new Parser().setLanguage(grammar), memory);
}

/** The package keeps the first memory that it gets, so each grammar has a copy of the package. */
function freshLibrary(): Library {
  const load = createRequire(import.meta.url);
  const file = besideTheBundle("web-tree-sitter.js") ?? load.resolve("web-tree-sitter");
  delete load.cache[file];
  return load(file) as Library;
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
