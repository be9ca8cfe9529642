// Long because a request, its connection and its answer share their ways to fail.
import http, { type IncomingMessage } from "node:http";
import { StringDecoder } from "node:string_decoder";
import { urlToHttpOptions } from "node:url";
import { describe, errorCode } from "../../../lib/errors.js";
import { type Deferred, deferred, IdleDeadline } from "../../../lib/promises.js";
import type { ModelProvider } from "../../../threads/settings.js";
import { aboutKey, adviceOnConnection, adviceOnForeignAnswer } from "./advice.js";
import { type ModelClient, type ModelEvent, ModelFailure, type ModelRequest } from "./client.js";
import { EventReader, EventStreamReader } from "./decode.js";
import { failureOfStatus, maskSent } from "./failures.js";
import { type CredentialSources, endpoint, providerHeaders, readRateLimits, shownUrl } from "./provider.js";

/** Error bodies are shown to people; a longer text is of no use. */
const MAX_ERROR_BODY = 64 * 1024;
/** A response beyond this size is a stream that never ends. */
const MAX_ANSWER_BYTES = 128 * 1024 * 1024;
/** After a complete response, the connection can be reused if the server ends the response within this time. */
const LINGER_MS = 1_000;

export interface ResponsesOptions extends CredentialSources {
  readonly provider: ModelProvider;
  readonly userAgent: string;
  readonly threadId: string;
  /** Receives the headers of every response. */
  readonly onHeaders?: (headers: IncomingMessage["headers"]) => void;
}

/** The streaming Responses API of one provider. The caller handles retries, so that each can be announced. */
export class ResponsesClient implements ModelClient {
  readonly #options: ResponsesOptions;
  #url: URL | undefined;

  constructor(options: ResponsesOptions) {
    this.#options = options;
  }

  async *stream({ body }: ModelRequest, signal: AbortSignal): AsyncGenerator<readonly ModelEvent[]> {
    const { provider } = this.#options;
    if (provider.wireApi !== "responses") throw unsupportedWire(provider);
    this.#url ??= endpoint(provider, "responses");
    const url = this.#url;
    const own = providerHeaders(provider, this.#options);
    const headers = { ...this.#headers(), ...own };
    using idle = new IdleDeadline(provider.streamIdleTimeoutMs, signal);
    try {
      const response = await this.#send(url, { headers, body, signal: idle.signal });
      idle.touch();
      this.#options.onHeaders?.(response.headers);
      if (response.statusCode === 401) throw aboutKey(await refused(response, { url, sent: own }), provider, this.#options);
      if ((response.statusCode ?? 0) >= 300) throw await refused(response, { url, sent: own });
      yield* readAnswer(response, idle);
    } catch (error) {
      signal.throwIfAborted();
      if (idle.hasPassed)
        throw new ModelFailure("stream disconnected before completion: idle timeout waiting for SSE", {
          retry: "stream",
          advice: `No event came for ${provider.streamIdleTimeoutMs / 1_000} s (stream_idle_timeout_ms in config.toml).`,
        });
      throw error instanceof ModelFailure ? error.reworded((text) => maskSent(text, own, url)) : error;
    }
  }

  async #send(url: URL, options: { headers: Record<string, string>; body: string; signal: AbortSignal }): Promise<IncomingMessage> {
    try {
      return await sendRequest(url, { method: "POST", env: this.#options.env, ...options });
    } catch (error) {
      if (errorCode(error) === "ERR_INVALID_CHAR") throw unsendableHeader(this.#options.provider, error);
      throw new ModelFailure(`stream disconnected before completion: error sending request for url (${shownUrl(url)})`, {
        retry: "request",
        advice: adviceOnConnection(error, url, proxyFor(url, this.#options.env)),
        cause: error,
      });
    }
  }

  #headers(): Record<string, string> {
    const { userAgent, threadId } = this.#options;
    return {
      "content-type": "application/json",
      accept: "text/event-stream",
      "user-agent": userAgent,
      session_id: threadId,
    };
  }
}

async function refused(response: IncomingMessage, { url, sent }: { url: URL; sent: Record<string, string> }): Promise<ModelFailure> {
  return failureOfStatus({
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: maskSent(await readStart(response, MAX_ERROR_BODY), sent, url),
    url: shownUrl(url),
  });
}

async function* readAnswer(response: IncomingMessage, idle: IdleDeadline): AsyncGenerator<readonly ModelEvent[]> {
  let events: ModelEvent[] = [];
  let failure: unknown;
  let done = false;
  let heard = false;
  let isForeign = true;
  const reader = new EventReader();
  const stream = new EventStreamReader((data) => {
    heard = true;
    isForeign &&= !data.includes('"response.');
    if (done || failure !== undefined) return;
    try {
      const event = reader.read(data);
      if (event) events.push(event);
      done = event?.type === "completed";
    } catch (error) {
      failure = error;
    }
  });
  let bytes = 0;
  const body = new Body(response);
  // Not `setEncoding`: it decodes every network chunk separately, and a response has thousands.
  const text = new StringDecoder("utf8");
  try {
    events.push({ type: "accepted", rateLimits: readRateLimits(response.headers) });
    // The beginning of the answer often arrives together with the headers. Then both are one batch.
    if (response.readableLength === 0) {
      yield events;
      events = [];
    }
    for (let chunks = await body.next(); chunks; chunks = await body.next()) {
      for (const chunk of chunks) {
        bytes += chunk.length;
        stream.feed(text.write(chunk));
      }
      if (heard) idle.touch();
      heard = false;
      if (events.length > 0) yield events;
      events = [];
      if (failure !== undefined) throw failure;
      if (done) return;
      if (bytes > MAX_ANSWER_BYTES)
        throw new ModelFailure("stream disconnected before completion: the answer does not end", { retry: "never" });
    }
  } catch (error) {
    if (events.length > 0) yield events;
    throw error instanceof ModelFailure ? error : brokenOff(error);
  } finally {
    body.leave();
    if (!response.destroyed) letGo(response, done);
  }
  throw new ModelFailure("stream disconnected before completion: stream closed before response.completed", {
    retry: "stream",
    ...(isForeign && { advice: adviceOnForeignAnswer(response.headers["content-type"]) }),
  });
}

function brokenOff(error: unknown): ModelFailure {
  return new ModelFailure("stream disconnected before completion: Transport error: network error: error decoding response body", {
    retry: "stream",
    cause: error,
  });
}

/** The limit of chunks that are held. Further ones wait in the connection. */
const MOST_HELD = 64;

/**
 * The body of a response as it arrives. It takes a third of the time of the stream's own iterator, which observes every way in which a stream
 * can end.
 */
class Body {
  readonly #response: IncomingMessage;
  #held: Buffer[] = [];
  #end: { readonly error?: unknown } | undefined;
  #news: Deferred<void> | undefined;

  constructor(response: IncomingMessage) {
    this.#response = response;
    response.on("data", this.#take);
    response.on("end", () => this.#ended({}));
    response.on("error", (error) => this.#ended({ error }));
    response.on("close", () => this.#ended({ error: new Error("the connection was closed") }));
  }

  /** The chunks that came since the last call; undefined at the end. */
  async next(): Promise<readonly Buffer[] | undefined> {
    while (this.#held.length === 0) {
      if (this.#end && "error" in this.#end) throw this.#end.error;
      if (this.#end) return undefined;
      this.#news = deferred<void>();
      await this.#news.promise;
    }
    const chunks = this.#held;
    this.#held = [];
    if (chunks.length >= MOST_HELD) this.#response.resume();
    return chunks;
  }

  leave(): void {
    this.#response.off("data", this.#take);
  }

  readonly #take = (chunk: Buffer) => {
    this.#held.push(chunk);
    if (this.#held.length === MOST_HELD) this.#response.pause();
    this.#news?.resolve();
  };

  #ended(end: { readonly error?: unknown }): void {
    this.#end ??= end;
    this.#news?.resolve();
  }
}

/** The connection of a complete response is kept for the next request; any other is closed. */
function letGo(response: IncomingMessage, complete: boolean): void {
  if (!complete) {
    response.destroy();
    return;
  }
  // The whole body has arrived.
  if (response.complete) return void response.resume();
  const linger = setTimeout(() => response.destroy(), LINGER_MS);
  response.once("close", () => clearTimeout(linger));
  response.resume();
}

function unsendableHeader(provider: ModelProvider, cause: unknown): ModelFailure {
  // Node's error names the header, never its value.
  return new ModelFailure(
    `Provider \`${provider.id}\` cannot be asked: ${describe(cause)}. Check its key and its headers in config.toml.`,
    { retry: "never", cause },
  );
}

function unsupportedWire(provider: ModelProvider): ModelFailure {
  return new ModelFailure(
    `Provider \`${provider.id}\` is configured with wire_api = "${provider.wireApi}", which this server does not speak. ` +
      `Set wire_api = "responses" in [model_providers.${provider.id}] of config.toml if the provider offers the Responses API.`,
    { retry: "never" },
  );
}

interface HttpOptions {
  readonly method: "GET" | "POST" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Uses a new connection, so that the server sees the request at most once. */
  readonly fresh?: boolean;
  readonly signal: AbortSignal;
  /** May name proxies: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, in either case. */
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Sends one request, through the proxy that `env` names for the URL. Resolves with the response's headers; rejects with the signal's reason
 * when it aborts.
 */
export async function sendRequest(url: URL, options: HttpOptions): Promise<http.IncomingMessage> {
  const route = await routeTo(url, options);
  const body = UTF8.encode(options.body);
  for (;;) {
    try {
      return await send(url, route, { ...options, body });
    } catch (error) {
      // The server may have just closed a kept-alive connection. Each retry uses up one of those, so the last retry uses a new connection.
      if (!(error instanceof StaleConnection)) throw error;
    }
  }
}

/** Several times as fast as `Buffer.from` for a long text. */
const UTF8 = new TextEncoder();

class StaleConnection extends Error {}

async function send(
  url: URL,
  { start, agent }: Route,
  { method, headers, body, signal }: Pick<HttpOptions, "method" | "headers" | "signal"> & { readonly body: Uint8Array },
): Promise<http.IncomingMessage> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const request = start({ ...connectionTo(url), method, agent, headers: { ...headers, "content-length": String(body.length) } }, resolve);
    // Node's own `signal` option destroys the socket with an error. If the response completes at that moment, the error is unhandled and
    // ends the process. The option is also ignored while a proxy opens its tunnel.
    const leave = () => {
      reject(signal.reason);
      request.destroy();
    };
    signal.addEventListener("abort", leave, { once: true });
    request.once("close", () => signal.removeEventListener("abort", leave));
    request.on("error", (error) => {
      if (request.reusedSocket && ["ECONNRESET", "EPIPE"].includes(errorCode(error) ?? ""))
        reject(new StaleConnection("stale", { cause: error }));
      else reject(error);
    });
    request.end(body);
  });
}

const connections = new WeakMap<URL, http.RequestOptions>();

/** The parts of a URL. They are remembered, because a client sends all of its requests to the same URL object. */
function connectionTo(url: URL): http.RequestOptions {
  const known = connections.get(url);
  if (known) return known;
  const parts = urlToHttpOptions(url);
  connections.set(url, parts);
  return parts;
}

/** How a URL is reached: the function that starts a request, and the agent with its connections; none for a separate connection. */
interface Route {
  readonly start: (options: http.RequestOptions, onAnswer: (answer: http.IncomingMessage) => void) => http.ClientRequest;
  readonly agent: http.Agent | false;
}

// node:http costs a third of fetch per request and allows an idle timeout of our own; docs/decisions/0005 has the numbers.
const keepAlive = { keepAlive: true, maxFreeSockets: 64 };
const agents = new Map<string, Promise<http.Agent>>();

/** The proxy of each URL. It is remembered, because the environment of the process does not change. */
const proxies = new WeakMap<URL, string>();

/** Uses the proxy that the environment names for this URL. `fresh`: on a new connection. */
async function routeTo(url: URL, { env, fresh = false }: Pick<HttpOptions, "env" | "fresh">): Promise<Route> {
  const proxy = proxies.get(url) ?? proxyFor(url, env);
  proxies.set(url, proxy);
  const start = await starterFor(url.protocol);
  if (fresh) return { start, agent: proxy === "" ? false : await newAgent(url.protocol, proxy, {}) };
  const key = `${url.protocol}${proxy}`;
  const agent = agents.get(key) ?? newAgent(url.protocol, proxy, keepAlive);
  agents.set(key, agent);
  return { start, agent: await agent };
}

// TLS and proxies are loaded on first use; without them, the first response of a server comes some milliseconds earlier.
async function starterFor(protocol: string): Promise<Route["start"]> {
  return protocol === "https:" ? (await import("node:https")).request : http.request;
}

async function newAgent(protocol: string, proxy: string, options: http.AgentOptions): Promise<http.Agent> {
  if (proxy !== "") return (await import("./proxyAgent.js")).proxyAgent(protocol, proxy, options);
  return protocol === "https:" ? new (await import("node:https")).Agent(options) : new http.Agent(options);
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

/** The proxy that the environment names for a URL; empty for none. */
export function proxyFor({ protocol, hostname, port }: URL, env: NodeJS.ProcessEnv): string {
  const variable = (name: string) => env[name] || env[name.toUpperCase()] || "";
  const address = { host: hostname, port: port || DEFAULT_PORTS[protocol] };
  if (entriesOf(variable("no_proxy")).some((entry) => covers(entry, address))) return "";
  const proxy = variable(`${protocol.slice(0, -1)}_proxy`) || variable("all_proxy");
  // Programs that read these variables use plain HTTP for a proxy without a scheme.
  return proxy === "" || proxy.includes("://") ? proxy : `http://${proxy}`;
}

function entriesOf(list: string): string[] {
  return list
    .toLowerCase()
    .split(/[,\s]+/)
    .filter((entry) => entry !== "");
}

/** `example.org`, `example.org:8080`, `.example.org` and `*.example.org` for all subdomains, `*` for everything, `::1` or `[::1]`. */
function covers(entry: string, address: { readonly host: string; readonly port: string | undefined }): boolean {
  const [, named, port] = /^(\[.*\]|[^:]*):(\d+)$/.exec(entry) ?? [];
  if (port !== undefined && port !== address.port) return false;
  const host = named ?? entry;
  if (host.startsWith("*")) return address.host.endsWith(host.slice(1));
  if (host.startsWith(".")) return address.host.endsWith(host);
  return address.host === host || address.host === `[${host}]`;
}

/** The first characters of a response; the rest is not read. */
export async function readStart(response: IncomingMessage, limit: number): Promise<string> {
  let text = "";
  response.setEncoding("utf8");
  try {
    for await (const chunk of response as AsyncIterable<string>) {
      text += chunk;
      if (text.length >= limit) break;
    }
  } catch (error) {
    text += ` (the rest of the answer could not be read: ${describe(error)})`;
  }
  return text.slice(0, limit);
}
