import path from "node:path";
import { SANDBOX_MODES, type SandboxMode, type SandboxPolicy } from "../policies.js";

/** Set in the environment of everything a turn starts. */
export const MARK_VARIABLE = "CODEX_MCP_INSIDE";
/** Sent with every HTTP request of a turn, because a request carries no environment. Only its presence matters. */
export const MARK_HEADER = "codex-mcp-inside";

/**
 * The mark that a turn passes to everything it starts: the nesting depth, and the limits of the innermost turn. A server started inside
 * never exceeds these limits. `sealed` is the strictest mark: a server inside starts nothing, whatever its settings are.
 */
export type TurnMark = OpenMark | "sealed";

interface OpenMark {
  /** 1 in a turn of the outermost server. */
  readonly depth: number;
  readonly sandbox: SandboxMode;
  /** The real path of the folder that `workspace-write` opens. Present only in that mode. */
  readonly folder?: string;
}

const FORM = /^([1-9]\d{0,2});(?:(read-only|danger-full-access)|workspace-write;(\/[^\0]*))$/;

/** An unreadable mark counts as the strictest. */
export function readMark(text: string): TurnMark {
  const [, depth, sandbox, folder] = FORM.exec(text) ?? [];
  if (depth === undefined) return "sealed";
  if (folder === undefined) return { depth: Number(depth), sandbox: sandbox as SandboxMode };
  return path.resolve(folder) === folder ? { depth: Number(depth), sandbox: "workspace-write", folder } : "sealed";
}

export function markText(mark: TurnMark): string {
  if (mark === "sealed") return mark;
  return [mark.depth, mark.sandbox, ...(mark.folder === undefined ? [] : [mark.folder])].join(";");
}

/** The mark for a turn with this sandbox, on a server that runs inside `surrounding`. */
export function markWithin(surrounding: TurnMark | undefined, { type: sandbox }: SandboxPolicy, folder: string | undefined): TurnMark {
  if (surrounding === "sealed") return "sealed";
  const own = openMark({ depth: (surrounding?.depth ?? 0) + 1, sandbox, folder });
  return (surrounding && narrowest([surrounding, own])) ?? own;
}

/** Combines several marks: the greatest depth, and the strictest limits. */
export function narrowest(marks: readonly TurnMark[]): TurnMark | undefined {
  return marks.reduce<TurnMark | undefined>((known, mark) => (known === undefined ? mark : narrowerOf(known, mark)), undefined);
}

function narrowerOf(one: TurnMark, other: TurnMark): TurnMark {
  if (one === "sealed" || other === "sealed") return "sealed";
  const [outer, inner] = one.depth > other.depth ? [other, one] : [one, other];
  const { depth } = inner;
  const sandbox = modeWithin(outer.sandbox, inner.sandbox);
  if (outer.folder === undefined || inner.folder === undefined || outer.folder === inner.folder)
    return openMark({ depth, sandbox, folder: inner.folder ?? outer.folder });
  const isInside = inner.folder.startsWith(outer.folder.endsWith("/") ? outer.folder : `${outer.folder}/`);
  return isInside && outer.depth < depth ? openMark({ depth, sandbox, folder: inner.folder }) : "sealed";
}

function modeWithin(one: SandboxMode, other: SandboxMode): SandboxMode {
  return SANDBOX_MODES.indexOf(one) < SANDBOX_MODES.indexOf(other) ? one : other;
}

/** `workspace-write` without a known folder allows nothing. */
function openMark({ depth, sandbox, folder }: { depth: number; sandbox: SandboxMode; folder: string | undefined }): TurnMark {
  if (sandbox !== "workspace-write") return { depth, sandbox };
  return folder === undefined ? "sealed" : { depth, sandbox, folder };
}
