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
import { type CallMark, callsInSocketId, lostAnswer, numberInSocketId } from "./network/outbox.js";
import { HTTP_RPC, RpcProblem, sessionOver } from "./network/problems.js";
import type { SentMessage } from "./network/replayBuffer.js";
import type { StreamSink } from "./network/stream.js";

const SUBPROTOCOL = "mcp";
/** A socket with more unsent bytes gets no messages, and is not read, until it has drained. */
const CONGESTED_BYTES = 256 * 1024;

export interface WebSocketRules extends SessionRules {
  readonly maxMessageBytes: number;
  /** How long a session without a socket waits for its client to reconnect. */
  readonly lingerMs: number;
}

/** MCP over WebSocket: one message per text frame. A session outlives its socket for a while. */
export class WebSocketEndpoint {
  readonly #rules: WebSocketRules;
  readonly #server: WebSocketServer;
  readonly #sockets = new Map<WebSocket, { alive: boolean }>();
  /** Sessions without a socket, until their time is up. */
  readonly #left = new Map<HttpSession, NodeJS.Timeout>();

  constructor(rules: WebSocketRules) {
    this.#rules = rules;
    this.#server = new WebSocketServer({
      noServer: true,
      perMessageDeflate: false,
      // One frame per iteration of the event loop: a chunk of a client's data may have thousands.
      allowSynchronousEvents: false,
      autoPong: false,
      maxPayload: rules.maxMessageBytes,
      handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
    });
  }

  get socketCount(): number {
    return this.#sockets.size;
  }

  /** Throws `RpcProblem` if the named session does not exist, unless the client comes back for calls. */
  upgrade({ incoming, socket, head, caller }: HttpUpgrade<Caller>): void {
    const arrival = arrive(incoming, caller, this.#rules);
    if ("lost" in arrival) return this.#server.handleUpgrade(incoming, socket, head, (ws) => answerLost(ws, arrival.lost));
    const sessionHeader = (headers: string[]) => headers.push(`mcp-session-id: ${arrival.open.caller.sessionId}`);
    this.#server.once("headers", sessionHeader);
    this.#server.handleUpgrade(incoming, socket, head, (ws) => this.#serve(ws, arrival));
    this.#server.off("headers", sessionHeader);
    // The library itself rejects an invalid WebSocket handshake, so the session may be left without a client.
    if (arrival.open.connection.streamCount === 0) this.#awaitReturn(arrival.open);
  }

  /** Pings every socket, and terminates those that did not answer the previous ping. */
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
    const { outbox } = open.connection;
    const { streams, names } = outbox;
    const life = { alive: true };
    this.#sockets.set(socket, life);
    this.#hasReturned(open);
    // A client has one socket. An older one is a connection that the client has given up.
    streams.endAll();
    const stream = streams.attach({
      name: names.next("everything"),
      kind: "everything",
      sink: new SocketSink(socket, { idOf: (seq) => outbox.socketEventId(seq), drained: () => streams.drained(stream) }),
      after,
    });
    socket.on("pong", () => {
      life.alive = true;
    });
    socket.on("ping", (data) => {
      socket.pong(data, false, () => readAgain(socket));
      readOnlyIfRead(socket);
    });
    socket.on("message", (frame, isBinary) => {
      life.alive = true;
      receive(open, frame, isBinary);
      readOnlyIfRead(socket);
    });
    // A close event follows.
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
  /** The last message that the client has seen. */
  readonly after?: number;
}

/** Calls that were started on an earlier server, or in a session that has ended. */
interface LostArrival {
  readonly lost: readonly CallMark[];
}

/** Browsers cannot set headers on an upgrade, so query parameters are accepted too. */
function arrive(incoming: IncomingMessage, caller: Caller, rules: SessionRules): Arrival | LostArrival {
  const query = new URLSearchParams(incoming.url?.split("?")[1] ?? "");
  const said = (name: string) => incoming.headers[name] ?? query.get(name) ?? undefined;
  const [named, left] = [said("mcp-session-id"), said("last-event-id")];
  const id = named === undefined ? undefined : checkedSessionId(named);
  if (id === undefined || left === undefined)
    return { open: findOrOpenSession(id, { caller, begins: true, transport: "websocket" }, rules) };
  const open = findSession(id, caller, rules.sessions);
  const lost = open ? [] : callsInSocketId(String(left));
  if (lost.length > 0) return { lost };
  if (open?.connection.transport !== "websocket") throw sessionOver();
  const after = numberInSocketId(String(left));
  if (!open.connection.outbox.hasSent(after))
    throw new RpcProblem({ status: 400, code: HTTP_RPC.refused, message: "Last-Event-ID must be the number of the last message seen" });
  return { open, after };
}

/** Responds to calls that have ended; otherwise the client would wait for its own timeout. There is no session to continue. */
function answerLost(socket: WebSocket, lost: readonly CallMark[]): void {
  // A close event follows.
  socket.on("error", () => {});
  for (const call of lost) socket.send(lostAnswer(call));
  socket.close(1000, "the session is over");
}

/** A client that does not read is not read either. Otherwise the responses to what it sends would take memory without a limit. */
function readOnlyIfRead(socket: WebSocket): void {
  if (isCongested(socket)) socket.pause();
}

function readAgain(socket: WebSocket): void {
  if (socket.isPaused && !isCongested(socket)) socket.resume();
}

function isCongested({ bufferedAmount }: WebSocket): boolean {
  return bufferedAmount > CONGESTED_BYTES;
}

function receive(open: HttpSession, frame: RawData, isBinary: boolean): void {
  open.lastUsedAt = Date.now();
  if (isBinary)
    return open.connection.outbox.send(errorText(null, new RpcError(RPC.invalidRequest, "Messages are text frames")), { passing: true });
  const said = parseMessage(textOf(frame));
  open.requests++;
  open.session.peer.receive(said);
}

function textOf(frame: RawData): string {
  if (Array.isArray(frame)) return Buffer.concat(frame).toString("utf8");
  return frame instanceof ArrayBuffer ? Buffer.from(frame).toString("utf8") : frame.toString("utf8");
}

interface SinkParts {
  /** The id that a reconnecting client sends, if it is more than the number. */
  readonly idOf: (seq: number) => string | undefined;
  readonly drained: () => void;
}

class SocketSink implements StreamSink {
  readonly #socket: WebSocket;
  readonly #parts: SinkParts;
  constructor(socket: WebSocket, parts: SinkParts) {
    this.#socket = socket;
    this.#parts = parts;
  }

  write(messages: readonly SentMessage[]): boolean {
    const last = messages.length - 1;
    // The callback of the last frame fires after all earlier frames were sent.
    for (const [at, { text, seq }] of messages.entries())
      this.#socket.send(withEventNumber(text, seq, this.#parts.idOf(seq)), at === last ? () => this.#sent() : undefined);
    if (!isCongested(this.#socket)) return true;
    this.#blocked = true;
    return false;
  }

  #blocked = false;

  #sent(): void {
    readAgain(this.#socket);
    if (!this.#blocked || isCongested(this.#socket)) return;
    this.#blocked = false;
    this.#parts.drained();
  }

  // The endpoint keeps sockets alive with pings.
  keepAlive(): void {}

  end(how: "gracefully" | "immediately"): void {
    if (how === "gracefully") this.#socket.close(1000, "the session is over");
    else this.#socket.terminate();
  }
}

const EVENT_NUMBER_KEY = "codex-mcpd/event";
const EVENT_ID_KEY = "codex-mcpd/eventId";

/** The message with its number, and its id if it has one, in `_meta` for clients that reconnect. Errors have no `_meta`. */
export function withEventNumber(text: string, seq: number, id?: string): string {
  // A fast path, because turns send thousands of events. An id is plain ASCII without quotes.
  if (text.startsWith(CODEX_EVENT_START)) {
    const named = id === undefined ? "" : `"${EVENT_ID_KEY}":"${id}",`;
    return `${CODEX_EVENT_START}"${EVENT_NUMBER_KEY}":${seq},${named}${text.slice(CODEX_EVENT_START.length)}`;
  }
  const message: unknown = parseJson(text);
  if (!isFields(message)) return text;
  for (const holder of ["params", "result"]) {
    const held = message[holder];
    const place = { [EVENT_NUMBER_KEY]: seq, ...(id !== undefined && { [EVENT_ID_KEY]: id }) };
    if (isFields(held)) return jsonText({ ...message, [holder]: { ...held, _meta: { ...metaOf(held), ...place } } });
  }
  return text;
}

function metaOf({ _meta }: Fields): Fields {
  return isFields(_meta) ? _meta : {};
}
