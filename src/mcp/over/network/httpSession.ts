import type { IncomingMessage } from "node:http";
import { type Caller, standsAs } from "../../../agent/caller.js";
import { type Connection, type OpenSession, type SessionRegistry, TooManySessions } from "../../sessions/sessionRegistry.js";
import { Outbox, type OutboxLimits } from "./outbox.js";
import { HTTP_RPC, RpcProblem, sessionOver } from "./problems.js";
import type { StrayIds } from "./strayIds.js";

/**
 * `spec`: follows the MCP transport exactly and must get no message twice. `plain`: curl and similar clients, which take one JSON body per
 * POST and all messages on each GET.
 */
export type ClientKind = "spec" | "plain";

/** The network side of a session: its outbox, whatever streams are attached. */
export class HttpConnection implements Connection {
  readonly outbox: Outbox;
  #kind: ClientKind | undefined;

  constructor(
    readonly transport: Connection["transport"],
    limits: OutboxLimits,
  ) {
    // A POST stays open until it gets a response. The other transports follow the specification and send no response to a cancelled
    // request.
    this.outbox = new Outbox(limits, { answersCancelled: transport === "http", marksEveryCall: transport === "websocket" });
  }

  get streamCount(): number {
    return this.outbox.streams.count;
  }

  get isConnected(): boolean {
    return this.streamCount > 0 || this.outbox.isAwaited;
  }

  get lastAnsweredAt(): number {
    return this.outbox.lastAnsweredAt;
  }

  /**
   * The kind of client, decided once: by its handshake, or by its first request if there was none. Libraries do not send the same headers
   * with every request.
   */
  kindOf(seen: ClientKind, { shakesHands }: { readonly shakesHands: boolean }): ClientKind {
    if (shakesHands || this.#kind === undefined) this.#kind = seen;
    return this.#kind;
  }

  close(): Promise<void> {
    return this.outbox.close();
  }
}

export type HttpSession = OpenSession<HttpConnection>;
export type HttpSessions = SessionRegistry<HttpConnection>;

export interface SessionRules {
  readonly sessions: HttpSessions;
  readonly outbox: OutboxLimits;
  /**
   * Whether clients may choose the id of a new session. Not allowed where strangers can reach the server: they could plant an id that they
   * know.
   */
  readonly clientsChooseIds: boolean;
  /** Session ids that were refused. */
  readonly strayIds: StrayIds;
}

export interface Seeker {
  readonly caller: Caller;
  /** The request may open a session, with an id of its choice where that is allowed. */
  readonly begins: boolean;
  /** The request assumes an open session. */
  readonly goesOn?: boolean;
  readonly transport?: "http" | "websocket" | "sse";
}

/** The session with this id, or a new one. Throws `RpcProblem`. */
export function findOrOpenSession(id: string | undefined, seeker: Seeker, rules: SessionRules): HttpSession {
  if (id === undefined) return openSession(seeker, rules);
  const found = findSession(id, seeker.caller, rules.sessions);
  if (found?.connection.transport === (seeker.transport ?? "http")) return found;
  const isFree = rules.clientsChooseIds && rules.sessions.find(id) === undefined;
  const mayBegin = isFree && (seeker.begins || (seeker.goesOn === true && rules.strayIds.insists(id, seeker.caller.principal)));
  if (!mayBegin) throw sessionOver();
  return openSession(seeker, rules, id);
}

/** The session if it exists and belongs to the caller. For all other callers it does not exist. */
export function findSession(id: string, caller: Caller, sessions: HttpSessions): HttpSession | undefined {
  const found = sessions.find(id);
  if (found === undefined || found === "ended" || !standsAs(caller, found.caller)) return undefined;
  found.lastUsedAt = Date.now();
  return found;
}

/** Throws `RpcProblem` if the header is not a valid id. */
export function namedSession({ headers }: IncomingMessage): string | undefined {
  const id = headers["mcp-session-id"];
  return id === undefined ? undefined : checkedSessionId(id);
}

export function checkedSessionId(id: string | readonly string[]): string {
  if (typeof id === "string" && /^[\x21-\x7e]{1,128}$/.test(id)) return id;
  throw new RpcProblem({
    status: 400,
    code: HTTP_RPC.refused,
    message: "mcp-session-id must be 1 to 128 visible ASCII characters",
  });
}

function openSession({ caller, transport = "http" }: Seeker, { sessions, outbox }: SessionRules, id?: string): HttpSession {
  try {
    return sessions.open(caller, { connection: new HttpConnection(transport, outbox), ...(id === undefined ? {} : { id }) });
  } catch (error) {
    if (!(error instanceof TooManySessions)) throw error;
    throw new RpcProblem({ status: 503, code: HTTP_RPC.refused, message: error.message, headers: { "retry-after": "30" } });
  }
}
