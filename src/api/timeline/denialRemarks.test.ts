import { expect, it } from "vitest";
import { denialRemark } from "../../approvals/denials.js";
import { newThreadId } from "../../lib/ids.js";
import { StoredItems } from "./storedItems.js";
import { TurnItems } from "./turnItems.js";

const REMARKS = [
  denialRemark("`rm a`", { kind: "denied", reason: "keep it", by: "http" }) ?? "",
  denialRemark("`rm a`", { kind: "denied", by: "deadline" }) ?? "",
];

it("the reason of a denial, which the server sends to Codex, is a notice and not a message of the user", () => {
  const live = new TurnItems({ threadId: newThreadId(), turnId: "t1", ranMs: () => 1 });
  const stored = new StoredItems();
  stored.take({ type: "turnStarted", at: undefined });
  for (const [at, text] of ["remove a", ...REMARKS, "and b"].entries()) {
    live.take({ type: "itemCompleted", item: { kind: "userMessage", id: `u${at}`, text } });
    stored.take({ type: "userSpoke", at: undefined, text });
  }
  for (const items of [live.items, stored.items])
    expect(items.filter(({ type }) => type !== "turnSummary").map((item) => [item.type, "text" in item && item.text])).toEqual([
      ["userMessage", "remove a"],
      ...REMARKS.map((text) => ["notice", text]),
      ["userMessage", "and b"],
    ]);
});

it("a prompt that contains such a text remains a prompt", () => {
  const stored = new StoredItems();
  stored.take({ type: "turnStarted", at: undefined });
  stored.take({ type: "userSpoke", at: undefined, text: REMARKS[0] ?? "" });
  expect(stored.items[0]).toMatchObject({ type: "userMessage", text: REMARKS[0] });
});
