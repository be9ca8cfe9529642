import { setFlagsFromString } from "node:v8";

/** By the first number of V8's version: eight times what it would wait for by itself. */
const PATIENCE: Readonly<Record<string, string>> = {
  "11": "--ticks-before-optimization=24",
  "12": "--invocation-count-for-turbofan=24000",
};

/**
 * V8 optimises what runs often, on another core. For what an answer of some thousand pieces runs, that takes longer than the answer, from
 * cores that the model's and the client's side need. Newer versions have a cheaper compiler for such code, and are left alone; so are all
 * others, since V8 complains on stderr of a flag it does not know.
 */
export function optimiseLater(): void {
  const flag = PATIENCE[process.versions.v8.split(".", 1)[0] ?? ""];
  if (flag !== undefined) setFlagsFromString(flag);
}
