import { expect, it } from "vitest";
import type { Wire } from "../../../src/jsonrpc/wire.js";
import { memoryWires } from "./memoryWires.js";

async function readAll(wire: Wire): Promise<unknown[]> {
  const frames: unknown[] = [];
  for await (const frame of wire.incoming) frames.push(frame);
  return frames;
}

it("each side receives the other's messages in order, earlier ones included", async () => {
  const [left, right] = memoryWires();
  left.send("1");
  const received = readAll(right);
  await Promise.resolve();
  left.send("2");
  left.send("3");
  await left.close();
  expect(await received).toEqual([{ text: "1" }, { text: "2" }, { text: "3" }]);
});

it("closing one side ends both, and nothing is delivered afterwards", async () => {
  const [left, right] = memoryWires();
  await right.close();
  left.send("late");
  right.send("late");
  expect([await readAll(left), await readAll(right)]).toEqual([[], []]);
});

it("never reports congestion", () => {
  const [left] = memoryWires();
  expect(left.congested()).toBeUndefined();
});
