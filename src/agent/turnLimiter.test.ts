import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { RPC } from "../jsonrpc/errors.js";
import type { Caller, Principal, SessionId } from "./caller.js";
import { TurnGate, type TurnLimits } from "./turnLimiter.js";

const LIMITS: TurnLimits = { sessions: 10, perPrincipal: 10, perSession: 10, queue: 10 };

function caller(sessionId: string, principal = "ada"): Caller {
  return { sessionId: sessionId as SessionId, principal: principal as Principal, scopes: ["call", "read"] };
}

/** Enters and notes who was let in, in which order. */
class Door {
  readonly inside: string[] = [];
  readonly #leave = new Map<string, () => void>();
  readonly gate: TurnGate;

  constructor(limits: Partial<TurnLimits>) {
    this.gate = new TurnGate({ ...LIMITS, ...limits });
  }

  enter(name: string, who: Caller, signal = new AbortController().signal): Promise<void> {
    return this.gate.enter(who, signal).then((place) => {
      this.inside.push(place === "not wanted any more" ? `${name} gave up` : name);
      if (place !== "not wanted any more") this.#leave.set(name, place);
    });
  }

  leave(name: string): void {
    this.#leave.get(name)?.();
  }
}

it.each<[string, Partial<TurnLimits>, Caller, Caller]>([
  ["a session", { perSession: 1 }, caller("s1"), caller("s1")],
  ["a principal", { perPrincipal: 1 }, caller("s1"), caller("s2")],
  ["the server's running sessions", { sessions: 1 }, caller("s1", "ada"), caller("s2", "bob")],
])("past the limit of %s a turn waits until one before it ends", async (_, limits, first, second) => {
  const door = new Door(limits);
  await door.enter("first", first);
  const waiting = door.enter("second", second);
  await setImmediate();
  expect(door.inside).toEqual(["first"]);
  door.leave("first");
  await waiting;
  expect(door.inside).toEqual(["first", "second"]);
});

it("those who wait are let in in order, but nobody waits for another principal's limit", async () => {
  const door = new Door({ perPrincipal: 1 });
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
  const door = new Door({ perSession: 1, queue: 1 });
  await door.enter("first", caller("s1"));
  const waiting = door.enter("second", caller("s1"));
  await expect(door.enter("third", caller("s1"))).rejects.toMatchObject({ code: RPC.busy });
  door.leave("first");
  await waiting;
});

it("one that gives up while it waits leaves its place to the next", async () => {
  const door = new Door({ perSession: 1 });
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
  const door = new Door({ perSession: 1 });
  await door.enter("first", caller("s1"));
  door.leave("first");
  await door.enter("second", caller("s1"));
  door.leave("first");
  const third = door.enter("third", caller("s1"));
  expect(door.gate.waiting).toEqual(1);
  door.leave("second");
  await third;
});
