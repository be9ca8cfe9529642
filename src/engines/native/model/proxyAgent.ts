import type http from "node:http";
import { HttpProxyAgent } from "http-proxy-agent";
import { HttpsProxyAgent } from "https-proxy-agent";

/** An agent for connections through a proxy, for URLs of this protocol. */
export function proxyAgent(protocol: string, proxy: string, options: http.AgentOptions): http.Agent {
  return protocol === "https:" ? new HttpsProxyAgent(proxy, options) : new HttpProxyAgent(proxy, options);
}
