import { MARK_HEADER, type TurnMark } from "../exec/nesting/turnMark.js";
import { ScopeMissing } from "./errors.js";

/** Who a token stands for; on a loopback server without tokens its own user is `local`. */
export type Principal = string & { readonly brand: "Principal" };

/** One client's conversation with this server, as `mcp-session-id` names it. */
export type SessionId = string & { readonly brand: "SessionId" };

/** `call` the tools, `read` what belongs to oneself, `manage` what counts for everybody (login, settings), see and do as `operator` what is others'. */
export const SCOPES = ["call", "read", "manage", "operator"] as const;
export type Scope = (typeof SCOPES)[number];

/**
 * Who makes a call over the network, or from inside a turn. On stdio there is none otherwise: the client is the user's own, and may do what the
 * user may.
 */
export interface Caller {
  /** Absent in the era of MCP that has no sessions. */
  readonly sessionId?: SessionId | undefined;
  readonly principal: Principal;
  readonly scopes: readonly Scope[];
  /** It is a process that this server has started, or the server itself: what it asks for happens inside of a turn. */
  readonly inside?: true;
  /** The folders it may work in, where they are its own: real paths, found when its token was read. */
  readonly roots?: readonly string[] | undefined;
  /** It is somebody in a browser, who has logged in there. */
  readonly inBrowser?: true;
  /** It watches and steers for its principal as a whole: what one of that principal's sessions holds is open to it as well. */
  readonly seesSessions?: true;
}

export interface SessionCaller extends Caller {
  readonly sessionId: SessionId;
}

/** For what a principal may do whichever of its sessions asks. */
export function withoutSession(caller: Caller | undefined): Caller | undefined {
  if (!caller) return undefined;
  const { sessionId: _, ...who } = caller;
  return who;
}

/** A client on stdio is the user's own, and needs no scope for anything. */
export function hasScope(caller: Pick<Caller, "scopes"> | undefined, scope: Scope): boolean {
  return !caller || caller.scopes.includes(scope);
}

/** Throws `ScopeMissing`. */
export function checkScope(caller: Caller | undefined, scope: Scope): void {
  if (!hasScope(caller, scope)) throw new ScopeMissing(scope);
}

/**
 * Whether one of them may go on with what the other began: several tokens may have one name and give different leave, and what happens
 * inside of a turn never becomes what its caller does.
 */
export function standsAs(visitor: Omit<Caller, "sessionId">, beginner: Omit<Caller, "sessionId">): boolean {
  if (visitor.principal !== beginner.principal || visitor.inside !== beginner.inside) return false;
  return isWithin(beginner.scopes, visitor.scopes) && sameRoots(visitor.roots, beginner.roots);
}

function isWithin(scopes: readonly Scope[], others: readonly Scope[]): boolean {
  return scopes === others || scopes.every((scope) => others.includes(scope));
}

function sameRoots(roots: readonly string[] | undefined, others: readonly string[] | undefined): boolean {
  if (roots === others) return true;
  return roots?.length === others?.length && (roots ?? []).every((root, at) => root === others?.[at]);
}

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
