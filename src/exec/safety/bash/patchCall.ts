import path from "node:path";
import type { Node } from "web-tree-sitter";
import { plainWord } from "./plainScript.js";
import type { BashReader, HeredocPatch } from "./reader.js";
import { shellScript } from "./words.js";

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

const PATCH_PROGRAMS: readonly string[] = ["apply_patch", "applypatch"];

/** `apply_patch <<'EOF' …`, alone or as `cd dir && apply_patch <<'EOF' …`; nothing before it, nothing behind it. */
export function patchHeredoc(root: Node, script: string): HeredocPatch | undefined {
  const statement = root.firstNamedChild;
  if (root.hasError || root.childCount !== 1 || statement?.type !== "redirected_statement") return undefined;
  const [action, redirect, ...more] = statement.children;
  if (!action || redirect?.type !== "heredoc_redirect" || more.length > 0) return undefined;
  const patch = heredocText(redirect, script);
  if (patch === undefined) return undefined;
  if (isPatchCommand(action)) return { patch };
  const workdir = folderBeforePatch(action);
  return workdir === undefined ? undefined : { patch, workdir };
}

function heredocText(redirect: Node, script: string): string | undefined {
  const [operator, start, body, end] = redirect.children;
  if (redirect.childCount !== 4 || start?.type !== "heredoc_start" || body?.type !== "heredoc_body" || end?.type !== "heredoc_end")
    return undefined;
  // Taken from the script itself: the grammar's body leaves out what it reads as an expansion or an indent.
  const text = script.slice(script.indexOf("\n", start.endIndex) + 1, end.startIndex).replace(/\n+$/, "");
  return operator?.type === "<<-" ? text.replace(/^\t+/gm, "").trimEnd() : text;
}

function isPatchCommand(node: Node): boolean {
  return node.type === "command" && node.childCount === 1 && PATCH_PROGRAMS.includes(node.text);
}

function folderBeforePatch(list: Node): string | undefined {
  const [change, connector, apply, ...more] = list.children;
  if (list.type !== "list" || connector?.type !== "&&" || !apply || !isPatchCommand(apply) || more.length > 0) return undefined;
  const [name, folder, ...extra] = change?.type === "command" ? change.children : [];
  return name?.text === "cd" && folder && extra.length === 0 ? plainWord(folder)?.text : undefined;
}
