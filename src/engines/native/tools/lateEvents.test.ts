import { expect, it } from "vitest";
import { deferred } from "../../../lib/promises.js";
import type { ThreadEvent } from "../../../threads/events.js";
import { LateEvents, withLateEvents } from "./lateEvents.js";

function note(message: string): ThreadEvent {
  return { type: "backgroundNote", message };
}

it("late events come first if they are older than the turn; later ones come between the events of the turn, even while it waits", async () => {
  const lateEvents = new LateEvents();
  const waits = deferred<void>();
  async function* main(): AsyncGenerator<readonly ThreadEvent[], string> {
    yield [note("begins")];
    await waits.promise;
    yield [note("ends")];
    return "the end";
  }
  lateEvents.put(note("earlier"));
  const running = withLateEvents(main(), lateEvents);
  expect(await running.next()).toEqual({ done: false, value: [note("earlier")] });
  expect(await running.next()).toEqual({ done: false, value: [note("begins")] });
  const next = running.next();
  lateEvents.put(note("meanwhile"));
  expect(await next).toEqual({ done: false, value: [note("meanwhile")] });
  waits.resolve();
  expect(await running.next()).toEqual({ done: false, value: [note("ends")] });
  expect(await running.next()).toEqual({ done: true, value: "the end" });
});

it("a failure of the turn is passed on, and the turn ends when its reader leaves", async () => {
  let isOver = false;
  async function* main(): AsyncGenerator<readonly ThreadEvent[], void> {
    try {
      yield [note("begins")];
      throw new Error("broken");
    } finally {
      isOver = true;
    }
  }
  const failing = withLateEvents(main(), new LateEvents());
  await failing.next();
  await expect(failing.next()).rejects.toThrow("broken");
  isOver = false;
  const left = withLateEvents(main(), new LateEvents());
  await left.next();
  await left.return();
  expect(isOver).toBe(true);
});

it("holds output up to a limit, and the end of a command in any case", () => {
  const lateEvents = new LateEvents();
  const piece: ThreadEvent = { type: "commandOutput", callId: "c", stream: "stdout", bytes: Buffer.alloc(1024 * 1024) };
  const call = { callId: "c", command: ["x"], cwd: "/", parsed: [] };
  const output = { stdout: "", stderr: "", aggregatedOutput: "", formattedOutput: "" };
  for (let n = 0; n < 100; n++) lateEvents.put(piece);
  lateEvents.put({ type: "commandEnded", ...call, ...output, exitCode: -1, durationMs: 1 });
  const held = lateEvents.take();
  expect([held.length, held.at(-1)?.type]).toEqual([9, "commandEnded"]);
  lateEvents.put(piece);
  expect(lateEvents.take()).toHaveLength(1);
});
