import { describe, expect, it } from "vitest";
import { hostOfAuthority, hostOfSetting, reachOf } from "./hostName.js";

describe("the host of a Host header", () => {
  it.each([
    ["localhost", "localhost"],
    ["LocalHost:4096", "localhost"],
    ["localhost.", "localhost"],
    ["example.com.:443", "example.com"],
    ["127.0.0.1:65535", "127.0.0.1"],
    ["[::1]", "[::1]"],
    ["[0:0:0:0:0:0:0:1]:80", "[::1]"],
    ["[2001:DB8::A]", "[2001:db8::a]"],
    ["xn--bcher-kva.example", "xn--bcher-kva.example"],
  ])("%s is %s", (header, host) => {
    expect(hostOfAuthority(header)).toBe(host);
  });

  it.each([
    "",
    " localhost",
    "localhost ",
    "localhost:",
    "localhost:65536",
    "localhost:80:80",
    "localhost:+80",
    "localhost, evil.example",
    "localhost/mcp",
    "localhost#@evil.example",
    "user@localhost",
    "localhost@evil.example",
    "localhost..",
    ".localhost",
    "-localhost",
    "loc\u0430lhost",
    "local%68ost",
    "::1",
    "[::1",
    "[::1%lo]",
    "[localhost]",
    "[127.0.0.1]",
    `${"a".repeat(256)}.example`,
  ])("%j is none", (header) => {
    expect(hostOfAuthority(header)).toBeUndefined();
  });
});

it("a setting names a host without a port, IPv6 with or without brackets", () => {
  const hosts = ["Example.com", "::1", "[::1]", "example.com:80", "[::1]:80", "*.example.com", "https://example.com"].map(hostOfSetting);
  expect(hosts).toEqual(["example.com", "[::1]", "[::1]", undefined, undefined, undefined, undefined]);
});

describe("a bind address reaches", () => {
  it.each([
    ["localhost", "loopback"],
    ["127.0.0.1", "loopback"],
    ["127.8.9.10", "loopback"],
    ["::1", "loopback"],
    ["[::1]", "loopback"],
    ["::ffff:127.0.0.1", "loopback"],
    ["0.0.0.0", "every-address"],
    ["::", "every-address"],
    ["", "every-address"],
    ["192.168.1.5", "one-address"],
    ["128.0.0.1", "one-address"],
    ["localhost.example.com", "one-address"],
    ["127.0.0.1.example.com", "one-address"],
  ])("%j: %s", (host, reach) => {
    expect(reachOf(host)).toBe(reach);
  });
});
