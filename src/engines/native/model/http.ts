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
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** Sends one request, through the proxy that the environment names for this address, and resolves when the answer's headers are here. Rejects with the signal's reason when it aborts. */
export async function sendRequest(url: URL, options: HttpOptions): Promise<http.IncomingMessage> {
  const agent = await agentFor(url);
  const body = Buffer.from(options.body ?? "");
  try {
    return await send(url, agent, body, options);
  } catch (error) {
    // A kept connection that the server closed a moment ago says nothing about the server: ask on a new one.
    if (error instanceof StaleConnection) return send(url, agent, body, options);
    throw error;
  }
}

class StaleConnection extends Error {}

function send(url: URL, agent: http.Agent, body: Buffer, { method, headers, signal }: HttpOptions): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    const start = url.protocol === "https:" ? https.request : http.request;
    const request = start(url, { method, agent, headers: { ...headers, "content-length": String(body.length) }, signal }, resolve);
    request.on("error", (error) => {
      if (signal.aborted) reject(signal.reason);
      else if (request.reusedSocket && errorCode(error) === "ECONNRESET") reject(new StaleConnection("stale", { cause: error }));
      else reject(error);
    });
    request.end(body);
  });
}

async function agentFor(url: URL): Promise<http.Agent> {
  const proxy = getProxyForUrl(url.href);
  if (!proxy) return url.protocol === "https:" ? secureAgent : plainAgent;
  const key = `${url.protocol}${proxy}`;
  const known = proxyAgents.get(key) ?? proxyAgent(url.protocol, proxy);
  proxyAgents.set(key, known);
  return known;
}

async function proxyAgent(protocol: string, proxy: string): Promise<http.Agent> {
  if (protocol === "https:") {
    const { HttpsProxyAgent } = await import("https-proxy-agent");
    return new HttpsProxyAgent(proxy, keepAlive);
  }
  const { HttpProxyAgent } = await import("http-proxy-agent");
  return new HttpProxyAgent(proxy, keepAlive);
}
