import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";

/** A host as in `Host` and URLs, in canonical form: lower case, no trailing dot, IPv6 compressed and in brackets. */
export type HostName = string & { readonly brand: "HostName" };

const AUTHORITY = /^(\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?\.?)(?::(\d{1,5}))?$/i;
const MAX_PORT = 65_535;
const MAX_NAME_LENGTH = 255;

/** The host of `host[:port]`; undefined for anything else, such as a name with userinfo or two names. */
export function hostOfAuthority(authority: string): HostName | undefined {
  const [, host, port = "0"] = AUTHORITY.exec(authority) ?? [];
  if (host === undefined || host.length > MAX_NAME_LENGTH || Number(port) > MAX_PORT) return undefined;
  return host.startsWith("[") ? spelledV6(host.slice(1, -1)) : spelledName(host);
}

/** A host from a setting: without a port; IPv6 may be without brackets. */
export function hostOfSetting(text: string): HostName | undefined {
  if (isIPv6(text)) return spelledV6(text);
  const hasPort = /:\d+$/.test(text.replace(/^\[.*\]/, ""));
  return hasPort ? undefined : hostOfAuthority(text);
}

/** Names that nobody else can point at this machine. */
export function isLoopbackName(host: HostName): boolean {
  return host === "localhost" || host === "127.0.0.1" || host === "[::1]";
}

/** Whether the host is an IP address, so that no DNS server decides where it leads. */
export function isAddress(host: HostName): boolean {
  return host.startsWith("[") || isIPv4(host);
}

/** Who can reach a bind address. */
export type HostReach = "loopback" | "one-address" | "every-address";

export function reachOf(bindHost: string): HostReach {
  const host = bindHost.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  if (EVERY_ADDRESS.has(host)) return "every-address";
  const family = isIP(host);
  const loopback = family === 0 ? host === "localhost" : LOOPBACK.check(host, family === 6 ? "ipv6" : "ipv4");
  return loopback ? "loopback" : "one-address";
}

/** Whether it is a loopback address, which may be in IPv4-mapped IPv6 form. */
export function isLoopbackAddress(address: string): boolean {
  const plain = address.replace(/^::ffff:/i, "");
  const family = isIP(plain);
  return family !== 0 && LOOPBACK.check(plain, family === 6 ? "ipv6" : "ipv4");
}

/** Without a host, Node listens on all addresses. */
const EVERY_ADDRESS = new Set(["", "0.0.0.0", "::", "0:0:0:0:0:0:0:0"]);
const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

function spelledV6(address: string): HostName | undefined {
  const url = `http://[${address}]`;
  return isIPv6(address) && URL.canParse(url) ? asHostName(new URL(url).hostname) : undefined;
}

function spelledName(name: string): HostName {
  return asHostName(name.toLowerCase().replace(/\.$/, ""));
}

// Only these two functions produce the canonical form that the brand stands for.
function asHostName(spelling: string): HostName {
  return spelling as HostName;
}
