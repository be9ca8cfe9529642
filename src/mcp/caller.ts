/** Who a token stands for; on a loopback server without tokens everybody is the same one. */
export type Principal = string & { readonly brand: "Principal" };

/** One client's conversation with this server, as `mcp-session-id` names it. */
export type SessionId = string & { readonly brand: "SessionId" };

/**
 * Who makes a call over the network, or from inside a turn. On stdio there is none otherwise: the client is the user's own, and may do what the
 * user may.
 */
export interface Caller {
  /** Absent in the era of MCP that has no sessions. */
  readonly sessionId?: SessionId | undefined;
  readonly principal: Principal;
  /** May see what belongs to others. */
  readonly operator: boolean;
  /** The folders it may work in, where they are its own: absolute, as they were written. */
  readonly roots?: readonly string[] | undefined;
  /** A process that this server started. */
  readonly inside?: true;
}

export interface SessionCaller extends Caller {
  readonly sessionId: SessionId;
}
