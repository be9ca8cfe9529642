import type { Caller } from "../agent/caller.js";
import { INSIDE_CALLER, type Objection, objectionOf } from "../agent/caller.js";
import type { CeilingFlags } from "../agent/ceilings.js";
import type { SettingsResolver } from "../config/resolve.js";
import { findSurroundingTurn } from "../exec/nesting/surroundingTurn.js";
import type { TurnMark } from "../exec/nesting/turnMark.js";

export interface NestingOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly settings: Pick<SettingsResolver, "serverSettings">;
  readonly listening: boolean;
  /** For whoever looks why a server does nothing. */
  readonly report?: (line: string) => void;
}

/** Where this server stands: by itself, or inside a turn of another one. */
export interface OwnNesting {
  readonly surrounding: TurnMark | undefined;
  readonly objection: Objection;
  /** Who is at the other end of stdio, unless it is the user's own client. */
  readonly caller: Caller | undefined;
  /** How far turns may go on stdio: as far as the turn around them. */
  readonly ceilings: CeilingFlags | undefined;
}

/** To be asked at the start: later the processes above may be gone. */
export function ownNesting({ env, settings, listening, report }: NestingOptions): OwnNesting {
  const surrounding = findSurroundingTurn(env);
  if (surrounding === undefined) return { surrounding, objection: objectionOf(NOWHERE), caller: undefined, ceilings: undefined };
  const objection = objectionOf({ surrounding, maxDepth: settings.serverSettings().maxDepth, listening });
  const why = objection(INSIDE_CALLER);
  if (why !== undefined) report?.(why);
  return { surrounding, objection, caller: INSIDE_CALLER, ceilings: ceilingsOf(surrounding) };
}

const NOWHERE = { surrounding: undefined, maxDepth: 1, listening: false };

function ceilingsOf(surrounding: TurnMark): CeilingFlags {
  if (surrounding === "sealed") return { maxSandbox: "read-only" };
  return { maxSandbox: surrounding.sandbox, allowRoots: [surrounding.folder ?? "/"] };
}
