import { expect, it } from "vitest";
import { ThreadMemory } from "./threadMemory.js";

it("keeps notifications between turns until they are shown, dropping the oldest first", () => {
  const memory = new ThreadMemory();
  for (let at = 0; at < 250; at++) memory.betweenTurns("warning", { message: String(at) });
  memory.betweenTurns("item/started", {});
  const kept = memory.takeKept();
  expect([kept.length, kept[0], kept.at(-1)]).toEqual([
    200,
    { method: "warning", params: { message: "50" } },
    { method: "warning", params: { message: "249" } },
  ]);
  expect(memory.takeKept()).toEqual([]);
});

it("forgets the oldest shown texts and ended turns", () => {
  const memory = new ThreadMemory();
  const told = Array.from({ length: 201 }, (_, at) => memory.isNew(`text ${at}`));
  expect(told.every(Boolean)).toBe(true);
  expect([memory.isNew("text 200"), memory.isNew("text 0")]).toEqual([false, true]);
  for (let at = 0; at < 101; at++) memory.finishTurn(`turn ${at}`);
  expect(["turn 0", "turn 1", "turn 100", undefined].map((id) => memory.isFinished(id))).toEqual([false, true, true, false]);
});
