import http from "node:http";
import https from "node:https";
import { getProxyForUrl } from "proxy-from-env";
import { errorCode } from "../../../lib/errors.js";

// node:http costs a third of fetch per request and lets an idle limit be ours alone; docs/decisions/0005 has the numbers.
const keepAlive = { keepAlive: true, maxFreeSockets: 64 };
const plainAgent = new http.Agent(keepAlive);
const secureAgent = new https.Agent(keepAlive);
const proxyAgents = new Map<string, Promise<http.Agent>>();

export interface HttpOptions {
  readonly method: "GET" | "POST" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** On a connection of its own, so that the server sees the request at most once. */
  readonly fresh?: boolean;
  readonly signal: AbortSignal;
}

/** Sends one request, through the proxy that the environment names for this address, and resolves when the answer's headers are here. Rejects with the signal's reason when it aborts. */
export async function sendRequest(url: URL, options: HttpOptions): Promise<http.IncomingMessage> {
  const agent = await agentFor(url, options.fresh === true);
  const body = Buffer.from(options.body ?? "");
  for (;;) {
    try {
      return await send(url, agent, body, options);
    } catch (error) {
      // A kept connection that the server closed a moment ago says nothing about the server. Each such try uses one up, so that the
      // last is made on a new connection.
      if (!(error instanceof StaleConnection)) throw error;
    }
  }
}

class StaleConnection extends Error {}

async function send(
  url: URL,
  agent: http.Agent | false,
  body: Buffer,
  { method, headers, signal }: HttpOptions,
): Promise<http.IncomingMessage> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const start = url.protocol === "https:" ? https.request : http.request;
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

async function agentFor(url: URL, fresh: boolean): Promise<http.Agent | false> {
  const proxy = proxyFor(url);
  if (proxy === "" && fresh) return false;
  if (fresh) return proxyAgent(url.protocol, proxy, {});
  if (proxy === "") return url.protocol === "https:" ? secureAgent : plainAgent;
  const key = `${url.protocol}${proxy}`;
  const known = proxyAgents.get(key) ?? proxyAgent(url.protocol, proxy, keepAlive);
  proxyAgents.set(key, known);
  return known;
}

function proxyFor(url: URL): string {
  const proxy = getProxyForUrl(url.href);
  // An address without a scheme is completed with the target's; everybody else who reads these variables speaks plain HTTP to it.
  return proxy === "" || Object.values(process.env).includes(proxy) ? proxy : proxy.replace(/^https:/, "http:");
}

async function proxyAgent(protocol: string, proxy: string, options: http.AgentOptions): Promise<http.Agent> {
  if (protocol === "https:") {
    const { HttpsProxyAgent } = await import("https-proxy-agent");
    return new HttpsProxyAgent(proxy, options);
  }
  const { HttpProxyAgent } = await import("http-proxy-agent");
  return new HttpProxyAgent(proxy, options);
}
