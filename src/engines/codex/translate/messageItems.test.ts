import { describe, expect, it } from "vitest";
import { began, done, endingOf, shownAs } from "../../../../test/support/translatedTurn.js";

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

  it("that comes whole is streamed all the same", () => {
    expect(shownAs([done({ ...MESSAGE, text: "at once" })])).toEqual([
      { type: "itemStarted", item: { kind: "agentMessage", id: "m1", texts: [] } },
      { type: "messageDelta", itemId: "m1", delta: "at once" },
      { type: "itemCompleted", item: { kind: "agentMessage", id: "m1", texts: ["at once"] } },
    ]);
  });

  it("that is cut off completes with what was said", () => {
    const told = [began(MESSAGE), ["item/agentMessage/delta", { itemId: "m1", delta: "half" }]] as const;
    expect(endingOf(told, { kind: "interrupted" })).toEqual([
      { type: "itemCompleted", item: { kind: "agentMessage", id: "m1", texts: ["half"] } },
      { type: "turnAborted", reason: "interrupted" },
    ]);
  });

  it("is what the turn answers with", () => {
    const told = [done({ ...MESSAGE, text: "first" }), done({ ...MESSAGE, id: "m2", text: "last" })];
    expect(endingOf(told, { kind: "completed" })).toEqual([{ type: "turnCompleted", lastMessage: "last" }]);
  });
});

it("an answer that the user cuts short with another message ends before that message, as far as it had come", () => {
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

it("the user's message is its parts together", () => {
  const item = {
    type: "userMessage",
    id: "u1",
    content: [
      { type: "text", text: "look at " },
      { type: "image", url: "data:" },
      { type: "text", text: "this" },
    ],
  };
  const shown = { kind: "userMessage", id: "u1", text: "look at this" };
  expect(shownAs([began(item), done(item)])).toEqual([
    { type: "itemStarted", item: shown },
    { type: "itemCompleted", item: shown },
  ]);
});

describe("reasoning", () => {
  const TOLD = [
    began(THOUGHT),
    ["item/reasoning/summaryPartAdded", { itemId: "r1", summaryIndex: 0 }],
    ["item/reasoning/summaryTextDelta", { itemId: "r1", summaryIndex: 0, delta: "hm" }],
    ["item/reasoning/textDelta", { itemId: "r1", contentIndex: 0, delta: "raw" }],
  ] as const;
  const COMPLETE = done({ ...THOUGHT, summary: ["hm"], content: ["raw"] });

  it("shows its summary, and its raw text only where that is wanted", () => {
    expect(shownAs([...TOLD, COMPLETE])).toEqual([
      { type: "itemStarted", item: { kind: "reasoning", id: "r1", summary: [], rawContent: [] } },
      { type: "reasoningSectionBreak", itemId: "r1", summaryIndex: 0 },
      { type: "reasoningDelta", itemId: "r1", summaryIndex: 0, delta: "hm" },
      { type: "itemCompleted", item: { kind: "reasoning", id: "r1", summary: ["hm"], rawContent: [] } },
    ]);
    expect(shownAs([...TOLD, COMPLETE], { settings: { showRawAgentReasoning: true } }).slice(3)).toEqual([
      { type: "rawReasoningDelta", itemId: "r1", contentIndex: 0, delta: "raw" },
      { type: "itemCompleted", item: { kind: "reasoning", id: "r1", summary: ["hm"], rawContent: ["raw"] } },
    ]);
  });

  it("that is cut off completes with what was thought", () => {
    const more = ["item/reasoning/summaryTextDelta", { itemId: "r1", summaryIndex: 9, delta: "so" }] as const;
    expect(endingOf([...TOLD, more], { kind: "failed", message: "gone" })).toEqual([
      { type: "itemCompleted", item: { kind: "reasoning", id: "r1", summary: ["hm", "so"], rawContent: [] } },
      { type: "turnFailed", message: "gone", info: "other" },
    ]);
  });
});

it("a web search is told in the words of 0.92.0", () => {
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
