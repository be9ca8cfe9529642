import { eventually } from "./eventually.js";
import { handshake, rpc, SPEC_LATER } from "./httpClient.js";
import type { HttpServer } from "./httpServer.js";
import { openSocket } from "./httpSocketClient.js";
import type { McpServer } from "./mcpServer.js";
import { isRecord, valueAt } from "./scenario.js";

type Json = Readonly<Record<string, unknown>>;

/** A front end on one transport of a real server. */
export interface FrontEndClient extends Disposable {
  /** Everything that the server said beside answers, in order. */
  readonly told: () => readonly Json[];
  /** The result, or `{ error }`. */
  request(method: string, params?: Json): Promise<Json>;
  reply(id: unknown, result: Json): Promise<void>;
}

export function overStdio(server: McpServer): FrontEndClient {
  return {
    told: () => server.notifications,
    request: async (method, params) => asJson(await server.request(method, params)),
    reply: async (id, result) => server.send({ jsonrpc: "2.0", id, result }),
    [Symbol.dispose]: () => {},
  };
}

export async function overHttp(server: HttpServer, headers: Readonly<Record<string, string>> = {}): Promise<FrontEndClient> {
  const { session } = await server.ask({ headers: { ...SPEC_LATER, ...headers }, message: handshake("hi") });
  const all = { ...SPEC_LATER, ...headers, "mcp-session-id": String(session) };
  const stream = await server.stream({ headers: { ...all, accept: "text/event-stream" } });
  let last = 0;
  return {
    told: () => stream.messages,
    async request(method, params) {
      const { body } = await server.ask({ headers: all, message: rpc(++last, method, params) });
      return resultIn(asJson(body));
    },
    async reply(id, result) {
      await server.ask({ headers: all, message: { jsonrpc: "2.0", id, result } });
    },
    [Symbol.dispose]: () => stream[Symbol.dispose](),
  };
}

export async function overWebSocket(server: HttpServer, headers: Readonly<Record<string, string>> = {}): Promise<FrontEndClient> {
  const socket = await openSocket(server.origin, { headers });
  socket.send(handshake("hi"));
  await socket.answerTo("hi");
  let last = 0;
  return {
    told: () => socket.messages.filter((message) => "method" in message),
    async request(method, params) {
      const id = ++last;
      socket.send(rpc(id, method, params));
      // Every message of a WebSocket has its number.
      const { _meta: _, ...result } = resultIn(await socket.answerTo(id));
      return result;
    },
    reply: async (id, result) => socket.send({ jsonrpc: "2.0", id, result }),
    [Symbol.dispose]: () => socket[Symbol.dispose](),
  };
}

/** The first thing of this method that was told, after so many others. */
export function told(client: FrontEndClient, method: string, nth = 1): Promise<Json> {
  return eventually(`${nth}. ${method}`, () => client.told().filter((message) => message["method"] === method)[nth - 1]);
}

export function eventTypes(client: FrontEndClient, conversationId: unknown): unknown[] {
  return client
    .told()
    .filter(({ method, params }) => String(method).startsWith("codex/event/") && valueAt(params, "conversationId") === conversationId)
    .map((message) => valueAt(message, "params.msg.type"));
}

function asJson(value: unknown): Json {
  return isRecord(value) ? value : {};
}

function resultIn(answer: Json): Json {
  return "error" in answer ? { error: answer["error"] } : asJson(answer["result"]);
}
