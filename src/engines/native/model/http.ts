import http, { type IncomingMessage } from "node:http";
import { describe, errorCode } from "../../../lib/errors.js";

interface HttpOptions {
  readonly method: "GET" | "POST" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** On a connection of its own, so that the server sees the request at most once. */
  readonly fresh?: boolean;
  readonly signal: AbortSignal;
  /** May name proxies: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, in either case. */
  readonly env: NodeJS.ProcessEnv;
}

/** Sends one request, through the proxy that `env` names for the URL. Resolves with the response's headers; rejects with the signal's reason when it aborts. */
export async function sendRequest(url: URL, options: HttpOptions): Promise<http.IncomingMessage> {
  const route = await routeTo(url, options);
  const body = Buffer.from(options.body ?? "");
  for (;;) {
    try {
      return await send(url, route, { ...options, body });
    } catch (error) {
      // The server may have closed a kept-alive connection a moment ago. Each retry uses up one of those, so the last one is made on a
      // new connection.
      if (!(error instanceof StaleConnection)) throw error;
    }
  }
}

class StaleConnection extends Error {}

async function send(
  url: URL,
  { start, agent }: Route,
  { method, headers, body, signal }: Pick<HttpOptions, "method" | "headers" | "signal"> & { readonly body: Buffer },
): Promise<http.IncomingMessage> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const request = start(url, { method, agent, headers: { ...headers, "content-length": String(body.length) } }, resolve);
    // Node's own `signal` option destroys the socket with an error, which nobody hears (and which ends the process) when the answer
    // is complete at that moment; and it is not heeded while a proxy opens its tunnel.
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

/** How an address is reached: what starts a request, and the agent that has its connections; none for a connection of its own. */
interface Route {
  readonly start: (url: URL, options: http.RequestOptions, onAnswer: (answer: http.IncomingMessage) => void) => http.ClientRequest;
  readonly agent: http.Agent | false;
}

// node:http costs a third of fetch per request and lets an idle limit be ours alone; docs/decisions/0005 has the numbers.
const keepAlive = { keepAlive: true, maxFreeSockets: 64 };
const agents = new Map<string, Promise<http.Agent>>();

/** Through the proxy that the environment names for this address. `fresh`: on a connection that nobody used before. */
async function routeTo(url: URL, { env, fresh = false }: Pick<HttpOptions, "env" | "fresh">): Promise<Route> {
  const proxy = proxyFor(url, env);
  const start = await starterFor(url.protocol);
  if (fresh) return { start, agent: proxy === "" ? false : await newAgent(url.protocol, proxy, {}) };
  const key = `${url.protocol}${proxy}`;
  const agent = agents.get(key) ?? newAgent(url.protocol, proxy, keepAlive);
  agents.set(key, agent);
  return { start, agent: await agent };
}

// TLS and proxies are loaded where they are used; the first answer of a server without is some milliseconds earlier.
async function starterFor(protocol: string): Promise<Route["start"]> {
  return protocol === "https:" ? (await import("node:https")).request : http.request;
}

async function newAgent(protocol: string, proxy: string, options: http.AgentOptions): Promise<http.Agent> {
  if (proxy !== "") return (await import("./proxyAgent.js")).proxyAgent(protocol, proxy, options);
  return protocol === "https:" ? new (await import("node:https")).Agent(options) : new http.Agent(options);
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

/** The proxy that an environment names for an address; empty for none. */
export function proxyFor({ protocol, hostname, port }: URL, env: NodeJS.ProcessEnv): string {
  const variable = (name: string) => env[name] || env[name.toUpperCase()] || "";
  const address = { host: hostname, port: port || DEFAULT_PORTS[protocol] };
  if (entriesOf(variable("no_proxy")).some((entry) => covers(entry, address))) return "";
  const proxy = variable(`${protocol.slice(0, -1)}_proxy`) || variable("all_proxy");
  // Every program that reads these variables speaks plain HTTP to a proxy without a scheme.
  return proxy === "" || proxy.includes("://") ? proxy : `http://${proxy}`;
}

function entriesOf(list: string): string[] {
  return list
    .toLowerCase()
    .split(/[,\s]+/)
    .filter((entry) => entry !== "");
}

/** `example.org`, `example.org:8080`, `.example.org` and `*.example.org` for everything below it, `*` for everything, `::1` or `[::1]`. */
function covers(entry: string, address: { readonly host: string; readonly port: string | undefined }): boolean {
  const [, named, port] = /^(\[.*\]|[^:]*):(\d+)$/.exec(entry) ?? [];
  if (port !== undefined && port !== address.port) return false;
  const host = named ?? entry;
  if (host.startsWith("*")) return address.host.endsWith(host.slice(1));
  if (host.startsWith(".")) return address.host.endsWith(host);
  return address.host === host || address.host === `[${host}]`;
}

/** The first characters of an answer; more is not read. */
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
