import { describe, expect, it } from "vitest";
import { began, done, endingOf, shownAs, type Told, translatorFor } from "../../../../test/support/codex/translatedTurn.js";
import type { ReviewTarget } from "../../../threads/events.js";
import type { TurnEnding } from "./turnTranslator.js";

const MESSAGE = { type: "agentMessage", id: "m1", text: "" };
const THOUGHT = { type: "reasoning", id: "r1", summary: [], content: [] };

describe("a message of the agent", () => {
  it("begins empty, grows, and completes with its text", () => {
    const shown = shownAs([
      began(MESSAGE),
      ["item/agentMessage/delta", { itemId: "m1", delta: "two " }],
      ["item/agentMessage/delta", { itemId: "m1", delta: "words" }],
      done({ ...MESSAGE, text: "two words" }),
    ]);
    expect(shown).toEqual([
      { type: "itemStarted", item: { kind: "agentMessage", id: "m1", texts: [] } },
      { type: "messageDelta", itemId: "m1", delta: "two " },
      { type: "messageDelta", itemId: "m1", delta: "words" },
      { type: "itemCompleted", item: { kind: "agentMessage", id: "m1", texts: ["two words"] } },
    ]);
  });

  it("that arrives whole is streamed anyway", () => {
    expect(shownAs([done({ ...MESSAGE, text: "at once" })])).toEqual([
      { type: "itemStarted", item: { kind: "agentMessage", id: "m1", texts: [] } },
      { type: "messageDelta", itemId: "m1", delta: "at once" },
      { type: "itemCompleted", item: { kind: "agentMessage", id: "m1", texts: ["at once"] } },
    ]);
  });

  it("that is cut off completes with the text so far", () => {
    const told = [began(MESSAGE), ["item/agentMessage/delta", { itemId: "m1", delta: "half" }]] as const;
    expect(endingOf(told, { kind: "interrupted" })).toEqual([
      { type: "itemCompleted", item: { kind: "agentMessage", id: "m1", texts: ["half"] } },
      { type: "turnAborted", reason: "interrupted" },
    ]);
  });

  it("is the turn's answer", () => {
    const told = [done({ ...MESSAGE, text: "first" }), done({ ...MESSAGE, id: "m2", text: "last" })];
    expect(endingOf(told, { kind: "completed" })).toEqual([{ type: "turnCompleted", lastMessage: "last" }]);
  });
});

it("an answer that the user interrupts with another message ends before that message, incomplete", () => {
  const more = { type: "userMessage", id: "u2", content: [{ type: "text", text: "rather this" }] };
  const shown = shownAs([
    began(MESSAGE),
    ["item/agentMessage/delta", { itemId: "m1", delta: "I would" }],
    began(more),
    done(more),
    done({ ...MESSAGE, id: "m2", text: "this" }),
  ]);
  expect(shown).toEqual([
    { type: "itemStarted", item: { kind: "agentMessage", id: "m1", texts: [] } },
    { type: "messageDelta", itemId: "m1", delta: "I would" },
    { type: "itemCompleted", item: { kind: "agentMessage", id: "m1", texts: ["I would"] } },
    { type: "itemStarted", item: { kind: "userMessage", id: "u2", text: "rather this" } },
    { type: "itemCompleted", item: { kind: "userMessage", id: "u2", text: "rather this" } },
    { type: "itemStarted", item: { kind: "agentMessage", id: "m2", texts: [] } },
    { type: "messageDelta", itemId: "m2", delta: "this" },
    { type: "itemCompleted", item: { kind: "agentMessage", id: "m2", texts: ["this"] } },
  ]);
});

it("the user's message consists of all its parts", () => {
  const item = {
    type: "userMessage",
    id: "u1",
    content: [
      { type: "text", text: "look at " },
      { type: "image", url: "data:" },
      { type: "text", text: "this" },
    ],
  };
  const shown = { kind: "userMessage", id: "u1", text: "look at this", images: ["data:"] };
  expect(shownAs([began(item), done(item)])).toEqual([
    { type: "itemStarted", item: shown },
    { type: "itemCompleted", item: shown },
  ]);
});

describe("a question that waits for no answer", () => {
  const QUESTION = { type: "agentMessage", id: "q1", text: "Which colour?", questions: [{ title: "Which colour?" }] };
  const ANSWER = { type: "agentMessage", id: "a1", text: "I took red." };
  const SAID = { type: "userMessage", id: "u1", content: [{ type: "text", text: "blue" }] };
  const asked = [began(QUESTION), done(QUESTION)];

  it("is added to the answer, because callers read nothing else", () => {
    expect(endingOf([...asked, began(ANSWER), done(ANSWER)], { kind: "completed" })).toEqual([
      { type: "turnCompleted", lastMessage: "I took red.\n\nThe agent asks: Which colour?" },
    ]);
  });

  it("is closed by the user's next message", () => {
    expect(endingOf([...asked, began(SAID), done(SAID), began(ANSWER), done(ANSWER)], { kind: "completed" })).toEqual([
      { type: "turnCompleted", lastMessage: "I took red." },
    ]);
  });
});

describe("reasoning", () => {
  const TOLD = [
    began(THOUGHT),
    ["item/reasoning/summaryPartAdded", { itemId: "r1", summaryIndex: 0 }],
    ["item/reasoning/summaryTextDelta", { itemId: "r1", summaryIndex: 0, delta: "hm" }],
    ["item/reasoning/textDelta", { itemId: "r1", contentIndex: 0, delta: "raw" }],
  ] as const;
  const COMPLETE = done({ ...THOUGHT, summary: ["hm"], content: ["raw"] });

  it("shows its summary and its raw text as they arrive, and the whole raw text again if configured", () => {
    expect(shownAs([...TOLD, COMPLETE])).toEqual([
      { type: "itemStarted", item: { kind: "reasoning", id: "r1", summary: [], rawContent: [] } },
      { type: "reasoningSectionBreak", itemId: "r1", summaryIndex: 0 },
      { type: "reasoningDelta", itemId: "r1", summaryIndex: 0, delta: "hm" },
      { type: "rawReasoningDelta", itemId: "r1", contentIndex: 0, delta: "raw" },
      { type: "itemCompleted", item: { kind: "reasoning", id: "r1", summary: ["hm"], rawContent: [] } },
    ]);
    expect(shownAs([...TOLD, COMPLETE], { settings: { showRawAgentReasoning: true } }).slice(3)).toEqual([
      { type: "rawReasoningDelta", itemId: "r1", contentIndex: 0, delta: "raw" },
      { type: "itemCompleted", item: { kind: "reasoning", id: "r1", summary: ["hm"], rawContent: ["raw"], rawShown: true } },
    ]);
  });

  it("that is cut off completes with the reasoning so far", () => {
    const more = ["item/reasoning/summaryTextDelta", { itemId: "r1", summaryIndex: 9, delta: "so" }] as const;
    expect(endingOf([...TOLD, more], { kind: "failed", message: "gone" })).toEqual([
      { type: "itemCompleted", item: { kind: "reasoning", id: "r1", summary: ["hm", "so"], rawContent: [] } },
      { type: "turnFailed", message: "gone", info: "other" },
    ]);
  });
});

it("a web search is shown in the format of 0.92.0", () => {
  const begun = { type: "webSearch", id: "w1", query: "", action: null };
  const ended = { ...begun, query: "https://x.test", action: { type: "openPage", url: "https://x.test" } };
  expect(shownAs([began(begun), done(ended)])).toEqual([
    { type: "itemStarted", item: { kind: "webSearch", id: "w1", query: "", action: { type: "other" } } },
    {
      type: "itemCompleted",
      item: { kind: "webSearch", id: "w1", query: "https://x.test", action: { type: "open_page", url: "https://x.test" } },
    },
  ]);
});

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

it("an image that is viewed is shown once", () => {
  const item = { type: "imageView", id: "i1", path: "/ws/a.png" };
  expect(shownAs([began(item), done(item)])).toEqual([{ type: "imageViewed", callId: "i1", path: "/ws/a.png" }]);
});

it("a summary is shown when it is complete, not when it was interrupted", () => {
  const item = { type: "contextCompaction", id: "x1" };
  expect(shownAs([began(item), done(item)])).toEqual([{ type: "historyCompacted", message: "", replacement: [] }]);
  expect(endingOf([began(item)], { kind: "interrupted" })).toEqual([{ type: "turnAborted", reason: "interrupted" }]);
});

it("items for which 0.92.0 had no event are shown as notes, and unknown kinds are not shown", () => {
  const shown = shownAs([
    began({ type: "imageGeneration", id: "1" }),
    began({ type: "sleep", id: "2" }),
    began({ type: "collabAgentToolCall", id: "3", tool: "spawnAgent" }),
    began({ type: "subAgentActivity", id: "4", kind: "started", agentPath: "root/a" }),
    began({ type: "dynamicToolCall", id: "5" }),
    began({ type: "hologram", id: "6" }),
  ]);
  expect(shown).toEqual(
    ["Making an image", "Waiting", "Working with other agents: spawnAgent", "Another agent: started root/a"].map((message) => ({
      type: "backgroundNote",
      message,
    })),
  );
});

const TARGET: ReviewTarget = { type: "baseBranch", branch: "main" };
const ENTERED = { type: "enteredReviewMode", id: "e1", review: "changes against 'main'" };

function exited(review: string): Told[] {
  const item = { type: "exitedReviewMode", id: "e2", review };
  const message = { ...MESSAGE, id: "m2", text: review };
  return [began(item), done(item), began(message), done(message)];
}

function reviewed(told: readonly Told[], ending: TurnEnding) {
  const translator = translatorFor({ reviewTarget: TARGET });
  translator.notification("turn/started", {});
  const shown = told.flatMap(([method, params]) => translator.notification(method, params));
  return [...shown, ...translator.end(ending)];
}

describe("a review", () => {
  const began1 = [began(ENTERED), done(ENTERED), began(MESSAGE)] as const;
  const started = { type: "reviewStarted", target: TARGET, hint: "changes against 'main'" };

  it("shows the request and the result, and none of the reviewer's own messages", () => {
    const told: Told[] = [...began1, ["item/agentMessage/delta", { itemId: "m1", delta: "{" }], ...exited("fine")];
    expect(reviewed(told, { kind: "completed" })).toEqual([
      started,
      { type: "reviewEnded", text: "fine" },
      { type: "turnCompleted", lastMessage: "fine" },
    ]);
  });

  it.each<[TurnEnding, object]>([
    [{ kind: "interrupted" }, { type: "turnAborted", reason: "interrupted" }],
    [
      { kind: "failed", message: "no model" },
      { type: "turnFailed", message: "no model", info: "other" },
    ],
  ])("that was cut short has no result, whatever text the app-server sends: $kind", (ending, end) => {
    const told = [...began1, ...exited("Reviewer failed to output a response.")];
    expect(reviewed(told, ending)).toEqual([started, { type: "reviewEnded", text: null }, end]);
    expect(reviewed(began1, ending)).toEqual([started, { type: "reviewEnded", text: null }, end]);
  });

  it("that was not requested is shown by the app-server's description", () => {
    expect(shownAs([began(ENTERED)])).toEqual([
      { type: "reviewStarted", target: { type: "custom", instructions: ENTERED.review }, hint: ENTERED.review },
    ]);
  });
});
