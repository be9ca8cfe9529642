import type { IncomingMessage } from "node:http";
import { BlockList, isIP, isIPv4 } from "node:net";
import { AccessMisconfigured } from "../errors.js";

/** The client addresses of requests: the address of the connection or, behind trusted proxies, the one that they forward. */
export class ClientAddresses {
  readonly #trusted = new BlockList();
  readonly #trustsAny: boolean;

  /** Addresses, or networks such as `10.0.0.0/8`. Throws if one is neither. */
  constructor(trustedProxies: readonly string[] = []) {
    this.#trustsAny = trustedProxies.length > 0;
    for (const text of trustedProxies) this.#trust(text);
  }

  /** Any client may send the header, so only entries added by trusted proxies count: from its end to the first untrusted address. */
  of({ socket, headers }: IncomingMessage): string {
    let address = plain(socket.remoteAddress ?? "");
    if (!this.#trustsAny) return address;
    const said = headers["x-forwarded-for"] ?? "";
    const hops = (typeof said === "string" ? said : said.join(",")).split(",");
    while (hops.length > 0 && this.#isTrusted(address)) {
      const hop = withoutPort(hops.pop()?.trim() ?? "");
      if (isIP(hop) === 0) break;
      address = plain(hop);
    }
    return address;
  }

  #isTrusted(address: string): boolean {
    return isIP(address) !== 0 && this.#trusted.check(address, familyOf(address));
  }

  #trust(text: string): void {
    const [address = "", length, surplus] = text.split("/");
    const bits = isIPv4(address) ? 32 : 128;
    const isLength = length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= bits);
    if (isIP(address) === 0 || !isLength || surplus !== undefined)
      throw new AccessMisconfigured(`--trusted-proxy ${JSON.stringify(text)}: expected an IP address or a network such as 10.0.0.0/8`);
    this.#trusted.addSubnet(address, Number(length ?? bits), familyOf(address));
  }
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIPv4(address) ? "ipv4" : "ipv6";
}

/** A server on all addresses sees IPv4 addresses in IPv4-mapped IPv6 form. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "");
}

function withoutPort(hop: string): string {
  const [, bracketed, dotted] = /^\[(.*)\](?::\d+)?$|^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(hop) ?? [];
  return bracketed ?? dotted ?? hop;
}
