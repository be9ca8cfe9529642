/** What V8 is told, and what it would do by itself. */
type Setting = readonly [ours: string, theirs: string];

/** The bash grammar is run a few times per command: optimising it takes half a second of CPU, and a process waits for that at its end. */
const OF_ALL_VERSIONS: readonly Setting[] = [
  ["--no-wasm-tier-up", "--wasm-tier-up"],
  ["--no-wasm-dynamic-tiering", "--wasm-dynamic-tiering"],
];

/**
 * Types are remembered from a function's first run on, which makes a server's second call faster, and code is optimised when it has run eight
 * times as often as usual: for what an answer of some thousand pieces runs, that takes longer than the answer, from cores that others need.
 * By V8's version: those of Node 20 and 22. Later ones have a cheaper compiler for such code; and V8 complains on stderr of flags it does not
 * know.
 */
const OF_VERSION: Readonly<Record<string, readonly Setting[]>> = {
  "11.3": [
    ["--no-lazy-feedback-allocation", "--lazy-feedback-allocation"],
    ["--ticks-before-optimization=24", "--ticks-before-optimization=3"],
    ["--max-bytecode-size-for-early-opt=0", "--max-bytecode-size-for-early-opt=81"],
  ],
  "12.4": [
    ["--no-lazy-feedback-allocation", "--lazy-feedback-allocation"],
    ["--invocation-count-for-turbofan=24000", "--invocation-count-for-turbofan=3000"],
  ],
};

/** V8's own name for its version and flags: code that it compiled under one is not taken under another. */
let tagBefore: number | undefined;
let tuned = false;

/**
 * Suits V8 to a server. To be called when Node's own modules are loaded: they come with compiled code, which V8 only takes with the flags it
 * was compiled with.
 */
export function tuneCompiler(): void {
  if (tuned) return;
  tuned = true;
  tagBefore = v8()?.cachedDataVersionTag();
  for (const [ours] of settings()) v8()?.setFlagsFromString(ours);
}

export function isTuned(): boolean {
  return tuned;
}

/** Does something as if V8 had not been tuned. Undefined, and nothing is done, when that cannot be undone. */
export function untuned<T>(work: () => T): T | undefined {
  if (!tuned) return work();
  for (const [, theirs] of settings()) v8()?.setFlagsFromString(theirs);
  try {
    return v8()?.cachedDataVersionTag() === tagBefore ? work() : undefined;
  } finally {
    for (const [ours] of settings()) v8()?.setFlagsFromString(ours);
  }
}

function settings(): readonly Setting[] {
  const version = process.versions.v8.split(".", 2).join(".");
  return [...OF_ALL_VERSIONS, ...(OF_VERSION[version] ?? [])];
}

// Not imported, as a start does not need it. A few versions of Node, 22.2 for one, cannot do that, and are not tuned.
function v8(): typeof import("node:v8") | undefined {
  return process.getBuiltinModule?.("node:v8");
}
