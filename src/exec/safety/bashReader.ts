import type { HeredocPatch } from "./patchHeredoc.js";
import type { PlainCommand } from "./plainScript.js";

/** Reads bash scripts without running them. */
export interface BashReader {
  /** Neither too long nor too slow to be looked into; it may well be wrong bash. */
  canRead(script: string): boolean;
  /** The commands of a script that is nothing but commands in sequence; undefined for every other script. */
  plainCommands(script: string): PlainCommand[] | undefined;
  /** Every command the script names anywhere, as far as its words can be told: for finding trouble, never for ruling it out. */
  mentionedCommands(script: string): string[][];
  /** The patch of a script that does nothing but hand one to `apply_patch`, perhaps after a `cd`. */
  patchHeredoc(script: string): HeredocPatch | undefined;
}
