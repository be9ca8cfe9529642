import { expect, it } from "vitest";
import type { Principal } from "../../../agent/caller.js";
import { StrayIds } from "./strayIds.js";

const ADA = "ada" as Principal;
const BOB = "bob" as Principal;

function strays() {
  const clock = { now: 1_000 };
  return { clock, ids: new StrayIds(() => clock.now) };
}

it("a client that uses a refused id again insists on it; one that only sent several requests in parallel does not", () => {
  const { clock, ids } = strays();
  const atOnce = [ids.insists("s", ADA), ids.insists("s", ADA)];
  clock.now += 1_999;
  const soon = ids.insists("s", ADA);
  clock.now += 1;
  expect([atOnce, soon, ids.insists("s", ADA)]).toEqual([[false, false], false, true]);
});

it("another client, or another id, does not count as insisting", () => {
  const { clock, ids } = strays();
  ids.insists("s", ADA);
  clock.now += 10_000;
  expect([ids.insists("s", BOB), ids.insists("t", ADA), ids.insists("s", ADA)]).toEqual([false, false, true]);
});

it("a refusal is forgotten after an hour, or after very many further ones", () => {
  const { clock, ids } = strays();
  ids.insists("old", ADA);
  clock.now += 3_600_000;
  expect(ids.insists("old", ADA)).toBe(false);
  for (let at = 0; at < 1_000; at++) ids.insists(`s${at}`, ADA);
  clock.now += 5_000;
  expect([ids.insists("old", ADA), ids.insists("s999", ADA)]).toEqual([false, true]);
});
