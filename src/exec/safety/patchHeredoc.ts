import type { Node } from "web-tree-sitter";
import { plainWord } from "./plainWord.js";

export const PATCH_PROGRAMS: readonly string[] = ["apply_patch", "applypatch"];

export interface HeredocPatch {
  readonly patch: string;
  /** As the script names it: relative to the command's working directory unless absolute. */
  readonly workdir?: string;
}

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
