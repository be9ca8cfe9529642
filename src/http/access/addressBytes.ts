import { isIPv4, isIPv6 } from "node:net";

/** The 4 or 16 bytes of an IP address; 4 also for an IPv4 address in the clothes of IPv6. Undefined when it is no address. */
export function addressBytes(address: string): readonly number[] | undefined {
  if (isIPv4(address)) return address.split(".").map(Number);
  if (!isIPv6(address)) return undefined;
  const bytes = groupsOf(address).flatMap((group) => [group >> 8, group & 0xff]);
  return MAPPED.every((byte, at) => bytes[at] === byte) ? bytes.slice(MAPPED.length) : bytes;
}

/** What stands before an IPv4 address in IPv6. */
export const MAPPED: readonly number[] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

function groupsOf(address: string): number[] {
  const [plain = ""] = address.split("%");
  const dotted = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/;
  const hexadecimal = plain.replace(dotted, (_, ...quad: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = quad.slice(0, 4).map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
  const [head = [], tail = []] = hexadecimal.split("::").map((part) => (part === "" ? [] : part.split(":")));
  const zeros = Array<string>(8 - head.length - tail.length).fill("0");
  return [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
}
