import type { IncomingMessage } from "node:http";
import { AccessMisconfigured } from "../errors.js";
import { isRepeated } from "../requestHeaders.js";
import { type HostName, type HostReach, hostOfAuthority, hostOfSetting, isAddress, isLoopbackName, reachOf } from "./hostName.js";

export interface HostSettings {
  /** What the server binds to. */
  readonly host: string;
  /** Other names it is reached by, compared as a whole. */
  readonly allowedHosts: readonly string[];
}

/**
 * Which `Host` a request may name. A web page can make its own name lead to this machine (DNS rebinding), and then its requests look
 * like any other except for this header.
 */
export class HostRule {
  readonly #named: ReadonlySet<HostName>;
  readonly #reach: HostReach;
  /** The header that was found fine last: nearly all requests have the same. */
  #fine: string | undefined;

  constructor({ host, allowedHosts }: HostSettings) {
    this.#reach = reachOf(host);
    const bound = hostOfSetting(host);
    this.#named = new Set([...(bound ? [bound] : []), ...allowedHosts.map(allowedHost)]);
  }

  /** The sentence that refuses the request; undefined when its host is fine. */
  objection(request: IncomingMessage): string | undefined {
    const { host: header } = request.headers;
    if (header === undefined) return "The request has no Host header.";
    if (isRepeated(request, "host")) return "The request has more than one Host header.";
    if (header === this.#fine) return undefined;
    const host = hostOfAuthority(header);
    if (host === undefined) return "The Host header is not a host with an optional port.";
    if (!this.#allows(host)) return `The host ${host} is not one this server answers to. --allow-host ${host} would add it.`;
    this.#fine = header;
    return undefined;
  }

  #allows(host: HostName): boolean {
    if (this.#named.has(host)) return true;
    switch (this.#reach) {
      case "this machine":
        return isLoopbackName(host);
      case "every address":
        // A rebound name is a name: whoever typed an address has come to where the address leads.
        return isLoopbackName(host) || isAddress(host);
      case "one address":
        return false;
    }
  }
}

function allowedHost(text: string): HostName {
  const host = hostOfSetting(text);
  if (host) return host;
  throw new AccessMisconfigured(
    `--allow-host ${JSON.stringify(text)}: expected one host name or address, without a scheme, a port or a wildcard`,
  );
}
