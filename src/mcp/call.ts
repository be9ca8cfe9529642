import type { Caller } from "../agent/caller.js";
import type { RequestId } from "../jsonrpc/message.js";
import type { JsonRpcPeer } from "../jsonrpc/peer.js";
import type { TraceContext } from "../observability/tracing.js";
import type { TurnWatch } from "../threads/turn.js";
import type { HandshakeRevision } from "./revisions.js";
import type { LogLevel } from "./wording/logMessage.js";

/** One `tools/call` while it is worked on: who asked, how to reach them, and whether they still want it. */
export interface Call {
  readonly requestId: RequestId;
  readonly signal: AbortSignal;
  /** Undefined on stdio outside of turns: the client is the user's own. */
  readonly caller: Caller | undefined;
  readonly progressToken: RequestId | undefined;
  /** From which level on the client wants log messages; undefined for none. */
  readonly logLevel: () => LogLevel | undefined;
  readonly peer: Pick<JsonRpcPeer, "notify" | "notifyText" | "congested" | "request">;
  /** The client said that it can put questions to a person. */
  readonly canElicit: boolean;
  readonly revision: HandshakeRevision | undefined;
  /** The trace it belongs to, as the client said. */
  readonly trace?: TraceContext | undefined;
  /** Follows the turns it asks for. */
  readonly watchTurn?: TurnWatch | undefined;
}

export function readProgressToken(params: Readonly<Record<string, unknown>>): RequestId | undefined {
  const meta = params["_meta"];
  const token: unknown = typeof meta === "object" && meta !== null && "progressToken" in meta ? meta.progressToken : undefined;
  return typeof token === "string" || typeof token === "number" || typeof token === "bigint" ? token : undefined;
}
