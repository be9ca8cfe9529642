import { describe, expect, it } from "vitest";
import { conversationWith, drain, retrying } from "../../../test/support/conversations.js";
import { accepted, assistant, call, completed, done, PlannedModel, says, usageOf } from "../../../test/support/modelDouble.js";
import { typesOf } from "../../../test/support/turns.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { RawItem } from "../../threads/items.js";
import { NO_RATE_LIMITS } from "../../threads/usage.js";
import { type ModelEvent, ModelFailure } from "./model/client.js";
import { sample } from "./sample.js";

const LIMITS = { ...NO_RATE_LIMITS, primary: { used_percent: 40, window_minutes: null, resets_at: null } };

/** A failure that is asked again without waiting. */
function broken(retry: ModelFailure["retry"] = "stream"): ModelFailure {
  return new ModelFailure("it broke", { retry, retryAfterMs: 0 });
}

function tokens(total: number, last: number): ThreadEvent {
  const usage = { total_token_usage: usageOf(total), last_token_usage: usageOf(last), model_context_window: null };
  return { type: "tokenCount", usage, rateLimits: NO_RATE_LIMITS };
}

const NO_TOKENS: ThreadEvent = { type: "tokenCount", usage: null, rateLimits: NO_RATE_LIMITS };

const unending = new AbortController().signal;

describe("one answer of the model", () => {
  it("with text begins, grows and completes, between two counts of tokens", async () => {
    const begun = { type: "message", id: "m", role: "assistant", content: [] };
    const whole = assistant("hi you", "m");
    const conversation = conversationWith(
      new PlannedModel([
        accepted,
        { type: "itemAdded", item: begun },
        { type: "textDelta", itemId: "m", delta: "hi " },
        { type: "textDelta", itemId: "m", delta: "you" },
        done(whole),
        completed(15),
      ]),
    );
    expect(await drain(sample(conversation, unending))).toEqual({
      events: [
        NO_TOKENS,
        { type: "itemStarted", item: { kind: "agentMessage", id: "m", texts: [] } },
        { type: "messageDelta", itemId: "m", delta: "hi " },
        { type: "messageDelta", itemId: "m", delta: "you" },
        { type: "itemCompleted", item: { kind: "agentMessage", id: "m", texts: ["hi you"] } },
        { type: "rawItem", item: whole },
        tokens(15, 15),
      ],
      result: { calls: [], lastMessage: "hi you" },
    });
    expect(conversation.history.items().at(-1)).toEqual({ type: "message", role: "assistant", content: whole["content"] });
  });

  const THOUGHT: readonly ModelEvent[] = [
    accepted,
    { type: "itemAdded", item: { type: "reasoning", id: "r", summary: [] } },
    { type: "summaryPartAdded", itemId: "r", summaryIndex: 0 },
    { type: "summaryDelta", itemId: "r", summaryIndex: 0, delta: "hm" },
    { type: "reasoningTextDelta", itemId: "r", contentIndex: 0, delta: "raw" },
    done({
      type: "reasoning",
      id: "r",
      summary: [{ type: "summary_text", text: "hm" }],
      content: [{ type: "reasoning_text", text: "raw" }],
    }),
    completed(),
  ];

  it("with reasoning shows its summary, and its raw text only where that is wanted", async () => {
    const shown = async (showRawAgentReasoning: boolean) =>
      (await drain(sample(conversationWith(new PlannedModel(THOUGHT), { settings: { showRawAgentReasoning } }), unending))).events.slice(
        1,
        -2,
      );
    const started = { type: "itemStarted", item: { kind: "reasoning", id: "r", summary: [], rawContent: [] } };
    const section = { type: "reasoningSectionBreak", itemId: "r", summaryIndex: 0 };
    const delta = { type: "reasoningDelta", itemId: "r", summaryIndex: 0, delta: "hm" };
    const complete = (rawContent: string[]) => ({
      type: "itemCompleted",
      item: { kind: "reasoning", id: "r", summary: ["hm"], rawContent },
    });
    expect(await shown(false)).toEqual([started, section, delta, complete([])]);
    const raw = { type: "rawReasoningDelta", itemId: "r", contentIndex: 0, delta: "raw" };
    expect(await shown(true)).toEqual([started, section, delta, raw, complete(["raw"])]);
  });

  it("with calls gives them in order, and shows only their raw items", async () => {
    const custom: RawItem = { type: "custom_tool_call", id: "ct", name: "apply_patch", input: "patch", call_id: "c2" };
    const model = new PlannedModel([
      accepted,
      { type: "itemAdded", item: call("f", "") },
      done(call("f", "{}", "c1")),
      done(custom),
      completed(),
    ]);
    const { events, result } = await drain(sample(conversationWith(model), unending));
    expect(typesOf(events)).toEqual(["tokenCount", "rawItem", "rawItem", "tokenCount"]);
    expect(result).toEqual({
      calls: [
        { callId: "c1", name: "f", args: "{}", outputType: "function_call_output" },
        { callId: "c2", name: "apply_patch", args: "patch", outputType: "custom_tool_call_output" },
      ],
      lastMessage: undefined,
    });
  });

  it("shows the beginning of items that a provider only sends whole, with or without ids", async () => {
    const { id: _, ...nameless } = assistant("x");
    const model = new PlannedModel([accepted, done(assistant("one", "a")), done(nameless), done(nameless), completed()]);
    const { events } = await drain(sample(conversationWith(model), unending));
    const once = ["itemStarted", "itemCompleted", "rawItem"];
    expect(typesOf(events)).toEqual(["tokenCount", ...once, ...once, ...once, "tokenCount"]);
  });

  it("keeps unknown items for the model exactly", async () => {
    const item = { type: "hologram", id: "h", layers: [{ z: null }] };
    const conversation = conversationWith(new PlannedModel([accepted, done(item), completed()]));
    const { events } = await drain(sample(conversation, unending));
    expect(events[1]).toEqual({ type: "rawItem", item });
    expect(conversation.history.items().at(-1)).toEqual(item);
  });

  it("adds up what answers cost, and remembers the provider's limits", async () => {
    const limited: ModelEvent = { type: "accepted", rateLimits: LIMITS };
    const model = new PlannedModel(says("one", 10), [limited, done(assistant("two")), completed(20)]);
    const conversation = conversationWith(model, { settings: { contextWindow: 1000 } });
    await drain(sample(conversation, unending));
    const { events } = await drain(sample(conversation, unending));
    expect([events[0], events.at(-1)]).toEqual([
      {
        type: "tokenCount",
        usage: { total_token_usage: usageOf(10), last_token_usage: usageOf(10), model_context_window: 950 },
        rateLimits: LIMITS,
      },
      {
        type: "tokenCount",
        usage: { total_token_usage: usageOf(30), last_token_usage: usageOf(20), model_context_window: 950 },
        rateLimits: LIMITS,
      },
    ]);
  });

  it("that does not tell its cost changes no count", async () => {
    const model = new PlannedModel([accepted, done(assistant("x")), { type: "completed", responseId: "", usage: undefined }]);
    expect((await drain(sample(conversationWith(model), unending))).events.at(-1)).toEqual(NO_TOKENS);
  });
});

describe("an answer that fails", () => {
  it("is asked for again, each time announced, with the conversation as it is", async () => {
    const model = new PlannedModel([broken("request")], [accepted, broken()], [accepted, broken()], says("at last"));
    const { events, result } = await drain(sample(conversationWith(model, { settings: retrying(2) }), unending));
    expect(events.filter(({ type }) => type === "modelRetry")).toEqual([
      { type: "modelRetry", attempt: 1, limit: 2, cause: "it broke" },
      { type: "modelRetry", attempt: 1, limit: 2, cause: "it broke" },
      { type: "modelRetry", attempt: 2, limit: 2, cause: "it broke" },
    ]);
    expect(result.lastMessage).toBe("at last");
    expect(model.requests.map(({ input }) => input.length)).toEqual([2, 2, 2, 2]);
  });

  it("is given up with its last failure when the retries are used up", async () => {
    const failure = broken("request");
    const model = new PlannedModel([broken("request")], [failure]);
    await expect(drain(sample(conversationWith(model, { settings: retrying(1) }), unending))).rejects.toBe(failure);
  });

  it("is given up at once where asking again would not help", async () => {
    const model = new PlannedModel([broken("never")]);
    await expect(drain(sample(conversationWith(model, { settings: retrying(5) }), unending))).rejects.toThrow("it broke");
    expect(model.requests.length).toBe(1);
  });

  it("after a whole call is good for that call", async () => {
    const model = new PlannedModel([accepted, done(call("f", "{}", "c1")), broken()]);
    const { events, result } = await drain(sample(conversationWith(model), unending));
    expect(result.calls.map(({ callId }) => callId)).toEqual(["c1"]);
    expect(typesOf(events)).toEqual(["tokenCount", "rawItem"]);
  });

  it("tells the limits that made it fail", async () => {
    const failure = new ModelFailure("enough", { retry: "never", rateLimits: LIMITS });
    const conversation = conversationWith(new PlannedModel([failure]));
    await expect(drain(sample(conversation, unending))).rejects.toBe(failure);
    expect(conversation.tokenCount()).toEqual({ type: "tokenCount", usage: null, rateLimits: LIMITS });
  });
});

describe("an answer nobody waits for any more", () => {
  it("is not asked for", async () => {
    const model = new PlannedModel();
    await expect(drain(sample(conversationWith(model), AbortSignal.abort("stop")))).rejects.toBe("stop");
    expect(model.requests).toEqual([]);
  });

  it("is not asked for again", async () => {
    const abort = new AbortController();
    const failure = new ModelFailure("later", { retry: "request", retryAfterMs: 60_000 });
    const model = new PlannedModel([failure]);
    const running = sample(conversationWith(model, { settings: retrying(1) }), abort.signal);
    expect((await running.next()).value).toEqual([{ type: "modelRetry", attempt: 1, limit: 1, cause: "later" }]);
    const end = running.next();
    abort.abort();
    await expect(end).rejects.toThrow();
    expect(model.requests.length).toBe(1);
  });
});
