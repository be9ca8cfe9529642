import { MARK_HEADER, type TurnMark } from "../exec/nesting/turnMark.js";
import { ScopeMissing } from "./errors.js";

/** The identity that a token stands for. On a loopback server without tokens, the server's own user is `local`. */
export type Principal = string & { readonly brand: "Principal" };

/** One client's session with this server, as in `mcp-session-id`. */
export type SessionId = string & { readonly brand: "SessionId" };

/**
 * `call`: call the tools. `read`: read one's own threads. `manage`: change what applies to everyone (login, settings). `operator`: see and
 * change what belongs to others.
 */
export const SCOPES = ["call", "read", "manage", "operator"] as const;
export type Scope = (typeof SCOPES)[number];

/**
 * The caller of a request over the network, or from inside a turn. A stdio client has no Caller otherwise: it belongs to the server's user
 * and has all of that user's permissions.
 */
export interface Caller {
  /** Absent in the stateless era of MCP. */
  readonly sessionId?: SessionId | undefined;
  readonly principal: Principal;
  readonly scopes: readonly Scope[];
  /** The caller is a process that this server started, or the server itself, so its requests come from inside a turn. */
  readonly inside?: true;
  /** The folders that this caller's token allows, where the token names any: real paths, resolved when the token was read. */
  readonly roots?: readonly string[] | undefined;
  /** The caller is a person who has logged in with a browser. */
  readonly inBrowser?: true;
  /** The caller acts for its principal as a whole, so it may also use threads that the principal's sessions hold. */
  readonly seesSessions?: true;
}

export interface SessionCaller extends Caller {
  readonly sessionId: SessionId;
}

/** The caller without its session, for permissions that do not depend on the session. */
export function withoutSession(caller: Caller | undefined): Caller | undefined {
  if (!caller) return undefined;
  const { sessionId: _, ...who } = caller;
  return who;
}

/** A stdio client belongs to the server's user and needs no scopes. */
export function hasScope(caller: Pick<Caller, "scopes"> | undefined, scope: Scope): boolean {
  return !caller || caller.scopes.includes(scope);
}

/** Throws `ScopeMissing`. */
export function checkScope(caller: Caller | undefined, scope: Scope): void {
  if (!hasScope(caller, scope)) throw new ScopeMissing(scope);
}

/**
 * Whether `visitor` may continue what `beginner` started. Several tokens may share a name and have different permissions. A caller inside a
 * turn never acts as the caller of that turn.
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
 * The caller of every request from inside a turn. It shares nothing with the turn's own caller: no threads, no tasks, and no questions,
 * which it could otherwise answer itself. No token can have this name.
 */
export const INSIDE_CALLER: Caller = { principal: "(inside a turn)" as Principal, scopes: ["call", "read"], inside: true };

/** Whether the request headers show that a turn sent the request. */
export function isMarked(headers: Readonly<Record<string, unknown>>): boolean {
  return Object.hasOwn(headers, MARK_HEADER);
}

/** Why nothing may be started for a caller, worded for a model; undefined if it may. */
export type Objection = (caller: Caller | undefined) => string | undefined;

export interface Nesting {
  /** The turn in which this server was started. */
  readonly surrounding: TurnMark | undefined;
  /** How many servers may be nested. The outermost one is the first. */
  readonly maxDepth: number;
  /** The server listens on a port, so its clients need not be in the sandbox of the turn that started it. */
  readonly listening: boolean;
}

/**
 * A turn must not get around its sandbox. Therefore nothing is started for a process inside a turn, neither by a nested server nor by the
 * server that runs the turn.
 */
export function objectionOf({ surrounding, maxDepth, listening }: Nesting): Objection {
  if (surrounding === undefined) return callersInside;
  const depth = surrounding === "sealed" || listening ? undefined : surrounding.depth + 1;
  if (depth !== undefined && depth <= maxDepth) return () => undefined;
  const setting =
    depth === undefined
      ? "use a server that runs outside of it"
      : `set mcp_server.max_depth = ${depth} in config.toml, which keeps them in the sandbox of that turn`;
  const why = `This server runs inside a turn of another one and ${STARTS_NOTHING} Do the work in that turn itself, or ${setting}.`;
  return () => why;
}

/** Objects to callers inside a turn, for a server that was itself not started inside one. */
export const callersInside: Objection = (caller) => (caller?.inside ? FROM_INSIDE : undefined);

const STARTS_NOTHING = "starts no turn and no command for it: these could do what that turn may not.";
const FROM_INSIDE =
  "This call comes from inside a turn, for which this server starts no turn and no command: these could do what that turn may not. " +
  "Do the work in that turn itself.";
