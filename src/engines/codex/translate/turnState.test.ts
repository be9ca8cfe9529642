import { expect, it } from "vitest";
import { began, done, endingOf, shownAs } from "../../../../test/support/codex/translatedTurn.js";

const PICTURES = Array.from({ length: 600 }, (_, at) => ({
  type: "mcpToolCall",
  id: `t${at}`,
  server: "s",
  tool: "t",
  status: "completed",
}));

it("items beyond what is kept open are shown as a whole when they complete", () => {
  const all = shownAs([...PICTURES.map(began), ...PICTURES.map(done)]);
  const starts = all.flatMap((event) => (event.type === "mcpToolStarted" ? [event.callId] : []));
  const ends = all.flatMap((event) => (event.type === "mcpToolEnded" ? [event.callId] : []));
  expect([starts, ends]).toEqual([PICTURES.map(({ id }) => id), PICTURES.map(({ id }) => id)]);
});

it("an item that begins twice is shown once", () => {
  const [item = {}] = PICTURES;
  expect(shownAs([began(item), began(item)])).toHaveLength(1);
});

it("of a command that never ends only the beginning of its output is kept", () => {
  const command = { type: "commandExecution", id: "c1", command: "yes" };
  const delta = "y\n".repeat(300_000);
  const flood = Array.from({ length: 5 }, () => ["item/commandExecution/outputDelta", { itemId: "c1", delta }] as const);
  const [end] = endingOf([began(command), ...flood], { kind: "interrupted" });
  expect(end?.type === "commandEnded" && end.stdout.length).toBe(1_200_000);
});
