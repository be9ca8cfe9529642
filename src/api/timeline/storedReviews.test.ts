import { expect, it } from "vitest";
import { StoredItems } from "./storedItems.js";

const TEXT = "One thing is wrong.\n- [P1] Division by zero — lib/made.js:2-2\n  `b` is never a number.";
const SPOKEN = { type: "message", role: "assistant", content: [{ type: "output_text", text: TEXT }] };

it.each([["before"], ["after"]])("a message with the text of the review, recorded %s its end, is not a separate item", (when) => {
  const items = new StoredItems();
  const speak = () => items.take({ type: "item", at: undefined, item: SPOKEN });
  items.take({ type: "userSpoke", at: undefined, text: "Review: the uncommitted changes" });
  items.take({ type: "reviewStarted", at: undefined, hint: "the uncommitted changes" });
  if (when === "before") speak();
  items.take({ type: "reviewEnded", at: undefined, text: TEXT });
  if (when === "after") speak();
  expect(items.items.map(({ type }) => type)).toEqual(["userMessage", "review", "turnSummary"]);
  expect(items.items[1]).toMatchObject({ status: "completed", text: TEXT, findings: [{ title: "Division by zero" }] });
});

it("other messages remain items", () => {
  const items = new StoredItems();
  items.take({ type: "reviewStarted", at: undefined, hint: "x" });
  items.take({ type: "item", at: undefined, item: { ...SPOKEN, content: [{ type: "output_text", text: "Looking." }] } });
  items.take({ type: "reviewEnded", at: undefined, text: TEXT });
  items.take({ type: "userSpoke", at: undefined, text: "Say it again." });
  items.take({ type: "item", at: undefined, item: SPOKEN });
  expect(items.items.map(({ type }) => type)).toEqual(["review", "agentMessage", "userMessage", "agentMessage", "turnSummary"]);
});
