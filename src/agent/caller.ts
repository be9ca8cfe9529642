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
