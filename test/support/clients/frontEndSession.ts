import type { Caller, Principal, SessionId } from "../../../src/agent/caller.js";
import { codexMethods } from "../../../src/server/codexMethods.js";
import { MemoryAgent } from "../memory/memoryAgent.js";
import { MemorySession, type MemorySessionOptions, type Received } from "../memory/memorySession.js";
import { isRecord, valueAt } from "../scenarios/scenario.js";

export { MemoryAgent };

const methodsOf = new WeakMap<MemoryAgent, ReturnType<typeof codexMethods>>();

/** The clients of one agent share the same state as the clients of a server. */
function methodsFor(agent: MemoryAgent): ReturnType<typeof codexMethods> {
  const known = methodsOf.get(agent) ?? codexMethods(async () => agent.open, { TERM: "xterm" });
  methodsOf.set(agent, known);
  return known;
}

export type FrontEndSession = MemorySession;

/** A client of Codex's own methods on a real session, in memory. */
export function frontEnd(agent: MemoryAgent, caller?: Caller, options: Partial<MemorySessionOptions> = {}): FrontEndSession {
  return new MemorySession({ ...options, agent, parts: { caller, furtherMethods: methodsFor(agent), ...options.parts } });
}

let sessions = 0;

/** A caller over the network, with a session of its own. */
export function principal(name: string, scopes: Caller["scopes"] = ["call", "read", "manage"]): Caller {
  return { principal: name as Principal, sessionId: `session-${++sessions}` as SessionId, scopes };
}

/** The result of a method; fails with its error. */
export async function resultOf(session: MemorySession, method: string, params?: unknown): Promise<Readonly<Record<string, unknown>>> {
  const answer = await session.request(method, params);
  const { result } = answer;
  if (!isRecord(result)) throw new Error(`${method}: ${JSON.stringify(answer["error"])}`);
  return result;
}

export async function errorOf(session: MemorySession, method: string, params?: unknown): Promise<unknown> {
  const { error } = await session.request(method, params);
  return error;
}

/** The notifications of a conversation's listeners, in order. */
export function eventsOf(session: MemorySession, conversationId: unknown): Received[] {
  return session.received
    .filter(({ method, params }) => String(method).startsWith("codex/event/") && valueAt(params, "conversationId") === conversationId)
    .map(({ params }) => valueAt(params, "msg"))
    .filter(isRecord);
}

export function untilEvent(session: MemorySession, conversationId: unknown, type: string): Promise<Received> {
  return session.until(() => eventsOf(session, conversationId).find((msg) => msg["type"] === type));
}

export function text(...lines: readonly string[]): unknown[] {
  return [{ type: "text", data: { text: lines.join("\n") } }];
}
