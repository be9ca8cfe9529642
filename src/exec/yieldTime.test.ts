import { expect, it } from "vitest";
import { startYieldMs, writeYieldMs } from "./yieldTime.js";

it("a start is waited for ten seconds unless asked otherwise, within limits", () => {
  expect([undefined, 1, 3_000, 10 ** 9].map(startYieldMs)).toEqual([10_000, 250, 3_000, 30_000]);
});

it("an answer is waited for a quarter of a second, and for nothing at least five", () => {
  expect([writeYieldMs(undefined, "x"), writeYieldMs(100, "x"), writeYieldMs(undefined, ""), writeYieldMs(10 ** 9, "")]).toEqual([
    250, 250, 5_000, 30_000,
  ]);
});
