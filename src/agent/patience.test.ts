import { describe, expect, it } from "vitest";
import type { Principal } from "./caller.js";
import { Patience, type Waiter } from "./patience.js";

const ANN = { principal: "ann" as Principal, client: "slow-client" };
const UNKNOWN = { wall: 60_000 };

describe("how long a call waits", () => {
  it.for([
    ["50 s for an unknown client", {}, UNKNOWN, 50_000],
    ["5/6 of the known timeout of a client", {}, { wall: 300_000 }, 250_000],
    ["without a limit for a client that is known to have no timeout", {}, { wall: true }, Infinity],
    ["almost as long as the call asks for, whatever the client", {}, { wall: true, askedMs: 7_000 }, 6_300],
    ["shorter by a second than the client's timeout, if the call asks for just that", {}, { wall: 60_000, askedMs: 60_000 }, 59_000],
    ["not at all if the call asks for that", {}, { wall: 60_000, askedMs: 0 }, 0],
    ["a year if the call asks for that", {}, { wall: 60_000, askedMs: 31_536_000_000 }, 31_535_999_000],
    ["as long as the setting says, if the call asks for nothing", { setMs: 20_000 }, { wall: true }, 20_000],
    ["without a limit if the setting says so", { setMs: Infinity }, UNKNOWN, Infinity],
    ["almost as long as the call asks for, even if the setting is longer", { setMs: Infinity }, { wall: 60_000, askedMs: 3_000 }, 2_700],
  ] as const)("%s", ([, options, wishes, ms]) => {
    expect(new Patience(options).of(ANN, wishes)).toBe(ms);
  });
});

describe("the wait that is learnt from a client's timeouts", () => {
  it("only becomes shorter, for that client of that principal", () => {
    const patience = new Patience();
    patience.timedOut(ANN, 30_000);
    patience.timedOut(ANN, 40_000);
    const of = (waiter: Waiter) => patience.of(waiter, UNKNOWN);
    expect([
      of(ANN),
      of({ ...ANN, client: "another" }),
      of({ ...ANN, principal: "bob" as Principal }),
      of({ ...ANN, principal: undefined }),
    ]).toEqual([24_000, 50_000, 50_000, 50_000]);
    patience.timedOut(ANN, 5_000);
    expect(of(ANN)).toBe(4_000);
  });

  it("also limits what calls ask for, and clients that are known to wait", () => {
    const patience = new Patience();
    patience.timedOut(ANN, 100_000);
    expect([patience.of(ANN, { wall: true }), patience.of(ANN, { wall: true, askedMs: 600_000 })]).toEqual([80_000, 80_000]);
  });

  it("does not limit calls if the setting is unlimited, unless they ask for a wait", () => {
    const patience = new Patience({ setMs: Infinity });
    patience.timedOut(ANN, 10_000);
    expect([patience.of(ANN, UNKNOWN), patience.of(ANN, { ...UNKNOWN, askedMs: 60_000 })]).toEqual([Infinity, 8_000]);
  });

  it("never goes below a second, however often a client times out", () => {
    const patience = new Patience();
    for (let ms = 1_000; ms >= 0; ms -= 10) patience.timedOut(ANN, ms);
    expect(patience.of(ANN, UNKNOWN)).toBe(1_000);
  });

  it("is forgotten after an hour", () => {
    let now = 0;
    const patience = new Patience({ now: () => now });
    patience.timedOut(ANN, 10_000);
    now = 3_599_999;
    expect(patience.of(ANN, UNKNOWN)).toBe(8_000);
    now = 3_600_000;
    expect(patience.of(ANN, UNKNOWN)).toBe(50_000);
  });

  it("is kept for a thousand clients; the oldest is forgotten first", () => {
    const patience = new Patience();
    const nth = (number: number) => ({ principal: undefined, client: `client ${number}` });
    for (let number = 0; number <= 1_000; number++) patience.timedOut(nth(number), 10_000);
    expect([patience.of(nth(0), UNKNOWN), patience.of(nth(1), UNKNOWN)]).toEqual([50_000, 8_000]);
  });

  it("is kept for one principal, however many clients another has", () => {
    const patience = new Patience();
    patience.timedOut(ANN, 10_000);
    for (let number = 0; number <= 1_000; number++)
      patience.timedOut({ principal: "bob" as Principal, client: `client ${number}` }, 10_000);
    expect(patience.of(ANN, UNKNOWN)).toBe(8_000);
  });
});
