import path from "node:path";
import { SANDBOX_MODES, type SandboxMode, type SandboxPolicy } from "../policies.js";

/** In the environment of everything a turn starts. */
export const MARK_VARIABLE = "CODEX_MCP_INSIDE";
/** On every request that a turn makes over HTTP, where no environment travels along. That it is there is all it says. */
export const MARK_HEADER = "codex-mcp-inside";

/**
 * What a turn tells everything it starts: how many turns there are around it, and how far the innermost may go. A server that is started in
 * there never goes further. `sealed` is the end: no server in there starts anything, whatever its settings are.
 */
export type TurnMark = OpenMark | "sealed";

interface OpenMark {
  /** 1 in a turn of the outermost server. */
  readonly depth: number;
  readonly sandbox: SandboxMode;
  /** What `workspace-write` opens, by its real path. Only then. */
  readonly folder?: string;
}

const FORM = /^([1-9]\d{0,2});(?:(read-only|danger-full-access)|workspace-write;(\/[^\0]*))$/;

/** Whatever cannot be read counts as the strictest. */
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

/** The mark of a turn with this sandbox, on a server that runs inside `surrounding`. */
export function markWithin(surrounding: TurnMark | undefined, { type: sandbox }: SandboxPolicy, folder: string | undefined): TurnMark {
  if (surrounding === "sealed") return "sealed";
  const own = openMark({ depth: (surrounding?.depth ?? 0) + 1, sandbox, folder });
  return (surrounding && narrowest([surrounding, own])) ?? own;
}

/** What holds where several marks are found: the greatest depth, and the least that any of them allows. */
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

/** What may write in a folder nobody can name may do nothing. */
function openMark({ depth, sandbox, folder }: { depth: number; sandbox: SandboxMode; folder: string | undefined }): TurnMark {
  if (sandbox !== "workspace-write") return { depth, sandbox };
  return folder === undefined ? "sealed" : { depth, sandbox, folder };
}
