import type { IncomingMessage } from "node:http";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import type { Caller } from "../../agent/caller.js";
import type { HttpUpgrade } from "../../http/request.js";
import { RPC, RpcError } from "../../jsonrpc/errors.js";
import { errorText, jsonText, parseJson, parseMessage } from "../../jsonrpc/message.js";
import { type Fields, isFields } from "../../lib/fields.js";
import { CODEX_EVENT_START } from "../wording/codexEvent.js";
import type { HttpSession } from "./network/httpSession.js";
import { checkedSessionId, findOrOpenSession, findSession, type SessionRules } from "./network/httpSession.js";
import { HTTP_RPC, RpcProblem, sessionOver } from "./network/problems.js";
import type { SentMessage } from "./network/replayBuffer.js";
import type { StreamSink } from "./network/stream.js";

const SUBPROTOCOL = "mcp";
/** Unsent bytes past which a socket gets no more until it has caught up. */
const CONGESTED_BYTES = 256 * 1024;

export interface WebSocketRules extends SessionRules {
  readonly maxMessageBytes: number;
  /** How long a session waits for its client to come back. */
  readonly lingerMs: number;
}

/** MCP over WebSocket: a message per text frame, and a session that outlives its socket for a while. */
export class WebSocketEndpoint {
  readonly #rules: WebSocketRules;
  readonly #server: WebSocketServer;
  readonly #sockets = new Map<WebSocket, { alive: boolean }>();
  /** Sessions without a socket, until they have waited long enough. */
  readonly #left = new Map<HttpSession, NodeJS.Timeout>();

  constructor(rules: WebSocketRules) {
    this.#rules = rules;
    this.#server = new WebSocketServer({
      noServer: true,
      perMessageDeflate: false,
      maxPayload: rules.maxMessageBytes,
      handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
    });
  }

  get socketCount(): number {
    return this.#sockets.size;
  }

  /** Throws `RpcProblem` when the session that the client names is not there. */
  upgrade({ incoming, socket, head, caller }: HttpUpgrade<Caller>): void {
    const arrival = arrive(incoming, caller, this.#rules);
    const sessionHeader = (headers: string[]) => headers.push(`mcp-session-id: ${arrival.open.caller.sessionId}`);
    this.#server.once("headers", sessionHeader);
    this.#server.handleUpgrade(incoming, socket, head, (ws) => this.#serve(ws, arrival));
    this.#server.off("headers", sessionHeader);
    // The library refuses a handshake that is none by itself; nobody would ever come back to its session.
    if (arrival.open.connection.streamCount === 0) this.#awaitReturn(arrival.open);
  }

  /** Asks every socket for a sign of life, and gives up those that gave none since the last time. */
  ping(): void {
    for (const [socket, life] of this.#sockets) {
      if (!life.alive) socket.terminate();
      life.alive = false;
      socket.ping();
    }
  }

  close(): void {
    for (const timer of this.#left.values()) clearTimeout(timer);
    this.#left.clear();
    for (const socket of this.#sockets.keys()) socket.close(1001, "the server is shutting down");
    this.#server.close();
  }

  #serve(socket: WebSocket, { open, after }: Arrival): void {
    const { streams, names } = open.connection.outbox;
    const life = { alive: true };
    this.#sockets.set(socket, life);
    this.#hasReturned(open);
    // A client has one socket; an older one is a connection that it has given up.
    streams.endAll();
    const stream = streams.attach({
      name: names.next("everything"),
      kind: "everything",
      sink: new SocketSink(socket, () => streams.drained(stream)),
      after,
    });
    socket.on("pong", () => {
      life.alive = true;
    });
    socket.on("message", (frame, isBinary) => {
      life.alive = true;
      receive(open, frame, isBinary);
    });
    // Its close follows.
    socket.on("error", () => {});
    socket.once("close", () => {
      this.#sockets.delete(socket);
      streams.detach(stream, { now: Date.now(), comesBackWithinMs: this.#rules.lingerMs });
      if (streams.count > 0) return;
      open.session.leave();
      this.#awaitReturn(open);
    });
  }

  #awaitReturn(open: HttpSession): void {
    clearTimeout(this.#left.get(open));
    const timer = setTimeout(() => {
      this.#left.delete(open);
      this.#rules.sessions.end(open, "its WebSocket did not come back");
    }, this.#rules.lingerMs);
    timer.unref();
    this.#left.set(open, timer);
  }

  #hasReturned(open: HttpSession): void {
    clearTimeout(this.#left.get(open));
    this.#left.delete(open);
  }
}

interface Arrival {
  readonly open: HttpSession;
  /** The last message the client has seen. */
  readonly after?: number;
}

/** Browsers cannot set headers on an upgrade, so the query of the address does as well. */
function arrive(incoming: IncomingMessage, caller: Caller, rules: SessionRules): Arrival {
  const query = new URLSearchParams(incoming.url?.split("?")[1] ?? "");
  const said = (name: string) => incoming.headers[name] ?? query.get(name) ?? undefined;
  const [named, left] = [said("mcp-session-id"), said("last-event-id")];
  const id = named === undefined ? undefined : checkedSessionId(named);
  if (id === undefined || left === undefined)
    return { open: findOrOpenSession(id, { caller, begins: true, transport: "websocket" }, rules) };
  const open = findSession(id, caller, rules.sessions);
  if (open?.connection.transport !== "websocket") throw sessionOver();
  const after = Number(left);
  if (!open.connection.outbox.hasSaid(after))
    throw new RpcProblem({ status: 400, code: HTTP_RPC.refused, message: "Last-Event-ID must be the number of the last message seen" });
  return { open, after };
}

function receive(open: HttpSession, frame: RawData, isBinary: boolean): void {
  open.lastUsedAt = Date.now();
  if (isBinary) return open.connection.outbox.send(errorText(null, new RpcError(RPC.invalidRequest, "Messages are text frames")));
  const said = parseMessage(textOf(frame));
  open.requests++;
  open.session.peer.receive(said);
}

function textOf(frame: RawData): string {
  if (Array.isArray(frame)) return Buffer.concat(frame).toString("utf8");
  return frame instanceof ArrayBuffer ? Buffer.from(frame).toString("utf8") : frame.toString("utf8");
}

class SocketSink implements StreamSink {
  readonly #socket: WebSocket;
  readonly #drained: () => void;
  constructor(socket: WebSocket, drained: () => void) {
    this.#socket = socket;
    this.#drained = drained;
  }

  write(messages: readonly SentMessage[]): boolean {
    const last = messages.length - 1;
    // The last frame's callback comes when the ones before it have left too.
    for (const [at, { text, seq }] of messages.entries())
      this.#socket.send(withEventNumber(text, seq), at === last ? () => this.#sent() : undefined);
    if (this.#socket.bufferedAmount <= CONGESTED_BYTES) return true;
    this.#blocked = true;
    return false;
  }

  #blocked = false;

  #sent(): void {
    if (!this.#blocked || this.#socket.bufferedAmount > CONGESTED_BYTES) return;
    this.#blocked = false;
    this.#drained();
  }

  // Sockets are asked for signs of life by the endpoint, with pings.
  keepAlive(): void {}

  end(how: "politely" | "at once"): void {
    if (how === "politely") this.#socket.close(1000, "the session is over");
    else this.#socket.terminate();
  }
}

const EVENT_NUMBER_KEY = "codex-mcpd/event";

/** The message with its number in `_meta`, for clients that come back without the help of event ids. Errors have no `_meta`. */
export function withEventNumber(text: string, seq: number): string {
  // Events of a turn come by the thousand.
  if (text.startsWith(CODEX_EVENT_START)) return `${CODEX_EVENT_START}"${EVENT_NUMBER_KEY}":${seq},${text.slice(CODEX_EVENT_START.length)}`;
  const message: unknown = parseJson(text);
  if (!isFields(message)) return text;
  for (const holder of ["params", "result"]) {
    const held = message[holder];
    if (isFields(held)) return jsonText({ ...message, [holder]: { ...held, _meta: { ...metaOf(held), [EVENT_NUMBER_KEY]: seq } } });
  }
  return text;
}

function metaOf({ _meta }: Fields): Fields {
  return isFields(_meta) ? _meta : {};
}
