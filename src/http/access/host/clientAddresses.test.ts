import type { IncomingMessage } from "node:http";
import { expect, it } from "vitest";
import { ClientAddresses } from "./clientAddresses.js";

function from(remoteAddress: string, forwardedFor?: string): IncomingMessage {
  return { socket: { remoteAddress }, headers: forwardedFor === undefined ? {} : { "x-forwarded-for": forwardedFor } } as never;
}

const TRUSTED = ["10.0.0.0/8", "192.0.2.7", "fd00::/8"];

it.each([
  ["a client without a proxy", "203.0.113.1", undefined, "203.0.113.1"],
  ["a client that pretends to be a proxy", "203.0.113.1", "198.51.100.9", "203.0.113.1"],
  ["a client of a trusted proxy", "10.1.2.3", "198.51.100.9", "198.51.100.9"],
  ["a client that sent the header itself", "10.1.2.3", "1.1.1.1, 198.51.100.9", "198.51.100.9"],
  ["a client behind two of them", "::ffff:10.1.2.3", "1.1.1.1, 198.51.100.9, 192.0.2.7", "198.51.100.9"],
  ["one with ports", "fd00::1", "[2001:db8::1]:5000, 10.0.0.1:80", "2001:db8::1"],
  ["a proxy that says nothing", "10.1.2.3", undefined, "10.1.2.3"],
  ["a proxy that says nonsense", "10.1.2.3", "198.51.100.9, unknown", "10.1.2.3"],
  ["proxies all the way", "10.1.2.3", "10.0.0.1, 10.0.0.2", "10.0.0.1"],
])("%s is identified by its own address", (_, remote, header, expected) => {
  expect(new ClientAddresses(TRUSTED).of(from(remote, header))).toBe(expected);
});

it("without trusted proxies no forwarding header counts", () => {
  expect(new ClientAddresses().of(from("10.1.2.3", "198.51.100.9"))).toBe("10.1.2.3");
});

it.each(["proxy.example", "10.0.0.0/33", "10.0.0.0/8/8", "10.0.0.0/", "fd00::/129", ""])("%j cannot be trusted", (text) => {
  expect(() => new ClientAddresses([text])).toThrow(expect.objectContaining({ code: "access_misconfigured" }));
});
