import type { CodexRpc } from "../codexrpc/codexRpc.js";
import { type Lazy, lazily } from "../lib/promises.js";
import type { FurtherMethods, Session } from "../mcp/sessions/session.js";
import { userAgent } from "../mcp/wording/userAgent.js";
import type { OpenAgent } from "./openAgent.js";

/** Codex's own methods for the sessions of a server. Their code and the agent are loaded when a client first calls one of them. */
export function codexMethods(agent: () => Promise<OpenAgent>, env: NodeJS.ProcessEnv): (session: Session) => Promise<FurtherMethods> {
  const rpc: Lazy<CodexRpc> = lazily(async () => {
    const { CodexRpc } = await import("../codexrpc/codexRpc.js");
    return new CodexRpc(await agent());
  });
  return async (session) => {
    const named = () => userAgent(env, session.profile);
    return (await rpc.get()).open({ peer: session.peer, caller: session.parts.caller, userAgent: named });
  };
}
