import { describe, expect, it } from "vitest";
import { CONTEXT, type ConversationOptions, conversationWith, drain, retrying } from "../../../test/support/clients/conversations.js";
import { accepted, assistant, call, completed, done, PlannedModel, says, usageOf } from "../../../test/support/model/modelDouble.js";
import { typesOf } from "../../../test/support/threads/turns.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { RawItem } from "../../threads/items.js";
import { compact } from "./compact.js";
import type { Conversation } from "./conversation.js";
import { ModelFailure } from "./model/client.js";
import { message } from "./model/items.js";

const SUMMARY = "Earlier parts of this conversation were replaced by the following summary of them:";
const unending = new AbortController().signal;

function overflow(): ModelFailure {
  return new ModelFailure("no room", { retry: "never", info: "context_window_exceeded" });
}

function sizedAt(total: number): ConversationOptions["usage"] {
  return { total_token_usage: usageOf(total), last_token_usage: usageOf(total), model_context_window: null };
}

/** The history after these items are replaced by a summary. */
async function replacedBy(items: readonly RawItem[], summary = "the gist"): Promise<RawItem[]> {
  const conversation = conversationWith(new PlannedModel(says(summary)), { items });
  await drain(compact(conversation, unending));
  return conversation.history.items();
}

function kept(items: readonly RawItem[]): unknown[] {
  return items.slice(CONTEXT.length, -1);
}

describe("a conversation needs a summary", () => {
  it.each([
    [899, false],
    [900, true],
    [5000, true],
  ])("at nine tenths of its window: %i of 1000 tokens", (size, needed) => {
    const conversation = conversationWith(new PlannedModel(), { settings: { contextWindow: 1000 }, usage: sizedAt(size) });
    expect(conversation.needsCompaction).toBe(needed);
  });

  it.each([
    [499, false],
    [500, true],
  ])("at the configured limit: %i of 500", (size, needed) => {
    const settings = { contextWindow: 100_000, autoCompactTokenLimit: 500 };
    expect(conversationWith(new PlannedModel(), { settings, usage: sizedAt(size) }).needsCompaction).toBe(needed);
  });

  it("never, if its window or its size is unknown", () => {
    expect(conversationWith(new PlannedModel(), { usage: sizedAt(10_000_000) }).needsCompaction).toBe(false);
    expect(conversationWith(new PlannedModel(), { settings: { contextWindow: 1000 } }).needsCompaction).toBe(false);
  });
});

describe("a summary", () => {
  it("replaces the history, after its beginning and the user's messages", async () => {
    const items = [
      ...CONTEXT,
      message("user", "first question"),
      assistant("first answer"),
      call("f", "{}", "c"),
      { type: "function_call_output", call_id: "c", output: "out" },
      message("user", "second question"),
    ];
    const conversation = conversationWith(new PlannedModel(says("the gist", 40)), { items, usage: sizedAt(100) });
    const { events } = await drain(compact(conversation, unending));
    const replacement = [
      ...CONTEXT,
      message("user", "first question"),
      message("user", "second question"),
      message("user", `${SUMMARY}\nthe gist`),
    ];
    expect(conversation.history.items()).toEqual(replacement);
    expect(typesOf(events)).toEqual(["tokenCount", "tokenCount", "tokenCount", "historyCompacted", "warning"]);
    expect(events[3]).toEqual({ type: "historyCompacted", message: "the gist", replacement });
  });

  it("is requested with the whole history, our prompt at its end, and no tools", async () => {
    const items = [...CONTEXT, message("user", "question"), assistant("answer")];
    const model = new PlannedModel(says("the gist"));
    await drain(compact(conversationWith(model, { items }), unending));
    const [request] = model.requests;
    expect(request?.tools).toEqual([]);
    expect(request?.input.slice(0, -1)).toEqual(conversationWith(model, { items }).history.items());
    expect(request?.input.at(-1)).toEqual(message("user", expect.stringMatching(/is about to be shortened/)));
  });

  it("is requested with the configured prompt", async () => {
    const model = new PlannedModel(says("the gist"));
    await drain(compact(conversationWith(model, { settings: { compactPrompt: "Be brief." } }), unending));
    expect(model.requests[0]?.input.at(-1)).toEqual(message("user", "Be brief."));
  });

  it("is counted, and leaves a conversation below the limit", async () => {
    const items = [...CONTEXT, message("user", "question"), assistant("x".repeat(100_000))];
    const settings = { contextWindow: 10_000 };
    const conversation = conversationWith(new PlannedModel(says("the gist", 25_000)), { items, settings, usage: sizedAt(25_000) });
    expect(conversation.needsCompaction).toBe(true);
    const { events } = await drain(compact(conversation, unending));
    expect(conversation.needsCompaction).toBe(false);
    const counted = events.filter((event): event is Extract<ThreadEvent, { type: "tokenCount" }> => event.type === "tokenCount").at(-1);
    expect(counted?.usage?.total_token_usage).toEqual(usageOf(50_000));
    expect(counted?.usage?.last_token_usage.total_tokens).toBeLessThan(200);
  });

  it("that is empty, or a call instead of text, is reported as missing", async () => {
    const missing = message("user", `${SUMMARY}\n(no summary available)`);
    expect((await replacedBy(CONTEXT, "")).at(-1)).toEqual(missing);
    const conversation = conversationWith(new PlannedModel([accepted, done(call("f", "{}")), completed()]));
    await drain(compact(conversation, unending));
    expect(conversation.history.items()).toEqual([...CONTEXT, missing]);
  });

  it("replaces an earlier one", async () => {
    const first = await replacedBy([...CONTEXT, message("user", "question")], "old gist");
    expect(await replacedBy(first, "new gist")).toEqual([...CONTEXT, message("user", "question"), message("user", `${SUMMARY}\nnew gist`)]);
  });
});

describe("the user's messages", () => {
  it("are kept without texts that were sent in the user's name", async () => {
    const synthetic = [
      "<environment_context>\n</environment_context>",
      "# AGENTS.md instructions for /repo\n\n<INSTRUCTIONS>",
      "<user_instructions>\n\nold\n\n</user_instructions>",
      "<turn_aborted>\nstopped\n</turn_aborted>",
      "<skill>\n</skill>",
      "<user_shell_command>\n</user_shell_command>",
    ];
    const items = [...CONTEXT, ...synthetic.map((text) => message("user", text)), message("user", "mine")];
    expect(kept(await replacedBy(items))).toEqual([message("user", "mine")]);
  });

  it("are kept as text: images are dropped, several parts become one", async () => {
    const shown = { type: "input_image", image_url: "data:," };
    const items: RawItem[] = [
      { type: "message", role: "user", content: [shown] },
      { type: "message", role: "user", content: [{ type: "input_text", text: "look" }, shown, { type: "input_text", text: "here" }] },
    ];
    expect(kept(await replacedBy(items))).toEqual([message("user", "look\nhere")]);
  });

  it("are kept up to 80,000 characters, newest first, the oldest of them cut", async () => {
    const items = [message("user", "gone"), message("user", `old ${"o".repeat(30_000)}`), message("user", "n".repeat(60_000))];
    expect(kept(await replacedBy(items))).toEqual([message("user", `old ${"o".repeat(19_996)}`), message("user", "n".repeat(60_000))]);
  });

  it("are kept up to half of a small window, so that there is room to continue", async () => {
    const items = [message("user", "gone"), message("user", "n".repeat(60_000))];
    const conversation = conversationWith(new PlannedModel(says("the gist")), { items, settings: { contextWindow: 10_000 } });
    await drain(compact(conversation, unending));
    expect(kept(conversation.history.items())).toEqual([message("user", "n".repeat(18_000))]);
    expect(conversation.needsCompaction).toBe(false);
  });

  it("is not cut inside a character", async () => {
    const items = [message("user", `a${"🎉".repeat(50_000)}`)];
    expect(kept(await replacedBy(items))).toEqual([message("user", `a${"🎉".repeat(39_999)}`)]);
  });

  it("that fills the limit exactly leaves no room for earlier messages", async () => {
    const items = [message("user", "gone"), message("user", "n".repeat(80_000))];
    expect(kept(await replacedBy(items))).toEqual([message("user", "n".repeat(80_000))]);
  });
});

describe("a summary that does not come", () => {
  it("that does not fit is requested again without the oldest item; a call goes together with its output", async () => {
    const items = [
      call("f", "{}", "c1"),
      message("user", "between"),
      { type: "function_call_output", call_id: "c1", output: "out" },
      message("user", "question"),
    ];
    const model = new PlannedModel([overflow()], [overflow()], says("the gist"));
    const conversation = conversationWith(model, { items, settings: { compactPrompt: "Sum up." } });
    await drain(compact(conversation, unending));
    expect(model.requests.map(({ input }) => input.length)).toEqual([5, 3, 2]);
    expect(model.requests.at(-1)?.input).toEqual([message("user", "question"), message("user", "Sum up.")]);
    expect(conversation.history.items().at(-1)).toEqual(message("user", `${SUMMARY}\nthe gist`));
  });

  it("for which not even one item fits is a failure", async () => {
    const failure = overflow();
    const model = new PlannedModel([overflow()], [failure]);
    const conversation = conversationWith(model, { items: CONTEXT });
    await expect(drain(compact(conversation, unending))).rejects.toBe(failure);
    expect(conversation.history.items()).toEqual(CONTEXT);
  });

  it("that fails at the provider is requested again, with a notice", async () => {
    const broken = new ModelFailure("it broke", { retry: "stream", retryAfterMs: 0 });
    const model = new PlannedModel([broken], [accepted, broken], says("the gist"));
    const { events } = await drain(compact(conversationWith(model, { settings: retrying(2) }), unending));
    expect(events.filter(({ type }) => type === "modelRetry")).toEqual([
      { type: "modelRetry", attempt: 1, limit: 2, cause: "it broke" },
      { type: "modelRetry", attempt: 2, limit: 2, cause: "it broke" },
    ]);
    expect(typesOf(events).at(-2)).toBe("historyCompacted");
  });

  it("leaves the history as it was", async () => {
    const failure = new ModelFailure("no", { retry: "never" });
    const items = [...CONTEXT, message("user", "question")];
    const conversation: Conversation = conversationWith(new PlannedModel([failure]), { items });
    await expect(drain(compact(conversation, unending))).rejects.toBe(failure);
    expect(conversation.history.items()).toEqual(items);
  });
});
