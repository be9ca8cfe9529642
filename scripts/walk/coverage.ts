import type { ScriptCoverage } from "./probe.js";
import type { TranspiledProgram } from "./transpile.js";

/** Source files with the named functions that were entered. */
export type Executed = ReadonlyMap<string, readonly string[]>;

export function executedIn(coverage: readonly ScriptCoverage[], program: TranspiledProgram): Executed {
  const files = coverage.flatMap(({ url, functions }): [string, string[]][] => {
    const file = program.sourceOf(url);
    // Helpers that esbuild adds for newer syntax begin with two underscores.
    const entered = functions.filter(({ functionName, ranges }) => /^(?!__)./.test(functionName) && (ranges[0]?.count ?? 0) > 0);
    return file && entered.length > 0 ? [[file, entered.map(({ functionName }) => functionName)]] : [];
  });
  return new Map(files.sort(([a], [b]) => a.localeCompare(b)));
}

/** The measurement with the median number of files. */
export function medianOf(measured: readonly Executed[]): Executed {
  return [...measured].sort((a, b) => a.size - b.size)[Math.floor(measured.length / 2)] ?? new Map();
}
