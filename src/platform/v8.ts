import { keepCompiledSoFar } from "./compileCache.js";

/**
 * The bash grammar runs a few times per command. Optimising it takes half a second of CPU, and the process waits for that when it exits.
 */
const FOR_GRAMMAR: readonly string[] = ["--no-wasm-tier-up", "--no-wasm-dynamic-tiering"];

/**
 * Type feedback starts with a function's first run, which makes a server's second call faster. Code is optimised after eight times as many
 * runs as usual: for a response of some thousand deltas, the optimiser would run longer than the response and take CPU from others.
 * Keyed by V8's version, for Node 20 and 22. Later versions have a cheaper compiler for such code, and V8 prints an error for unknown
 * flags.
 */
const OF_VERSION: Readonly<Record<string, readonly string[]>> = {
  "11.3": ["--no-lazy-feedback-allocation", "--ticks-before-optimization=24", "--max-bytecode-size-for-early-opt=0"],
  "12.4": ["--no-lazy-feedback-allocation", "--invocation-count-for-turbofan=24000"],
};

const given = new Set<string>();

/**
 * Tunes V8 for long responses. Must be called after Node's own modules are loaded: V8 accepts their cached code only with the flags it was
 * compiled with.
 */
export function tuneForLongAnswers(): void {
  give(OF_VERSION[process.versions.v8.split(".", 2).join(".")] ?? []);
}

/** Tunes V8 for the bash grammar. Must be called before the grammar is loaded. */
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

// Loaded on demand, because the start does not need it. Some versions of Node, such as 22.2, lack this function and are not tuned.
function v8(): typeof import("node:v8") | undefined {
  return process.getBuiltinModule?.("node:v8");
}
