import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { CONTEXT, conversationWith, declaredPlanTool, drain, retrying } from "../../../test/support/clients/conversations.js";
import {
  accepted,
  assistant,
  call,
  calls,
  completed,
  done,
  type PlannedAnswer,
  PlannedModel,
  says,
  usageOf,
} from "../../../test/support/model/modelDouble.js";
import { turnContext, typesOf } from "../../../test/support/threads/turns.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { RawItem } from "../../threads/items.js";
import { isTurnEnd } from "../../threads/turn.js";
import { NO_RATE_LIMITS } from "../../threads/usage.js";

import type { Conversation } from "./conversation.js";
import { type ModelEvent, ModelFailure } from "./model/client.js";
import { message } from "./model/items.js";
import type { DeclaredTool } from "./tools/tool.js";
import { runTurn, sample } from "./turn.js";

const ABORTED = message("user", expect.stringMatching(/^<turn_aborted>\n.*\n<\/turn_aborted>$/s));
const ABORTED_CALL: string = expect.stringMatching(/^aborted by user after \d+\.\ds$/);
const PLAN = JSON.stringify({ plan: [{ step: "look", status: "in_progress" }] });

/** A tool that waits until it is stopped, as a long command would. */
const waitTool: DeclaredTool = {
  name: "wait",
  declaration: { type: "function", name: "wait" },
  async *run(_args, { signal }) {
    yield [{ type: "warning", message: "waiting" }];
    if (!signal.aborted) await once(signal, "abort");
    throw signal.reason;
  },
};

function output(callId: string, text: string, type = "function_call_output"): RawItem {
  return { type, call_id: callId, output: text };
}

async function play(conversation: Conversation, text = "go"): Promise<ThreadEvent[]> {
  const events: ThreadEvent[] = [];
  for await (const batch of runTurn(conversation, { text }, turnContext())) events.push(...batch);
  return events;
}

/** Plays a turn and stops it at the first event that matches. */
async function playUntil(conversation: Conversation, stopAt: (event: ThreadEvent) => boolean): Promise<ThreadEvent[]> {
  const abort = new AbortController();
  const events: ThreadEvent[] = [];
  for await (const batch of runTurn(conversation, { text: "go" }, turnContext(abort.signal))) {
    events.push(...batch);
    if (batch.some(stopAt)) abort.abort(new Error("stopped"));
  }
  return events;
}

/** The items that a turn added to the conversation, without ids. */
function added(conversation: Conversation): RawItem[] {
  return conversation.history.items().slice(CONTEXT.length);
}

function withoutId(raw: RawItem): unknown {
  const { id: _, ...item } = raw;
  return item;
}

describe("a turn", () => {
  it("consists of the user's message, the model's answer, and its end", async () => {
    const conversation = conversationWith(new PlannedModel(says("hello")), { settings: { contextWindow: 1000 } });
    const events = await play(conversation, "hi");
    const item = { kind: "userMessage", id: expect.stringMatching(/^[0-9a-f-]{36}$/), text: "hi" };
    expect(events.slice(0, 5)).toEqual([
      { type: "turnStarted", contextWindow: 950 },
      { type: "rawItem", item: message("user", "hi") },
      { type: "itemStarted", item },
      { type: "itemCompleted", item },
      { type: "turnContext", settings: conversation.settings, sandboxBackend: expect.stringMatching(/^(bubblewrap|seatbelt|none)$/) },
    ]);
    expect(typesOf(events.slice(5))).toEqual(["tokenCount", "itemStarted", "itemCompleted", "rawItem", "tokenCount", "turnCompleted"]);
    expect(events.at(-1)).toEqual({ type: "turnCompleted", lastMessage: "hello" });
  });

  it("continues until the model calls no more tools, and returns its last message", async () => {
    const model = new PlannedModel(
      [accepted, done(assistant("let me see")), done(call("update_plan", PLAN, "c1")), completed()],
      calls(call("update_plan", PLAN, "c2")),
      [accepted, completed()],
    );
    const conversation = conversationWith(model, { settings: { asRecorded: false } });
    const events = await play(conversation);
    expect(events.at(-1)).toEqual({ type: "turnCompleted", lastMessage: "let me see" });
    expect(typesOf(events).filter((type) => type === "planUpdated")).toHaveLength(2);
    expect(model.requests.map(({ input }) => input.slice(CONTEXT.length).map(({ type }) => type))).toEqual([
      ["message"],
      ["message", "message", "function_call", "function_call_output"],
      ["message", "message", "function_call", "function_call_output", "function_call", "function_call_output"],
    ]);
    expect(added(conversation)).toContainEqual(output("c1", "Plan updated"));
  });

  it("without any message ends without one, whatever the earlier turn said", async () => {
    const conversation = conversationWith(new PlannedModel(says("hello"), [accepted, completed()]));
    await play(conversation);
    expect((await play(conversation)).at(-1)).toEqual({ type: "turnCompleted", lastMessage: null });
  });

  it("carries out all calls of one answer, in order, after the answer", async () => {
    const model = new PlannedModel(
      calls(call("update_plan", PLAN, "c1"), call("nothing", "{}", "c2"), call("update_plan", "{", "c3")),
      says("ok"),
    );
    const conversation = conversationWith(model);
    await play(conversation);
    expect(added(conversation).slice(1, -1)).toEqual([
      withoutId(call("update_plan", PLAN, "c1")),
      withoutId(call("nothing", "{}", "c2")),
      withoutId(call("update_plan", "{", "c3")),
      output("c1", "Plan updated"),
      output("c2", "unsupported call: nothing"),
      output("c3", expect.stringMatching(/^failed to parse function arguments: /)),
    ]);
  });

  it.each<[RawItem, RawItem]>([
    [call("made_up", "not even json", "c"), output("c", "unsupported call: made_up")],
    [call("", "", "c"), output("c", "unsupported call: ")],
    [
      { type: "custom_tool_call", name: "apply_patch", input: "x", call_id: "c" },
      output("c", "unsupported custom tool call: apply_patch", "custom_tool_call_output"),
    ],
    [
      { type: "local_shell_call", call_id: "c", status: "completed", action: { type: "exec", command: ["ls"] } },
      output("c", "unsupported call: local_shell"),
    ],
  ])("tells the model that a tool does not exist, and continues: %j", async (made, answer) => {
    const model = new PlannedModel(calls(made), says("then not"));
    const events = await play(conversationWith(model));
    expect(model.requests[1]?.input.at(-1)).toEqual(answer);
    expect(events.at(-1)).toEqual({ type: "turnCompleted", lastMessage: "then not" });
  });

  it("as recorded: free text for a tool with arguments is dropped, and the model reads that it was aborted", async () => {
    const made: RawItem = { type: "custom_tool_call", name: "update_plan", input: '{"plan":[]}', call_id: "c" };
    const model = new PlannedModel(calls(made), says("then not"));
    const events = await play(conversationWith(model));
    const aborted = output("c", "aborted", "custom_tool_call_output");
    expect(model.requests[1]?.input.at(-1)).toEqual(aborted);
    expect(events.filter(({ type }) => ["planUpdated", "unseenItem"].includes(type))).toEqual([{ type: "unseenItem", item: aborted }]);
  });

  it("carries out a call although the rest of the answer is late", async () => {
    const waits = new AbortController();
    const cut = new ModelFailure("cut", { retry: "never" });
    const looks: DeclaredTool = {
      name: "look",
      declaration: { type: "function", name: "look" },
      async *run() {
        yield [{ type: "warning", message: "looking" }];
        waits.abort();
        return { output: "seen" };
      },
    };
    const model = new PlannedModel([accepted, done(call("look", "{}", "c1")), { until: waits.signal }, cut]);
    const conversation = conversationWith(model, { tools: [looks] });
    expect(typesOf(await play(conversation)).slice(-4)).toEqual(["rawItem", "warning", "unseenItem", "turnFailed"]);
    expect(added(conversation).at(-1)).toEqual(output("c1", "seen"));
  });
});

describe("a turn that fails", () => {
  it("says why, and the next one has the whole history", async () => {
    const model = new PlannedModel([new ModelFailure("no such model", { retry: "never" })], says("now"));
    const conversation = conversationWith(model);
    expect((await play(conversation, "one")).at(-1)).toEqual({ type: "turnFailed", message: "no such model", info: "other" });
    expect((await play(conversation, "two")).at(-1)).toEqual({ type: "turnCompleted", lastMessage: "now" });
    expect(model.requests[1]?.input.slice(CONTEXT.length)).toEqual([message("user", "one"), message("user", "two")]);
  });

  it("in the middle of an answer keeps what arrived whole", async () => {
    const model = new PlannedModel([accepted, done(assistant("half")), new ModelFailure("cut", { retry: "stream" })]);
    const conversation = conversationWith(model);
    await play(conversation);
    expect(added(conversation)).toEqual([message("user", "go"), withoutId(assistant("half"))]);
  });

  it("at a usage limit shows the limits first", async () => {
    const rateLimits = { primary: { used_percent: 100, window_minutes: 5, resets_at: 1 }, secondary: null, credits: null, plan_type: null };
    const failure = new ModelFailure("enough", { retry: "never", info: "usage_limit_exceeded", status: 429, rateLimits });
    const events = await play(conversationWith(new PlannedModel([failure])));
    expect(events.slice(-2)).toEqual([
      { type: "tokenCount", usage: null, rateLimits },
      { type: "turnFailed", message: "enough", info: "usage_limit_exceeded" },
    ]);
  });

  it("because the context window is full lets the next turn begin with a summary", async () => {
    const full = new ModelFailure("no room", { retry: "never", info: "context_window_exceeded" });
    const model = new PlannedModel([full], says("the gist"), says("room again"));
    const conversation = conversationWith(model, { settings: { contextWindow: 1000, asRecorded: false } });
    const failed = await play(conversation);
    expect(failed.slice(-2)).toEqual([
      {
        type: "tokenCount",
        usage: { total_token_usage: usageOf(0), last_token_usage: { ...usageOf(0), total_tokens: 950 }, model_context_window: 950 },
        rateLimits: { primary: null, secondary: null, credits: null, plan_type: null },
      },
      { type: "turnFailed", message: "no room", info: "context_window_exceeded" },
    ]);
    const events = await play(conversation, "again");
    expect(typesOf(events).filter((type) => type === "historyCompacted" || type === "turnStarted")).toEqual([
      "historyCompacted",
      "turnStarted",
    ]);
    expect(events.at(-1)).toEqual({ type: "turnCompleted", lastMessage: "room again" });
  });

  it("because the context window is full is counted as Codex 0.92.0 did, and still lets the next turn begin with a summary", async () => {
    const full = new ModelFailure("no room", { retry: "never", info: "context_window_exceeded" });
    const model = new PlannedModel(says("one", 100), [full], says("the gist"), says("room again"));
    const conversation = conversationWith(model, { settings: { contextWindow: 1000, asRecorded: true } });
    await play(conversation);
    expect((await play(conversation, "more")).findLast(({ type }) => type === "tokenCount")).toMatchObject({
      usage: {
        total_token_usage: { ...usageOf(0), total_tokens: 950 },
        last_token_usage: { ...usageOf(0), total_tokens: 850 },
        model_context_window: 950,
      },
    });
    expect(typesOf(await play(conversation, "again"))).toContain("historyCompacted");
  });
});

describe("a long conversation", () => {
  it("is summarised before a turn, and the turn then sees the summary and its own prompt", async () => {
    const model = new PlannedModel(says("one", 950), says("the gist", 950), says("two", 100));
    const conversation = conversationWith(model, { settings: { contextWindow: 1000 } });
    await play(conversation, "first");
    const events = await play(conversation, "second");
    expect(typesOf(events).slice(0, 6)).toEqual(["tokenCount", "tokenCount", "tokenCount", "historyCompacted", "warning", "turnStarted"]);
    expect(model.requests[2]?.input.slice(CONTEXT.length)).toEqual([
      message("user", "first"),
      message("user", expect.stringMatching(/\nthe gist$/)),
      message("user", "second"),
    ]);
  });

  it("is summarised in the middle of a turn, which continues", async () => {
    const model = new PlannedModel(
      [accepted, done(call("update_plan", PLAN, "c1")), completed(950)],
      says("looked", 990),
      says("done", 200),
    );
    const conversation = conversationWith(model, { settings: { contextWindow: 1000 } });
    const events = await play(conversation, "look");
    expect(events.at(-1)).toEqual({ type: "turnCompleted", lastMessage: "done" });
    expect(model.requests[2]?.input.slice(CONTEXT.length)).toEqual([
      message("user", "look"),
      message("user", expect.stringMatching(/\nlooked$/)),
    ]);
    expect(typesOf(events).filter((type) => type === "historyCompacted")).toHaveLength(1);
  });

  it("that cannot be summarised makes the turn fail with the reason, and works when it can", async () => {
    const model = new PlannedModel(
      says("one", 950),
      [new ModelFailure("model is down", { retry: "never" })],
      says("the gist", 1),
      says("two"),
    );
    const conversation = conversationWith(model, { settings: { contextWindow: 1000 } });
    await play(conversation, "first");
    expect(await play(conversation, "second")).toEqual([{ type: "turnFailed", message: "model is down", info: "other" }]);
    expect((await play(conversation, "third")).at(-1)).toEqual({ type: "turnCompleted", lastMessage: "two" });
  });
});

describe("a turn that is stopped", () => {
  const begun: RawItem = { type: "message", id: "m", role: "assistant", content: [] };
  const delta = { type: "textDelta", itemId: "m", delta: "x" } as const;

  it.each<[string, readonly PlannedAnswer[], (event: ThreadEvent) => boolean, readonly unknown[]]>([
    ["as it begins", [], ({ type }) => type === "turnStarted", []],
    ["when the model was asked", [[accepted, "silence"]], ({ type }) => type === "tokenCount", []],
    ["in a message", [[accepted, { type: "itemAdded", item: begun }, delta, "silence"]], ({ type }) => type === "messageDelta", []],
    [
      "after a message",
      [[accepted, done(assistant("said")), "silence"]],
      (event) => event.type === "itemCompleted" && event.item.kind === "agentMessage",
      [],
    ],
    [
      "when a whole call has come and the answer goes on",
      [[accepted, done(call("wait", "{}", "c1")), "silence"]],
      (event) => event.type === "rawItem" && event.item.type === "function_call",
      [output("c1", "aborted by user")],
    ],
    [
      "when the answer is complete and its calls are to be carried out",
      [calls(call("wait", "{}", "c1"), call("update_plan", PLAN, "c2"))],
      (event) => event.type === "tokenCount" && event.usage !== null,
      [output("c1", ABORTED_CALL), output("c2", ABORTED_CALL)],
    ],
    [
      "when a call is about to be carried out",
      [calls(call("update_plan", PLAN, "c1"))],
      (event) => event.type === "tokenCount" && event.usage !== null,
      [output("c1", ABORTED_CALL)],
    ],
    [
      "in a tool, with others waiting",
      [calls(call("update_plan", PLAN, "c1"), call("wait", "{}", "c2"), call("wait", "{}", "c3"))],
      ({ type }) => type === "warning",
      [output("c2", ABORTED_CALL), output("c3", ABORTED_CALL)],
    ],
    [
      "between a tool and the next answer",
      [calls(call("update_plan", PLAN, "c1"))],
      (event) => event.type === "rawItem" && event.item.type === "function_call_output",
      [],
    ],
    ["after its last answer", [says("all said")], (event) => event.type === "tokenCount" && event.usage !== null, []],
    [
      "while it waits to ask again",
      [[new ModelFailure("later", { retry: "request", retryAfterMs: 60_000 })]],
      ({ type }) => type === "modelRetry",
      [],
    ],
  ])("%s leaves every call with an output and a note, and the next turn works", async (_when, answers, stopAt, outputs) => {
    const model = new PlannedModel(...answers);
    const conversation = conversationWith(model, { tools: [waitTool, declaredPlanTool], settings: retrying(1) });
    const events = await playUntil(conversation, stopAt);
    expect(events.filter(isTurnEnd)).toEqual([{ type: "turnAborted", reason: "interrupted" }]);
    expect(events.at(-1)?.type).toBe("turnAborted");
    const tail = added(conversation).slice(-1 - outputs.length);
    expect(tail).toEqual([...outputs, ABORTED]);
    expect(events.slice(-2 - outputs.length, -1)).toEqual([
      ...outputs.map((item) => ({ type: "rawItem", item })),
      { type: "unseenItem", item: ABORTED },
    ]);

    model.plan(says("again"));
    expect((await play(conversation, "next")).at(-1)).toEqual({ type: "turnCompleted", lastMessage: "again" });
    expect(model.requests.at(-1)?.input.slice(-2)).toEqual([ABORTED, message("user", "next")]);
  });

  it("during a summary keeps the history it had", async () => {
    const model = new PlannedModel(says("one", 950), [accepted, "silence"]);
    const conversation = conversationWith(model, { settings: { contextWindow: 1000 } });
    await play(conversation, "first");
    const before = conversation.history.items();
    const events = await playUntil(conversation, ({ type }) => type === "tokenCount");
    expect(typesOf(events)).toEqual(["tokenCount", "unseenItem", "turnAborted"]);
    expect(conversation.history.items()).toEqual([...before, ABORTED]);
  });
});

describe("a turn that makes a summary", () => {
  const COMPACT = { text: "", work: { kind: "compact" } } as const;

  async function summarise(conversation: Conversation): Promise<ThreadEvent[]> {
    const events: ThreadEvent[] = [];
    for await (const batch of runTurn(conversation, COMPACT, turnContext())) events.push(...batch);
    return events;
  }

  it("replaces the history by it, whatever the size, and has no answer of its own", async () => {
    const conversation = conversationWith(new PlannedModel(says("hello"), says("the gist")));
    await play(conversation, "hi");
    const events = await summarise(conversation);
    expect(typesOf(events)).toEqual([
      "turnStarted",
      "tokenCount",
      "tokenCount",
      "tokenCount",
      "historyCompacted",
      "warning",
      "turnCompleted",
    ]);
    expect(events.at(-1)).toEqual({ type: "turnCompleted", lastMessage: null });
    expect(added(conversation)).toEqual([message("user", "hi"), message("user", expect.stringMatching(/\nthe gist$/))]);
  });

  it("fails without a request if there are no messages yet", async () => {
    const conversation = conversationWith(new PlannedModel());
    expect(await summarise(conversation)).toEqual([
      { type: "turnStarted", contextWindow: null },
      { type: "turnCompleted", lastMessage: "There is nothing to summarise: this thread has no messages yet." },
    ]);
    expect(conversation.history.items()).toEqual(CONTEXT);
  });

  it("leaves the history unchanged when it fails", async () => {
    const conversation = conversationWith(new PlannedModel(says("hello"), [new ModelFailure("down", { retry: "never" })]));
    await play(conversation, "hi");
    const before = conversation.history.items();
    expect((await summarise(conversation)).at(-1)).toEqual({ type: "turnFailed", message: "down", info: "other" });
    expect(conversation.history.items()).toEqual(before);
  });
});

const LIMITS = { ...NO_RATE_LIMITS, primary: { used_percent: 40, window_minutes: null, resets_at: null } };

/** A failure that is retried without a pause. */
function broken(retry: ModelFailure["retry"] = "stream"): ModelFailure {
  return new ModelFailure("it broke", { retry, retryAfterMs: 0 });
}

function tokens(total: number, last: number): ThreadEvent {
  const usage = { total_token_usage: usageOf(total), last_token_usage: usageOf(last), model_context_window: null };
  return { type: "tokenCount", usage, rateLimits: NO_RATE_LIMITS };
}

const NO_TOKENS: ThreadEvent = { type: "tokenCount", usage: null, rateLimits: NO_RATE_LIMITS };

const unending = turnContext();

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
      result: { calls: undefined, lastMessage: "hi you" },
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

  it("with reasoning streams its summary and its raw text, and repeats the raw text if configured", async () => {
    const shown = async (showRawAgentReasoning: boolean) =>
      (await drain(sample(conversationWith(new PlannedModel(THOUGHT), { settings: { showRawAgentReasoning } }), unending))).events.slice(
        1,
        -2,
      );
    const started = (rawShown: object) => ({
      type: "itemStarted",
      item: { kind: "reasoning", id: "r", summary: [], rawContent: [], ...rawShown },
    });
    const section = { type: "reasoningSectionBreak", itemId: "r", summaryIndex: 0 };
    const delta = { type: "reasoningDelta", itemId: "r", summaryIndex: 0, delta: "hm" };
    const raw = { type: "rawReasoningDelta", itemId: "r", contentIndex: 0, delta: "raw" };
    const complete = (rawShown: object) => ({
      type: "itemCompleted",
      item: { kind: "reasoning", id: "r", summary: ["hm"], rawContent: ["raw"], ...rawShown },
    });
    expect(await shown(false)).toEqual([started({}), section, delta, raw, complete({})]);
    expect(await shown(true)).toEqual([started({ rawShown: true }), section, delta, raw, complete({ rawShown: true })]);
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
    expect(result.calls?.waiting).toEqual([
      { callId: "c1", name: "f", args: "{}", outputType: "function_call_output" },
      { callId: "c2", name: "apply_patch", args: "patch", outputType: "custom_tool_call_output" },
    ]);
  });

  it("shows the beginning of items that a provider only sends whole, with or without ids", async () => {
    const { id: _, ...nameless } = assistant("x");
    const model = new PlannedModel([accepted, done(assistant("one", "a")), done(nameless), done(nameless), completed()]);
    const { events } = await drain(sample(conversationWith(model), unending));
    const oneItem = ["itemStarted", "itemCompleted", "rawItem"];
    expect(typesOf(events)).toEqual(["tokenCount", ...oneItem, ...oneItem, ...oneItem, "tokenCount"]);
  });

  it("names messages that come without ids, each by itself", async () => {
    const { id: _, ...nameless } = assistant("x");
    const delta: ModelEvent = { type: "textDelta", itemId: "", delta: "x" };
    const model = new PlannedModel([accepted, { type: "itemAdded", item: nameless }, delta, done(nameless), done(nameless), completed()]);
    const { events } = await drain(sample(conversationWith(model), unending));
    const ids = events.flatMap((event) => {
      if (event.type === "messageDelta") return [event.itemId];
      return event.type === "itemStarted" || event.type === "itemCompleted" ? [event.item.id] : [];
    });
    expect([ids.length, new Set(ids.slice(0, 3)).size, new Set(ids.slice(3)).size, new Set(ids).size]).toEqual([5, 1, 1, 2]);
  });

  it("keeps unknown items for the model exactly", async () => {
    const item = { type: "hologram", id: "h", layers: [{ z: null }] };
    const conversation = conversationWith(new PlannedModel([accepted, done(item), completed()]), { settings: { asRecorded: false } });
    const { events } = await drain(sample(conversation, unending));
    expect(events[1]).toEqual({ type: "rawItem", item });
    expect(conversation.history.items().at(-1)).toEqual(item);
  });

  it.each<[string, RawItem[], string | undefined]>([
    [
      "the last part of a message",
      [{ ...assistant("one"), content: ["one", "two"].map((text) => ({ type: "output_text", text })) }],
      "two",
    ],
    ["an empty message", [assistant("")], ""],
    ["no message", [], undefined],
  ])("as Codex 0.92.0 answers with %s", async (_, items, lastMessage) => {
    const conversation = conversationWith(new PlannedModel([accepted, ...items.map(done), completed()]));
    const answer = sample(conversation, unending);
    let next = await answer.next();
    while (!next.done) next = await answer.next();
    expect(next.value.lastMessage).toBe(lastMessage);
  });

  it("adds up the usage of answers, and remembers the provider's limits", async () => {
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

  it("without usage changes no count", async () => {
    const model = new PlannedModel([accepted, done(assistant("x")), { type: "completed", responseId: "", usage: undefined }]);
    expect((await drain(sample(conversationWith(model), unending))).events.at(-1)).toEqual(NO_TOKENS);
  });
});

describe("an answer that fails", () => {
  it("is requested again with the same conversation, each time with a notice", async () => {
    const model = new PlannedModel([broken("request")], [accepted, broken()], [accepted, broken()], says("at last"));
    const { events, result } = await drain(sample(conversationWith(model, { settings: retrying(2) }), unending));
    expect(events.filter(({ type }) => type === "modelRetry")).toEqual([
      { type: "modelRetry", attempt: 1, limit: 2, cause: "it broke", quiet: true },
      { type: "modelRetry", attempt: 1, limit: 2, cause: "it broke" },
      { type: "modelRetry", attempt: 2, limit: 2, cause: "it broke" },
    ]);
    expect(result.lastMessage).toBe("at last");
    expect(model.requests.map(({ input }) => input.length)).toEqual([2, 2, 2, 2]);
  });

  it("fails with the last error when the retries are used up", async () => {
    const failure = broken("request");
    const model = new PlannedModel([broken("request")], [broken("request")], [broken("request")], [failure]);
    await expect(drain(sample(conversationWith(model, { settings: retrying(1) }), unending))).rejects.toBe(failure);
  });

  it("fails at once if a retry would not help", async () => {
    const model = new PlannedModel([broken("never")]);
    await expect(drain(sample(conversationWith(model, { settings: retrying(5) }), unending))).rejects.toThrow("it broke");
    expect(model.requests.length).toBe(1);
  });

  it("after a complete call is a failure; later requests contain the call as aborted", async () => {
    const conversation = conversationWith(new PlannedModel([accepted, done(call("update_plan", PLAN, "c1")), broken()], says("and?")));
    const events = await play(conversation);
    expect(typesOf(events).slice(-4)).toEqual(["tokenCount", "rawItem", "unseenItem", "turnFailed"]);
    expect(added(conversation).at(-1)).toEqual(output("c1", "aborted"));
  });

  it("after a complete call is requested again with the same request, with a notice", async () => {
    const model = new PlannedModel([accepted, done(call("update_plan", PLAN, "c1")), broken()], says("at last"));
    const conversation = conversationWith(model, { settings: retrying(1) });
    const { events, result } = await drain(sample(conversation, unending));
    expect(typesOf(events)).toContain("modelRetry");
    expect(result).toEqual({ lastMessage: "at last", calls: undefined });
    expect(model.requests[1]?.input).toEqual(model.requests[0]?.input);
    expect(
      conversation.history
        .items()
        .map(({ type }) => type)
        .slice(-3),
    ).toEqual(["function_call", "function_call_output", "message"]);
  });

  it("reports the limit that caused it", async () => {
    const failure = new ModelFailure("enough", { retry: "never", rateLimits: LIMITS });
    const conversation = conversationWith(new PlannedModel([failure]));
    await expect(drain(sample(conversation, unending))).rejects.toBe(failure);
    expect(conversation.tokenCount()).toEqual({ type: "tokenCount", usage: null, rateLimits: LIMITS });
  });
});

describe("an answer that is no longer needed", () => {
  it("is not requested", async () => {
    const model = new PlannedModel();
    await expect(drain(sample(conversationWith(model), turnContext(AbortSignal.abort("stop"))))).rejects.toBe("stop");
    expect(model.requests).toEqual([]);
  });

  it("is not requested again", async () => {
    const abort = new AbortController();
    const failure = new ModelFailure("later", { retry: "request", retryAfterMs: 60_000 });
    const model = new PlannedModel([failure]);
    const running = sample(conversationWith(model, { settings: retrying(1) }), turnContext(abort.signal));
    expect((await running.next()).value).toEqual([{ type: "modelRetry", attempt: 1, limit: 1, cause: "later", quiet: true }]);
    const end = running.next();
    abort.abort();
    await expect(end).rejects.toThrow();
    expect(model.requests.length).toBe(1);
  });
});
