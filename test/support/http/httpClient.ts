import { once } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, request as send } from "node:http";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { isRecord } from "../scenarios/scenario.js";
import { bodyOf } from "./loopback.js";

type Json = Readonly<Record<string, unknown>>;

export interface HttpQuestion {
  /** POST if there is a body, GET otherwise. */
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A JSON-RPC message, or a batch; sent with its content type. */
  readonly message?: unknown;
  /** Sent unchanged. */
  readonly body?: string | Buffer;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Parsed if it is JSON. */
  readonly body: unknown;
  readonly session: string | undefined;
}

/** The deadline of every wait: long enough for a busy machine, short enough to fail with a message. */
const PATIENCE_MS = 45_000;

/** The headers that a client of the specification sends with every POST. */
export const SPEC = { accept: "application/json, text/event-stream" } as const;
/** The same, after the handshake. */
export const SPEC_LATER = { ...SPEC, "mcp-protocol-version": "2025-11-25" } as const;

export function rpc(id: number | string, method: string, params?: Json): Json {
  return { jsonrpc: "2.0", id, method, ...(params ? { params } : {}) };
}

export function notice(method: string, params?: Json): Json {
  return { jsonrpc: "2.0", method, ...(params ? { params } : {}) };
}

export function toolCall(id: number | string, args: Json, tool = "codex"): Json {
  return rpc(id, "tools/call", { name: tool, arguments: args });
}

export function handshake(
  id: number | string,
  { version = "2025-11-25", capabilities = {} }: { version?: string; capabilities?: Json } = {},
): Json {
  return rpc(id, "initialize", { protocolVersion: version, capabilities, clientInfo: { name: "test", version: "1" } });
}

/** One request on a connection of its own, answered by one body. */
export async function ask(origin: string, question: HttpQuestion): Promise<Reply> {
  const response = await responseTo(origin, question);
  const text = await bodyOf(response);
  const isJson = response.headers["content-type"]?.startsWith("application/json") === true && text !== "";
  return { ...headOf(response), body: isJson ? (JSON.parse(text) as unknown) : text };
}

/** One request on a connection of its own, answered by a stream. Fails if the response is not a stream. */
export async function openStream(origin: string, question: HttpQuestion): Promise<EventStream> {
  const response = await responseTo(origin, question);
  if (response.headers["content-type"] === "text/event-stream") return new EventStream(response);
  throw new Error(`No stream but ${response.statusCode}: ${await bodyOf(response)}`);
}

/** A client of server-sent events that records everything. */
export class EventStream implements Disposable {
  readonly events: EventSourceMessage[] = [];
  /** The data of the events; events without data are left out. */
  readonly messages: Json[] = [];
  /** Lines that are not events, such as keep-alives. */
  readonly comments: string[] = [];
  readonly session: string | undefined;
  readonly headers: IncomingHttpHeaders;
  #over: "gracefully" | "broken" | undefined;
  readonly #watchers = new Set<() => void>();

  constructor(private readonly response: IncomingMessage) {
    const { session, headers } = headOf(response);
    this.session = session;
    this.headers = headers;
    const parser = createParser({
      onEvent: (event) =>
        this.#note(() => {
          this.events.push(event);
          if (event.data !== "" && (event.event ?? "message") === "message") this.messages.push(JSON.parse(event.data) as Json);
        }),
      onComment: (comment) => this.#note(() => this.comments.push(comment)),
    });
    response.setEncoding("utf8");
    response.on("data", (text: string) => parser.feed(text));
    response.once("end", () => this.#note(() => (this.#over ??= "gracefully")));
    // A broken connection counts as the stream's end.
    response.on("error", () => {});
    response.once("close", () => this.#note(() => (this.#over ??= "broken")));
  }

  /** The types of the turn's events so far. */
  get steps(): string[] {
    return stepsIn(this.messages);
  }

  get lastEventId(): string {
    return this.events.findLast(({ id }) => id !== undefined)?.id ?? "";
  }

  /** The first matching message. */
  message(what: string, fits: (message: Json) => boolean): Promise<Json> {
    return this.#wait(what, () => this.messages.find(fits));
  }

  answerTo(id: number | string): Promise<Json> {
    return this.message(`answer to ${id}`, (message) => message["id"] === id && ("result" in message || "error" in message));
  }

  /** The first event of a turn of this type. */
  step(type: string): Promise<Json> {
    return this.message(`event ${type}`, (message) => stepsIn([message])[0] === type);
  }

  question(): Promise<Json> {
    return this.message("question", ({ method }) => method === "elicitation/create");
  }

  comment(): Promise<string> {
    return this.#wait("sign of life", () => this.comments[0]);
  }

  /** How it ended. */
  end(): Promise<"gracefully" | "broken"> {
    return this.#wait("end of the stream", () => this.#over);
  }

  /** Breaks the client's network. */
  breakOff(): void {
    this.response.destroy();
  }

  /** The client stops reading. */
  pause(): void {
    this.response.pause();
  }

  resume(): void {
    this.response.resume();
  }

  [Symbol.dispose](): void {
    this.breakOff();
  }

  #note(change: () => void): void {
    change();
    for (const check of this.#watchers) check();
  }

  #wait<T>(what: string, look: () => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        this.#watchers.delete(check);
        finish();
      };
      const check = () => {
        const found = look();
        if (found !== undefined) settle(() => resolve(found));
        else if (this.#over) settle(() => reject(new Error(`No ${what}; the stream ended ${this.#over} after ${this.#gist()}`)));
      };
      const timer = setTimeout(() => settle(() => reject(new Error(`No ${what} in time, after ${this.#gist()}`))), PATIENCE_MS);
      this.#watchers.add(check);
      check();
    });
  }

  #gist(): string {
    return JSON.stringify(this.messages.slice(-3)).slice(0, 600);
  }
}

/** The events of a turn, in order. */
export function stepsIn(messages: readonly Json[]): string[] {
  return messages.flatMap(({ method, params }) => {
    const msg = method === "codex/event" && isRecord(params) ? params["msg"] : undefined;
    return isRecord(msg) ? [String(msg["type"])] : [];
  });
}

async function responseTo(origin: string, { method, path = "/mcp", headers = {}, message, body }: HttpQuestion): Promise<IncomingMessage> {
  const sent = message === undefined ? body : JSON.stringify(message);
  const request = send(`${origin}${path}`, {
    method: method ?? (sent === undefined ? "GET" : "POST"),
    agent: false,
    headers: { ...(message === undefined ? {} : { "content-type": "application/json" }), ...headers },
  });
  // Before the response, `once` reports an error; later the response itself does.
  request.on("error", () => {});
  request.end(sent);
  const [response]: IncomingMessage[] = await once(request, "response", { signal: AbortSignal.timeout(PATIENCE_MS) });
  if (response === undefined) throw new Error("no response");
  return response;
}

function headOf({ statusCode = 0, headers }: IncomingMessage): Pick<Reply, "status" | "headers" | "session"> {
  const session = headers["mcp-session-id"];
  return { status: statusCode, headers, session: typeof session === "string" ? session : undefined };
}
