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
 * By the first number of V8's version. Later ones have a cheaper compiler for such code; and V8 complains on stderr of flags it does not know.
 */
const OF_VERSION: Readonly<Record<string, readonly Setting[]>> = {
  "11": [
    ["--no-lazy-feedback-allocation", "--lazy-feedback-allocation"],
    ["--ticks-before-optimization=24", "--ticks-before-optimization=3"],
    ["--max-bytecode-size-for-early-opt=0", "--max-bytecode-size-for-early-opt=81"],
  ],
  "12": [
    ["--no-lazy-feedback-allocation", "--lazy-feedback-allocation"],
    ["--invocation-count-for-turbofan=24000", "--invocation-count-for-turbofan=3000"],
  ],
};

let tuned = false;

/**
 * Suits V8 to a server. To be called when Node's own modules are loaded: they come with compiled code, which V8 only takes with the flags it
 * was compiled with.
 */
export function tuneCompiler(): void {
  if (tuned) return;
  tuned = true;
  for (const [ours] of settings()) setFlag(ours);
}

export function isTuned(): boolean {
  return tuned;
}

/** Does something as if V8 had not been tuned. */
export function untuned<T>(work: () => T): T {
  if (!tuned) return work();
  for (const [, theirs] of settings()) setFlag(theirs);
  try {
    return work();
  } finally {
    for (const [ours] of settings()) setFlag(ours);
  }
}

function settings(): readonly Setting[] {
  return [...OF_ALL_VERSIONS, ...(OF_VERSION[process.versions.v8.split(".", 1)[0] ?? ""] ?? [])];
}

// Not imported, as a start does not need it.
function setFlag(flag: string): void {
  process.getBuiltinModule("node:v8").setFlagsFromString(flag);
}
