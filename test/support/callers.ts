import { randomUUID } from "node:crypto";
import type { Principal, SessionCaller, SessionId } from "../../src/agent/caller.js";
import type { MemoryAgent } from "./memoryAgent.js";
import { MemorySession } from "./memorySession.js";

export type NetworkSession = MemorySession & { readonly caller: SessionCaller };

/** A network session of this principal on an agent that others use too. */
export function sessionOf(principal: string, agent: MemoryAgent): NetworkSession {
  const caller: SessionCaller = {
    sessionId: randomUUID() as string as SessionId,
    principal: principal as Principal,
    scopes: ["call", "read"],
  };
  return Object.assign(new MemorySession({ agent, parts: { caller } }), { caller });
}

/** What the server does when a session is over: its calls are aborted, then its threads are given back. */
export async function endSession({ session, agent, caller }: NetworkSession): Promise<void> {
  session.close(new Error("the session is over"));
  await session.peer.idle();
  agent.open.access.sessionEnded(caller.sessionId);
}
