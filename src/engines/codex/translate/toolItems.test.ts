import { describe, expect, it } from "vitest";
import { began, done, endingOf, shownAs } from "../../../../test/support/translatedTurn.js";

const CALL = { type: "mcpToolCall", id: "t1", server: "files", tool: "read", arguments: { path: "a" }, status: "inProgress" };
const BEGUN = { ...CALL, result: null, error: null, durationMs: null };
const INVOCATION = { server: "files", tool: "read", arguments: { path: "a" } };
const TEXT = { type: "text", text: "hi" };

describe("a call of an MCP tool", () => {
  it.each([
    ["its result", { status: "completed", result: { content: [TEXT], structuredContent: null, _meta: null } }, { Ok: { content: [TEXT] } }],
    [
      "structured content beside it",
      { status: "completed", result: { content: [], structuredContent: { a: 1 } } },
      { Ok: { content: [], structuredContent: { a: 1 } } },
    ],
    ["a result that tells of a failure", { status: "failed", result: { content: [TEXT] } }, { Ok: { content: [TEXT], isError: true } }],
    ["what went wrong", { status: "failed", error: { message: "no such file" } }, { Err: "no such file" }],
    [
      "what went wrong, without the app-server's call stack",
      { status: "failed", error: { message: "tool call error\n\nCaused by:\n    no drawer\n\nStack backtrace:\n   0: <unknown>\n" } },
      { Err: "tool call error\n\nCaused by:\n    no drawer" },
    ],
    ["a failure without words", { status: "failed" }, { Err: "tool call failed" }],
  ])("ends with %s", (_what, outcome, result) => {
    expect(shownAs([began(BEGUN), done({ ...BEGUN, ...outcome, durationMs: 7 })])).toEqual([
      { type: "mcpToolStarted", callId: "t1", invocation: INVOCATION },
      { type: "mcpToolEnded", callId: "t1", invocation: INVOCATION, durationMs: 7, result },
    ]);
  });

  it("that is interrupted ends, and its progress is noted", () => {
    expect(shownAs([["item/mcpToolCall/progress", { itemId: "t1", message: "half way" }]])).toEqual([
      { type: "backgroundNote", message: "half way" },
    ]);
    expect(endingOf([began(BEGUN)], { kind: "interrupted" })).toEqual([
      { type: "mcpToolEnded", callId: "t1", invocation: INVOCATION, durationMs: 0, result: { Err: "tool call interrupted" } },
      { type: "turnAborted", reason: "interrupted" },
    ]);
  });
});

it("a picture that is looked at is told once", () => {
  const item = { type: "imageView", id: "i1", path: "/ws/a.png" };
  expect(shownAs([began(item), done(item)])).toEqual([{ type: "imageViewed", callId: "i1", path: "/ws/a.png" }]);
});

it("a summarised history is told when it is there, not when it was interrupted", () => {
  const item = { type: "contextCompaction", id: "x1" };
  expect(shownAs([began(item), done(item)])).toEqual([{ type: "historyCompacted", message: "", replacement: [] }]);
  expect(endingOf([began(item)], { kind: "interrupted" })).toEqual([{ type: "turnAborted", reason: "interrupted" }]);
});

it("what 0.92.0 had no event for is noted, and unknown kinds are not shown", () => {
  const shown = shownAs([
    began({ type: "imageGeneration", id: "1" }),
    began({ type: "sleep", id: "2" }),
    began({ type: "collabAgentToolCall", id: "3", tool: "spawnAgent" }),
    began({ type: "subAgentActivity", id: "4", kind: "started", agentPath: "root/a" }),
    began({ type: "dynamicToolCall", id: "5" }),
    began({ type: "hologram", id: "6" }),
  ]);
  expect(shown).toEqual(
    ["Making a picture", "Waiting", "Working with other agents: spawnAgent", "Another agent: started root/a"].map((message) => ({
      type: "backgroundNote",
      message,
    })),
  );
});
