import { expect, it } from "vitest";
import { FailedLogins } from "./failedLogins.js";

function stage({ perAddress = 3, inTotal = 100 } = {}) {
  const clock = { now: 0 };
  const failed = new FailedLogins({ perAddress, inTotal, windowMs: 60_000 }, () => clock.now);
  const fail = (address: string, times = 1) => Array.from({ length: times }, () => failed.record(address));
  return { clock, failed, fail };
}

it("an address is blocked after too many failures, until its minute is over", () => {
  const { clock, failed, fail } = stage();
  expect(fail("10.0.0.1", 2)).toEqual([undefined, undefined]);
  expect(failed.waitMs("10.0.0.1")).toBe(0);
  clock.now = 20_000;
  expect(fail("10.0.0.1")).toEqual(["one-address"]);
  expect(failed.waitMs("10.0.0.1")).toBe(40_000);
  clock.now = 60_000;
  expect(failed.waitMs("10.0.0.1")).toBe(0);
  expect(fail("10.0.0.1")).toEqual([undefined]);
});

it("other addresses are not blocked", () => {
  const { failed, fail } = stage();
  fail("10.0.0.1", 3);
  expect(failed.waitMs("10.0.0.2")).toBe(0);
});

it("the addresses of one IPv6 network count as one, and an IPv4 address counts as itself however it is written", () => {
  const { failed, fail } = stage();
  fail("2001:db8::1", 2);
  fail("2001:db8:0:0:ffff:ffff:ffff:ffff");
  fail("::ffff:10.0.0.1", 3);
  const waits = ["2001:db8:0:0:1::", "2001:db8:0:1::1", "10.0.0.1", "10.0.0.2"].map((address) => failed.waitMs(address) > 0);
  expect(waits).toEqual([true, false, true, false]);
});

it("if many addresses fail, each is allowed one failure, and those without any are not blocked", () => {
  const { clock, failed, fail } = stage({ inTotal: 5 });
  for (const address of ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]) fail(address);
  expect(failed.waitMs("10.0.0.1")).toBe(0);
  expect(fail("10.0.0.5")).toEqual(["all-addresses"]);
  expect([failed.waitMs("10.0.0.1"), failed.waitMs("10.0.0.6")]).toEqual([60_000, 0]);
  clock.now = 60_000;
  expect(failed.waitMs("10.0.0.1")).toBe(0);
});

it("remembers the latest ten thousand addresses", () => {
  const { failed, fail } = stage({ perAddress: 1, inTotal: 100_000 });
  const address = (at: number) => `10.${at >> 16}.${(at >> 8) & 0xff}.${at & 0xff}`;
  for (let at = 0; at <= 10_000; at++) fail(address(at));
  expect([failed.waitMs(address(0)), failed.waitMs(address(1)), failed.waitMs(address(10_000))]).toEqual([0, 60_000, 60_000]);
});
