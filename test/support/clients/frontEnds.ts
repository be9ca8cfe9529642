import { eventually } from "../eventually.js";
import { handshake, rpc, SPEC_LATER } from "../http/httpClient.js";
import type { HttpServer } from "../http/httpServer.js";
import { openSocket } from "../http/httpSocketClient.js";
import type { McpServer } from "../processes/mcpServer.js";
import { isRecord, valueAt } from "../scenarios/scenario.js";

type Json = Readonly<Record<string, unknown>>;

/** A front end on one transport of a real server. */
export interface FrontEndClient extends Disposable {
  /** All messages of the server except responses, in order. */
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
      const id = ++last;
      const { body } = await server.ask({ headers: all, message: rpc(id, method, params) });
      return resultIn(typeof body === "string" ? answerIn(body, id) : asJson(body));
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

/** The first message of this method after the given number of others. */
export function told(client: FrontEndClient, method: string, nth = 1): Promise<Json> {
  return eventually(`${nth}. ${method}`, () => client.told().filter((message) => message["method"] === method)[nth - 1]);
}

export function eventTypes(client: FrontEndClient, conversationId: unknown): unknown[] {
  return client
    .told()
    .filter(({ method, params }) => String(method).startsWith("codex/event/") && valueAt(params, "conversationId") === conversationId)
    .map((message) => valueAt(message, "params.msg.type"));
}

/** A slow request is answered by a stream of its own. */
function answerIn(stream: string, id: number): Json {
  const messages = stream.split("\n").flatMap((line) => (/^data: ?\{/.test(line) ? [asJson(JSON.parse(line.slice("data:".length)))] : []));
  const answer = messages.find((message) => message["id"] === id);
  if (!answer) throw new Error(`No answer to ${id} in: ${stream.slice(0, 500)}`);
  return answer;
}

function asJson(value: unknown): Json {
  return isRecord(value) ? value : {};
}

function resultIn(answer: Json): Json {
  return "error" in answer ? { error: answer["error"] } : asJson(answer["result"]);
}
