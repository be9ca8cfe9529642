import http from "node:http";
import { getProxyForUrl } from "proxy-from-env";

/** How an address is reached: what starts a request, and the agent that has its connections; none for a connection of its own. */
export interface Route {
  readonly start: (url: URL, options: http.RequestOptions, onAnswer: (answer: http.IncomingMessage) => void) => http.ClientRequest;
  readonly agent: http.Agent | false;
}

// node:http costs a third of fetch per request and lets an idle limit be ours alone; docs/decisions/0005 has the numbers.
const keepAlive = { keepAlive: true, maxFreeSockets: 64 };
const agents = new Map<string, Promise<http.Agent>>();

/** Through the proxy that the environment names for this address. `fresh`: on a connection that nobody used before. */
export async function routeTo(url: URL, { fresh }: { readonly fresh: boolean }): Promise<Route> {
  const proxy = proxyFor(url);
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

function proxyFor(url: URL): string {
  const proxy = getProxyForUrl(url.href);
  // An address without a scheme is completed with the target's; everybody else who reads these variables speaks plain HTTP to it.
  return proxy === "" || Object.values(process.env).includes(proxy) ? proxy : proxy.replace(/^https:/, "http:");
}
