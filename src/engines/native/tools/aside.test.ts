import { expect, it } from "vitest";
import { deferred } from "../../../lib/promises.js";
import type { ThreadEvent } from "../../../threads/events.js";
import { Aside, withAside } from "./aside.js";

function note(message: string): ThreadEvent {
  return { type: "backgroundNote", message };
}

it("events of earlier commands are shown between those of the turn, also while it waits; those from before the turn come first", async () => {
  const aside = new Aside();
  const waits = deferred<void>();
  async function* main(): AsyncGenerator<readonly ThreadEvent[], string> {
    yield [note("begins")];
    await waits.promise;
    yield [note("ends")];
    return "the end";
  }
  aside.put(note("earlier"));
  const running = withAside(main(), aside);
  expect(await running.next()).toEqual({ done: false, value: [note("earlier")] });
  expect(await running.next()).toEqual({ done: false, value: [note("begins")] });
  const next = running.next();
  aside.put(note("meanwhile"));
  expect(await next).toEqual({ done: false, value: [note("meanwhile")] });
  waits.resolve();
  expect(await running.next()).toEqual({ done: false, value: [note("ends")] });
  expect(await running.next()).toEqual({ done: true, value: "the end" });
});

it("a failure of the turn is passed on, and the turn ends when nobody reads it any more", async () => {
  let isOver = false;
  async function* main(): AsyncGenerator<readonly ThreadEvent[], void> {
    try {
      yield [note("begins")];
      throw new Error("broken");
    } finally {
      isOver = true;
    }
  }
  const failing = withAside(main(), new Aside());
  await failing.next();
  await expect(failing.next()).rejects.toThrow("broken");
  isOver = false;
  const left = withAside(main(), new Aside());
  await left.next();
  await left.return();
  expect(isOver).toBe(true);
});

it("holds output that nobody takes up to a limit, and the end of its command in any case", () => {
  const aside = new Aside();
  const piece: ThreadEvent = { type: "commandOutput", callId: "c", stream: "stdout", bytes: Buffer.alloc(1024 * 1024) };
  const call = { callId: "c", command: ["x"], cwd: "/", parsed: [] };
  const output = { stdout: "", stderr: "", aggregatedOutput: "", formattedOutput: "" };
  for (let n = 0; n < 100; n++) aside.put(piece);
  aside.put({ type: "commandEnded", ...call, ...output, exitCode: -1, durationMs: 1 });
  const held = aside.take();
  expect([held.length, held.at(-1)?.type]).toEqual([9, "commandEnded"]);
  aside.put(piece);
  expect(aside.take()).toHaveLength(1);
});
