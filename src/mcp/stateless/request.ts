import type { Caller } from "../../agent/caller.js";
import type { RequestId } from "../../jsonrpc/message.js";
import type { JsonRpcPeer } from "../../jsonrpc/peer.js";
import type { Fields } from "../../lib/fields.js";
import type { Claim } from "./claim.js";

/** A request that stands for itself: who sends it, what they can do, and how to tell them something before the result. */
export interface StatelessRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params: Fields;
  readonly claim: Claim;
  /** Aborts when it is cancelled or its connection is gone. */
  readonly signal: AbortSignal;
  /** Undefined on stdio outside of turns: the client is the user's own. */
  readonly caller: Caller | undefined;
  readonly peer: Pick<JsonRpcPeer, "notify" | "notifyText" | "congested">;
}

/** Answers one method. What it returns is completed with what every result of this era carries. */
export type StatelessMethod = (request: StatelessRequest) => Promise<Fields>;
