import path from "node:path";
import type { BashReader } from "./bashReader.js";
import { type HeredocPatch, PATCH_PROGRAMS } from "./patchHeredoc.js";
import { shellScript } from "./program.js";

export type PatchCall =
  | ({ readonly kind: "patch" } & HeredocPatch)
  /** A patch where a command should stand: the model has to be told how to call. */
  | { readonly kind: "bare" };

/** A shell call that is really a patch, to be applied in this process instead. */
export function patchCall(argv: readonly string[], parser: BashReader): PatchCall | undefined {
  const [program = "", text, ...more] = argv;
  if (text === undefined) return looksLikePatch(program) ? { kind: "bare" } : undefined;
  if (PATCH_PROGRAMS.includes(program) && more.length === 0) return { kind: "patch", patch: text };
  const script = shellScript(argv) ?? windowsScript(argv);
  if (script === undefined) return undefined;
  if (looksLikePatch(script)) return { kind: "bare" };
  const found = parser.patchHeredoc(script);
  return found && { kind: "patch", ...found };
}

function windowsScript(argv: readonly string[]): string | undefined {
  const [shell = "", ...args] = argv;
  const name = path.posix.parse(shell.replaceAll("\\", "/")).name.toLowerCase();
  if (name === "cmd") return args.length === 2 && args[0] === "/c" ? args[1] : undefined;
  if (name !== "pwsh" && name !== "powershell") return undefined;
  const [flag, script, ...more] = args[0] === "-NoProfile" ? args.slice(1) : args;
  return flag === "-Command" && more.length === 0 ? script : undefined;
}

function looksLikePatch(text: string): boolean {
  const trimmed = text.trim();
  return trimmed.startsWith("*** Begin Patch\n") && trimmed.endsWith("\n*** End Patch");
}
