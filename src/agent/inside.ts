import { MARK_HEADER, type TurnMark } from "../exec/nesting/turnMark.js";
import type { Caller, Principal } from "./caller.js";

/**
 * Whoever calls from inside a turn. It has nothing of the one whose turn it is: not the threads, not the tasks, not the questions, which it
 * could otherwise answer itself. No token can have this name.
 */
export const INSIDE_CALLER: Caller = { principal: "(inside a turn)" as Principal, scopes: ["call", "read"], inside: true };

/** Whether a turn sends this request, by the headers it has. */
export function isMarked(headers: Readonly<Record<string, unknown>>): boolean {
  return Object.hasOwn(headers, MARK_HEADER);
}

/** Why nothing is started for a caller, in words for a model; undefined when it may be. */
export type Objection = (caller: Caller | undefined) => string | undefined;

export interface Nesting {
  /** The turn that this server was started in. */
  readonly surrounding: TurnMark | undefined;
  /** How many servers may start turns inside each other. The outermost is the first. */
  readonly maxDepth: number;
  /** Whoever finds a port is not held by the sandbox of the turn that opened it. */
  readonly listening: boolean;
}

/**
 * A turn must not get by a detour what its sandbox keeps from it. So what a turn has started gets nothing started in turn: neither by a server
 * of its own, nor by the one that runs it.
 */
export function objectionOf({ surrounding, maxDepth, listening }: Nesting): Objection {
  if (surrounding === undefined) return callersInside;
  const depth = surrounding === "sealed" || listening ? undefined : surrounding.depth + 1;
  if (depth !== undefined && depth <= maxDepth) return () => undefined;
  const setting =
    depth === undefined
      ? "use a server that runs outside of it"
      : `have mcp_server.max_depth = ${depth} set in config.toml, which holds them to the sandbox of that turn`;
  const why = `This server runs inside a turn of another one and ${STARTS_NOTHING} Do the work in that turn itself, or ${setting}.`;
  return () => why;
}

/** On a server that no turn started. */
export const callersInside: Objection = (caller) => (caller?.inside ? FROM_INSIDE : undefined);

const STARTS_NOTHING = "starts no turn and no command for it: these could do what that turn may not.";
const FROM_INSIDE =
  "This call comes from inside a turn, for which this server starts no turn and no command: these could do what that turn may not. " +
  "Do the work in that turn itself.";
