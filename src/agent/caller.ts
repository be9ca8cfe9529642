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
}

export interface SessionCaller extends Caller {
  readonly sessionId: SessionId;
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
