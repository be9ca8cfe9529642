import { keepCompiledSoFar } from "./compileCache.js";

/** The bash grammar is run a few times per command: optimising it takes half a second of CPU, and a process waits for that at its end. */
const FOR_GRAMMAR: readonly string[] = ["--no-wasm-tier-up", "--no-wasm-dynamic-tiering"];

/**
 * Types are remembered from a function's first run on, which makes a server's second call faster, and code is optimised when it has run eight
 * times as often as usual: for what an answer of some thousand pieces runs, that takes longer than the answer, from cores that others need.
 * By V8's version: those of Node 20 and 22. Later ones have a cheaper compiler for such code; and V8 complains on stderr of flags it does not
 * know.
 */
const OF_VERSION: Readonly<Record<string, readonly string[]>> = {
  "11.3": ["--no-lazy-feedback-allocation", "--ticks-before-optimization=24", "--max-bytecode-size-for-early-opt=0"],
  "12.4": ["--no-lazy-feedback-allocation", "--invocation-count-for-turbofan=24000"],
};

const given = new Set<string>();

/**
 * Suits V8 to long answers. To be called when Node's own modules are loaded: they come with compiled code, which V8 only takes with the flags it
 * was compiled with.
 */
export function tuneForLongAnswers(): void {
  give(OF_VERSION[process.versions.v8.split(".", 2).join(".")] ?? []);
}

/** Suits V8 to the bash grammar, before that is loaded. */
export function tuneForGrammar(): void {
  give(FOR_GRAMMAR);
}

function give(flags: readonly string[]): void {
  const added = flags.filter((flag) => !given.has(flag));
  if (added.length === 0) return;
  keepCompiledSoFar();
  for (const flag of added) {
    given.add(flag);
    v8()?.setFlagsFromString(flag);
  }
}

// Not imported, as a start does not need it. A few versions of Node, 22.2 for one, cannot do that, and are not tuned.
function v8(): typeof import("node:v8") | undefined {
  return process.getBuiltinModule?.("node:v8");
}
