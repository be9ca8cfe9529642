import { describe, expect, it } from "vitest";
import { previewOf, wordsIn } from "./threadHead.js";

describe("the user's messages", () => {
  it.for([
    ["an event of Codex 0.92.0", { type: "user_message", message: "go", images: [] }, "go"],
    ["one of 2025 that says it is plain", { type: "user_message", message: "go", kind: "plain" }, "go"],
    [
      "an item of newer versions",
      { type: "item_completed", item: { type: "UserMessage", content: [{ type: "text", text: "go" }, { type: "image" }] } },
      "go",
    ],
    ["context in the form of a message", { type: "user_message", message: "<cwd>", kind: "environment_context" }, undefined],
    ["a message that is no text", { type: "user_message", message: 5 }, undefined],
    ["an item of the model", { type: "item_completed", item: { type: "AgentMessage", content: [] } }, undefined],
    ["another event", { type: "token_count" }, undefined],
  ] as const)("%s", ([, event, words]) => expect(wordsIn(event)).toBe(words));
});

describe("a preview", () => {
  it.for([
    ["  Fix\n\tthe   test\n", "Fix the test"],
    ["# Open files\n- a.ts\n\n## My request for Codex:\nFix it\n", "Fix it"],
    ["x".repeat(160), "x".repeat(160)],
    ["x".repeat(161), `${"x".repeat(159)}…`],
    ["🙂".repeat(200), `${"🙂".repeat(159)}…`],
    ["", ""],
  ] as const)("of %j", ([words, preview]) => expect(previewOf(words)).toBe(preview));
});
