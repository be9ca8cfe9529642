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
  /** Reports why a nested server does nothing. */
  readonly report?: (line: string) => void;
}

/** Whether this server runs on its own or inside a turn of another one. */
export interface OwnNesting {
  readonly surrounding: TurnMark | undefined;
  readonly objection: Objection;
  /** The caller on stdio, unless it is the user's own client. */
  readonly caller: Caller | undefined;
  /** The limits of turns on stdio: those of the surrounding turn. */
  readonly ceilings: CeilingFlags | undefined;
}

/** Must be called at start-up: later the parent processes may be gone. */
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
