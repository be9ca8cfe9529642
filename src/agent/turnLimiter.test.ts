import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Caller, Principal, SessionId } from "./caller.js";
import { CallCancelled, ServerBusy } from "./errors.js";
import { TurnLimiter, type TurnLimiterLimits } from "./turnLimiter.js";

const LIMITS: TurnLimiterLimits = { sessions: 10, perPrincipal: 10, perSession: 10, queue: 10 };

function caller(sessionId: string, principal = "ada"): Caller {
  return { sessionId: sessionId as SessionId, principal: principal as Principal, scopes: ["call", "read"] };
}

/** Enters and notes who was let in, in which order. */
class Entrance {
  readonly inside: string[] = [];
  readonly #leave = new Map<string, () => void>();
  readonly gate: TurnLimiter;

  constructor(limits: Partial<TurnLimiterLimits>) {
    this.gate = new TurnLimiter({ ...LIMITS, ...limits });
  }

  enter(name: string, who: Caller, signal = new AbortController().signal): Promise<void> {
    return this.gate.enter({ caller: who, signal }).then(
      (place) => {
        this.inside.push(name);
        this.#leave.set(name, () => place?.[Symbol.dispose]());
      },
      (error: unknown) => {
        if (!(error instanceof CallCancelled)) throw error;
        this.inside.push(`${name} gave up`);
      },
    );
  }

  leave(name: string): void {
    this.#leave.get(name)?.();
  }
}

it.each<[string, Partial<TurnLimiterLimits>, Caller, Caller]>([
  ["a session", { perSession: 1 }, caller("s1"), caller("s1")],
  ["a principal", { perPrincipal: 1 }, caller("s1"), caller("s2")],
  ["the server's running sessions", { sessions: 1 }, caller("s1"), caller("s2")],
])("past the limit of %s a turn waits until one before it ends", async (_, limits, first, second) => {
  const door = new Entrance(limits);
  await door.enter("first", first);
  const waiting = door.enter("second", second);
  await setImmediate();
  expect(door.inside).toEqual(["first"]);
  door.leave("first");
  await waiting;
  expect(door.inside).toEqual(["first", "second"]);
});

it("those who wait are let in in order, but nobody waits for another principal's limit", async () => {
  const door = new Entrance({ perPrincipal: 1 });
  await door.enter("ada 1", caller("s1", "ada"));
  await door.enter("bob 1", caller("s2", "bob"));
  const waiting = [
    door.enter("ada 2", caller("s1", "ada")),
    door.enter("ada 3", caller("s1", "ada")),
    door.enter("bob 2", caller("s2", "bob")),
  ];
  expect(door.gate.waiting).toEqual(3);
  door.leave("bob 1");
  await waiting[2];
  door.leave("ada 1");
  await waiting[0];
  door.leave("ada 2");
  await waiting[1];
  expect(door.inside).toEqual(["ada 1", "bob 1", "bob 2", "ada 2", "ada 3"]);
});

it("when too many wait the next is refused as busy", async () => {
  const door = new Entrance({ perSession: 1, queue: 1 });
  await door.enter("first", caller("s1"));
  const waiting = door.enter("second", caller("s1"));
  await expect(door.enter("third", caller("s1"))).rejects.toThrow(ServerBusy);
  door.leave("first");
  await waiting;
});

it("one that gives up while it waits leaves its place to the next", async () => {
  const door = new Entrance({ perSession: 1 });
  const cancel = new AbortController();
  await door.enter("first", caller("s1"));
  const second = door.enter("second", caller("s1"), cancel.signal);
  const third = door.enter("third", caller("s1"));
  cancel.abort();
  await second;
  door.leave("first");
  await third;
  await door.enter("late", caller("s9"), AbortSignal.abort());
  expect({ inside: door.inside, waiting: door.gate.waiting }).toEqual({
    inside: ["first", "second gave up", "third", "late gave up"],
    waiting: 0,
  });
});

it("a place given back twice is one place", async () => {
  const door = new Entrance({ perSession: 1 });
  await door.enter("first", caller("s1"));
  door.leave("first");
  await door.enter("second", caller("s1"));
  door.leave("first");
  const third = door.enter("third", caller("s1"));
  expect(door.gate.waiting).toEqual(1);
  door.leave("second");
  await third;
});

it("one principal takes all it can, and a second is served at once", async () => {
  const door = new Entrance({ sessions: 8, perPrincipal: 100, queue: 8 });
  for (let at = 0; at < 8; at++) await door.enter(`ada ${at}`, caller(`s${at}`));
  const waiting = Array.from({ length: 8 }, (_, at) => door.enter(`ada waits ${at}`, caller(`w${at}`)));
  await expect(door.enter("ada is refused", caller("x"))).rejects.toThrow(ServerBusy);
  await door.enter("bob", caller("b1", "bob"));
  expect(door.inside.at(-1)).toBe("bob");
  const bobWaits = door.enter("bob waits", caller("b2", "bob"));
  door.leave("ada 0");
  await Promise.race([bobWaits, ...waiting]);
  // Ada still has more than her share: what comes back is not hers.
  expect(door.inside.at(-1)).toBe("bob waits");
  for (let at = 1; at < 8; at++) door.leave(`ada ${at}`);
  for (let at = 0; at < 8; at++) door.leave(`ada waits ${at}`);
  door.leave("bob");
  door.leave("bob waits");
  await setImmediate();
});

it("a place that comes back in the moment in which a waiting call gives up is not lost", async () => {
  const door = new Entrance({ perPrincipal: 1 });
  const cancel = new AbortController();
  await door.enter("first", caller("s1"));
  const second = door.enter("second", caller("s1"), cancel.signal);
  cancel.abort();
  door.leave("first");
  await second;
  await door.enter("third", caller("s1"));
  expect(door.inside).toEqual(["first", "second gave up", "third"]);
  expect(door.gate.waiting).toBe(0);
});

it("a call that comes in the moment in which another one is admitted is not forgotten", async () => {
  const door = new Entrance({ perPrincipal: 1 });
  await door.enter("first", caller("s1"));
  const second = door.enter("second", caller("s1"));
  door.leave("first");
  const third = door.enter("third", caller("s1"));
  await second;
  door.leave("second");
  await third;
  expect(door.inside).toEqual(["first", "second", "third"]);
});
