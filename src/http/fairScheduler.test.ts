import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { FairScheduler } from "./fairScheduler.js";

/** More than anything here takes. */
const AMPLE_MS = 10_000;

function keepBusy(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe("FairScheduler", () => {
  it("lets senders take turns in the order they asked, each once", async () => {
    const sendScheduler = new FairScheduler(AMPLE_MS);
    const heard: string[] = [];
    const [first, second] = [() => void heard.push("first"), () => void heard.push("second")];
    for (const sender of [first, second, first]) sendScheduler.soon(sender);
    expect(heard).toEqual([]);
    await nextTurn();
    expect(heard).toEqual(["first", "second"]);
  });

  it("continues in a later turn of the event loop after the senders' share of this one", async () => {
    const sendScheduler = new FairScheduler(1);
    const heard: string[] = [];
    const slow = (name: string) => () => {
      keepBusy(20);
      heard.push(name);
    };
    for (const name of ["one", "two", "three"]) sendScheduler.soon(slow(name));
    const byTurn: number[] = [];
    for (let turn = 0; turn < 3; turn++) {
      await nextTurn();
      byTurn.push(heard.length);
    }
    expect({ heard, byTurn }).toEqual({ heard: ["one", "two", "three"], byTurn: [1, 2, 3] });
  });

  it("counts what a sender's work sets free as part of its turn", async () => {
    const sendScheduler = new FairScheduler(AMPLE_MS);
    const order: string[] = [];
    sendScheduler.soon(() => void Promise.resolve().then(() => order.push("freed by the first")));
    sendScheduler.soon(() => void order.push("second"));
    await nextTurn();
    expect(order).toEqual(["freed by the first", "second"]);
  });

  it("takes a sender again that asks during its own turn", async () => {
    const sendScheduler = new FairScheduler(AMPLE_MS);
    let turns = 0;
    const sender = () => {
      if (++turns < 3) sendScheduler.soon(sender);
    };
    sendScheduler.soon(sender);
    await nextTurn();
    expect(turns).toBe(3);
  });
});
