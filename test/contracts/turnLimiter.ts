import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Caller, Principal, SessionId } from "../../src/agent/caller.js";
import { CallCancelled, ServerBusy } from "../../src/agent/errors.js";
import type { TurnLimiter, TurnLimiterLimits } from "../../src/agent/turnLimiter.js";

const LIMITS: TurnLimiterLimits = { sessions: 10, perPrincipal: 10, perSession: 10, queue: 10 };

function caller(sessionId: string, principal = "ada"): Caller {
  return { sessionId: sessionId as SessionId, principal: principal as Principal, scopes: ["call", "read"] };
}

/** One limiter as two nodes see it. The same object if there is only one node. */
export type Nodes = readonly [TurnLimiter, TurnLimiter];

/** Enters at alternating nodes, and records who was admitted, in which order. */
class LimitedCalls {
  readonly inside: string[] = [];
  readonly #leave = new Map<string, () => void>();
  readonly #nodes: Nodes;
  #entered = 0;

  constructor(nodes: Nodes) {
    this.#nodes = nodes;
  }

  enter(name: string, who: Caller, signal = new AbortController().signal): Promise<void> {
    const node = this.#nodes[this.#entered++ % 2 === 0 ? 0 : 1];
    return node.enter({ caller: who, signal }).then(
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

  /** Waits until so many calls are queued, which another node learns with a delay. */
  async hasWaiting(count: number): Promise<void> {
    await expect.poll(() => this.#nodes[0].waiting).toBe(count);
  }
}

/** The contract of every implementation of `TurnLimiter`, whichever nodes the calls reach. */
export function turnLimiterContract(name: string, open: (limits: TurnLimiterLimits) => Nodes): void {
  const limitedCalls = (limits: Partial<TurnLimiterLimits>) => new LimitedCalls(open({ ...LIMITS, ...limits }));

  describe(`places for turns in ${name}`, () => {
    it.each<[string, Partial<TurnLimiterLimits>, Caller, Caller]>([
      ["a session", { perSession: 1 }, caller("s1"), caller("s1")],
      ["a principal", { perPrincipal: 1 }, caller("s1"), caller("s2")],
      ["the server's running sessions", { sessions: 1 }, caller("s1"), caller("s2")],
    ])("beyond the limit of %s a turn waits until an earlier one ends", async (_, limits, first, second) => {
      const calls = limitedCalls(limits);
      await calls.enter("first", first);
      const waiting = calls.enter("second", second);
      await setImmediate();
      expect(calls.inside).toEqual(["first"]);
      calls.leave("first");
      await waiting;
      expect(calls.inside).toEqual(["first", "second"]);
    });

    it("waiting calls are admitted in order, but none waits for another principal's limit", async () => {
      const calls = limitedCalls({ perPrincipal: 1 });
      await calls.enter("ada 1", caller("s1", "ada"));
      await calls.enter("bob 1", caller("s2", "bob"));
      const waiting = [
        calls.enter("ada 2", caller("s1", "ada")),
        calls.enter("ada 3", caller("s1", "ada")),
        calls.enter("bob 2", caller("s2", "bob")),
      ];
      await calls.hasWaiting(3);
      calls.leave("bob 1");
      await waiting[2];
      calls.leave("ada 1");
      await waiting[0];
      calls.leave("ada 2");
      await waiting[1];
      expect(calls.inside).toEqual(["ada 1", "bob 1", "bob 2", "ada 2", "ada 3"]);
    });

    it("when too many calls wait, the next one is refused as busy", async () => {
      const calls = limitedCalls({ perSession: 1, queue: 1 });
      await calls.enter("first", caller("s1"));
      const waiting = calls.enter("second", caller("s1"));
      await expect(calls.enter("third", caller("s1"))).rejects.toThrow(ServerBusy);
      calls.leave("first");
      await waiting;
    });

    it("a waiting call that gives up leaves its slot to the next", async () => {
      const calls = limitedCalls({ perSession: 1 });
      const cancel = new AbortController();
      await calls.enter("first", caller("s1"));
      const second = calls.enter("second", caller("s1"), cancel.signal);
      const third = calls.enter("third", caller("s1"));
      cancel.abort();
      await second;
      calls.leave("first");
      await third;
      await calls.enter("late", caller("s9"), AbortSignal.abort());
      expect(calls.inside).toEqual(["first", "second gave up", "third", "late gave up"]);
      await calls.hasWaiting(0);
    });

    it("a slot that is released twice counts once", async () => {
      const calls = limitedCalls({ perSession: 1 });
      await calls.enter("first", caller("s1"));
      calls.leave("first");
      await calls.enter("second", caller("s1"));
      calls.leave("first");
      const third = calls.enter("third", caller("s1"));
      await calls.hasWaiting(1);
      expect(calls.inside).toEqual(["first", "second"]);
      calls.leave("second");
      await third;
      expect(calls.inside).toEqual(["first", "second", "third"]);
    });

    it("one principal takes the whole limit, and a second is still served at once", async () => {
      const calls = limitedCalls({ sessions: 8, perPrincipal: 100, queue: 8 });
      for (let at = 0; at < 8; at++) await calls.enter(`ada ${at}`, caller(`s${at}`));
      const waiting = Array.from({ length: 8 }, (_, at) => calls.enter(`ada waits ${at}`, caller(`w${at}`)));
      await expect(calls.enter("ada is refused", caller("x"))).rejects.toThrow(ServerBusy);
      await calls.enter("bob", caller("b1", "bob"));
      expect(calls.inside.at(-1)).toBe("bob");
      const bobWaits = calls.enter("bob waits", caller("b2", "bob"));
      calls.leave("ada 0");
      await Promise.race([bobWaits, ...waiting]);
      // Ada still has more than her share, so a freed slot goes to another principal.
      expect(calls.inside.at(-1)).toBe("bob waits");
      for (let at = 1; at < 8; at++) calls.leave(`ada ${at}`);
      for (let at = 0; at < 8; at++) calls.leave(`ada waits ${at}`);
      calls.leave("bob");
      calls.leave("bob waits");
      await setImmediate();
    });

    it("a slot that is released while a waiting call gives up is not lost", async () => {
      const calls = limitedCalls({ perPrincipal: 1 });
      const cancel = new AbortController();
      await calls.enter("first", caller("s1"));
      const second = calls.enter("second", caller("s1"), cancel.signal);
      cancel.abort();
      calls.leave("first");
      await second;
      await calls.enter("third", caller("s1"));
      expect(calls.inside).toEqual(["first", "second gave up", "third"]);
      await calls.hasWaiting(0);
    });

    it("a call that arrives while another one is admitted is not forgotten", async () => {
      const calls = limitedCalls({ perPrincipal: 1 });
      await calls.enter("first", caller("s1"));
      const second = calls.enter("second", caller("s1"));
      calls.leave("first");
      const third = calls.enter("third", caller("s1"));
      await second;
      calls.leave("second");
      await third;
      expect(calls.inside).toEqual(["first", "second", "third"]);
    });
  });
}
