import type { BashReader } from "./bashReader.js";
import type { PlainCommand } from "./plainScript.js";
import { isSystemProgram, shellScript } from "./program.js";

/**
 * The commands a call consists of, each to be judged by itself: those of its script when that is a plain sequence, else the call
 * as a whole. A shell from an odd place could do anything with its script, so there the call itself is judged as well.
 */
export function partsOf(argv: readonly string[], parser: BashReader): PlainCommand[] {
  const whole = { words: argv, mayGainOptions: false };
  const script = shellScript(argv);
  const parts = script === undefined ? undefined : parser.plainCommands(script);
  if (!parts) return [whole];
  return isSystemProgram(argv[0] ?? "") ? parts : [whole, ...parts];
}
