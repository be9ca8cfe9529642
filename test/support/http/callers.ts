import { randomUUID } from "node:crypto";
import type { Principal, SessionCaller, SessionId } from "../../../src/agent/caller.js";
import type { MemoryAgent } from "../memory/memoryAgent.js";
import { MemorySession } from "../memory/memorySession.js";

export type NetworkSession = MemorySession & { readonly caller: SessionCaller };

/** A network session of this principal on a shared agent. */
export function sessionOf(principal: string, agent: MemoryAgent): NetworkSession {
  const caller: SessionCaller = {
    sessionId: randomUUID() as string as SessionId,
    principal: principal as Principal,
    scopes: ["call", "read"],
  };
  return Object.assign(new MemorySession({ agent, parts: { caller } }), { caller });
}

/** Ends a session as the server does: aborts its calls, then releases its threads. */
export async function endSession({ session, agent, caller }: NetworkSession): Promise<void> {
  session.close(new Error("the session is over"));
  await session.peer.idle();
  agent.open.access.sessionEnded(caller.sessionId);
}
