import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { completed } from "../../../test/support/callResults.js";
import { MemorySession, threadOf } from "../../../test/support/memory/memorySession.js";
import { valueAt } from "../../../test/support/scenarios/scenario.js";
import { ReceiptCollector } from "../../agent/receipt.js";
import { threadIdOf, turnIdOf } from "../../lib/ids.js";
import { type Deferred, deferred } from "../../lib/promises.js";
import type { ThreadEvent } from "../../threads/events.js";
import { Turn } from "../../threads/turn.js";
import { UNKNOWN_CLIENT } from "../clientProfiles.js";
import type { TurnCall } from "../tools/tools.js";
import type { Call } from "../wording/turnView.js";
import { followTurn } from "./callTurn.js";

/** A call without a client that can answer questions. */
function callOn(turn: Turn): TurnCall {
  const agent = {
    engineName: "scripted",
    mustAsk: () => false,
    decide: () => {},
    answeredByNobody: () => false,
    receiptOf: async () => new ReceiptCollector().receipt({ from: "patches", list: [] }),
  };
  const presentation = { events: "all", progress: true, logMessages: "on-request", results: "extended", turnsOutliveCalls: true } as const;
  return { turn, agent, presentation, emptyForms: false, resultTokens: 20_000 };
}

const THREAD = threadIdOf("01a1dd1a-6d22-73e1-88aa-ccf523ae5caa");
const META = { requestId: 7, threadId: THREAD };
const DONE: ThreadEvent = { type: "turnCompleted", lastMessage: "ok" };

/** One call attached to one turn, and the messages to its client. */
class Attachment {
  readonly turn = new Turn(THREAD, turnIdOf("7"), { text: "a secret prompt" });
  readonly sent: unknown[] = [];
  readonly #cancelled = new AbortController();
  /** While set, the client does not read fast enough. */
  congestion: Deferred<void> | undefined;
  readonly outcome: Promise<unknown>;

  constructor(options: Partial<Pick<Call, "progressToken" | "logLevel">> = {}) {
    this.turn.begin();
    const answer = followTurn(callOn(this.turn), {
      requestId: 7,
      signal: this.#cancelled.signal,
      caller: undefined,
      progressToken: undefined,
      logLevel: () => undefined,
      canElicit: false,
      reader: { client: UNKNOWN_CLIENT, takesStructured: true },
      ...options,
      peer: {
        notify: (method, params) => this.sent.push([method, params]),
        notifyText: (text) => this.sent.push(valueAt(JSON.parse(text), "params.msg.type")),
        congested: () => this.congestion?.promise,
        request: () => Promise.reject(new Error("not asked")),
      },
    });
    this.outcome = answer.then(({ structuredContent, content: [first] }) => ({
      status: structuredContent?.["status"],
      text: first?.text,
    }));
  }

  cancel(): void {
    this.#cancelled.abort(new Error("cancelled"));
  }

  /** Publishes events and waits until the call has shown them. */
  async publish(...events: ThreadEvent[]): Promise<void> {
    this.turn.publish(events);
    await vi.advanceTimersByTimeAsync(0);
  }
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a call attached to a turn", () => {
  it("shows its events and ends with its outcome; it sends other messages only on request", async () => {
    // Modules that are loaded with the first call set timers of their own.
    const first = new Attachment();
    await first.publish(DONE);
    await first.outcome;
    vi.clearAllTimers();
    const call = new Attachment();
    await call.publish({ type: "turnStarted", contextWindow: null }, { type: "messageDelta", itemId: "m", delta: "ok" });
    await call.publish(DONE);
    expect([await call.outcome, call.sent, vi.getTimerCount()]).toEqual([
      { status: "completed", text: "ok" },
      ["task_started", "agent_message_content_delta", "agent_message_delta", "task_complete"],
      0,
    ]);
  });

  it("shows what happened before it was attached", async () => {
    const turn = new Turn(THREAD, turnIdOf("7"), { text: "" });
    turn.publish([{ type: "warning", message: "early" }, DONE]);
    const sent: string[] = [];
    const peer = {
      notify: () => {},
      notifyText: (text: string) => sent.push(text),
      congested: () => undefined,
      request: () => Promise.reject(new Error("not asked")),
    };
    const signal = new AbortController().signal;
    await followTurn(callOn(turn), {
      requestId: 7,
      signal,
      caller: undefined,
      progressToken: undefined,
      logLevel: () => undefined,
      peer,
      canElicit: false,
      reader: { client: UNKNOWN_CLIENT, takesStructured: true },
    });
    expect(sent.map((text) => valueAt(JSON.parse(text), "params.msg.type"))).toEqual(["warning", "task_complete"]);
  });

  it("waits for a slow client, even within one batch of events; the turn does not wait", async () => {
    const call = new Attachment();
    call.congestion = deferred<void>();
    await call.publish({ type: "warning", message: "one" }, { type: "warning", message: "two" });
    await call.publish({ type: "historyCompacted", message: "", replacement: [] }, DONE);
    expect([call.sent, call.turn.ended]).toEqual([["warning"], true]);
    call.congestion.resolve();
    call.congestion = undefined;
    expect([await call.outcome, call.sent]).toEqual([
      { status: "completed", text: "ok" },
      ["warning", "warning", "context_compacted", "task_complete"],
    ]);
  });
});

describe("progress", () => {
  const progress = (count: number, message: string) => [
    "notifications/progress",
    { progressToken: "token", progress: count, message, _meta: META },
  ];

  it("is sent to a client that gave a token, with increasing numbers, until the end", async () => {
    const call = new Attachment({ progressToken: "token" });
    await vi.advanceTimersByTimeAsync(9_000);
    await call.publish({ type: "turnStarted", contextWindow: null });
    await vi.advanceTimersByTimeAsync(9_000);
    await call.publish(DONE);
    await call.outcome;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(call.sent).toEqual([
      progress(1, `Thread ${THREAD}: Waiting to start (9 s)`),
      "task_started",
      progress(2, "Thinking"),
      progress(3, "Thinking (18 s)"),
      "task_complete",
    ]);
  });

  it("stops when the call is cancelled, while the last events are still shown", async () => {
    const call = new Attachment({ progressToken: "token" });
    await call.publish({ type: "turnStarted", contextWindow: null });
    call.cancel();
    await vi.advanceTimersByTimeAsync(1_000);
    await call.publish({ type: "turnAborted", reason: "interrupted" });
    await call.outcome;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(call.sent).toEqual(["task_started", progress(1, `Thread ${THREAD}: Thinking`), "turn_aborted"]);
  });
});

describe("log messages", () => {
  const line = (level: string, data: unknown) => ["notifications/message", { level, logger: "codex", data, _meta: META }];
  const STORY: ThreadEvent[] = [
    { type: "turnStarted", contextWindow: null },
    { type: "rawItem", item: { type: "message", role: "user", content: [{ type: "input_text", text: "a secret prompt" }] } },
    { type: "modelRetry", attempt: 1, limit: 2, cause: "cut" },
    { type: "turnFailed", message: "no model", info: "other" },
  ];
  const RETRY = { message: "asking the model again", attempt: 1, limit: 2, cause: "cut" };
  const FAILED = { message: "turn failed", cause: "no model" };

  it.for([
    [undefined, []],
    ["debug", [line("info", { message: "turn started", threadId: THREAD }), line("warning", RETRY), line("error", FAILED)]],
    ["warning", [line("warning", { ...RETRY, threadId: THREAD }), line("error", FAILED)]],
    ["error", [line("error", { ...FAILED, threadId: THREAD })]],
    ["critical", []],
  ] as const)("from the level %s on", async ([level, lines]) => {
    const call = new Attachment({ logLevel: () => level });
    await call.publish(...STORY);
    await call.outcome;
    const sent = call.sent.filter((entry) => Array.isArray(entry));
    expect(sent).toEqual(lines);
    expect(JSON.stringify(sent)).not.toContain("secret");
  });

  it("begin when the client asks for them, even in the middle of a turn, and end when the call is cancelled", async () => {
    let level: "info" | undefined;
    const call = new Attachment({ logLevel: () => level });
    await call.publish({ type: "turnStarted", contextWindow: null });
    level = "info";
    await call.publish({ type: "warning", message: "careful" });
    call.cancel();
    await call.publish({ type: "turnAborted", reason: "interrupted" });
    await call.outcome;
    expect(call.sent).toEqual(["task_started", "warning", line("warning", { message: "careful", threadId: THREAD }), "turn_aborted"]);
  });
});

describe("a cancelled call", () => {
  it("interrupts its turn, which ends even if its engine does not react", async () => {
    const call = new Attachment();
    await call.publish({ type: "turnStarted", contextWindow: null });
    call.cancel();
    expect(call.turn.signal.aborted).toBe(true);
    await vi.advanceTimersByTimeAsync(2_000);
    expect([await call.outcome, call.sent]).toEqual([
      { status: "interrupted", text: expect.stringContaining("interrupted") },
      ["task_started", "turn_aborted"],
    ]);
  });

  it("that was already answered has no effect", async () => {
    const call = new Attachment();
    await call.publish(DONE);
    await call.outcome;
    call.cancel();
    expect(call.turn.signal.aborted).toBe(false);
  });
});

describe("over a whole session, a cancelled call", () => {
  beforeEach(() => {
    vi.useRealTimers();
  });

  const cancel = (requestId: unknown) => ({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
  const start = (id: string | number, prompt: string) => ({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name: "codex", arguments: { prompt } },
  });
  const answersTo = (client: MemorySession, id: string | number) => client.received.filter((message) => message["id"] === id);

  it("gets its last event and no answer, and its thread can be used at once", async () => {
    await using client = new MemorySession();
    client.send(start(1, "!hang"));
    const { session_id: threadId } = await client.untilEvent("session_configured", 1);
    await client.untilEvent("token_count", 1);
    client.send(cancel(1));
    expect(await client.untilEvent("turn_aborted", 1)).toMatchObject({ type: "turn_aborted", reason: "interrupted" });
    expect(await client.call("codex-reply", { threadId, prompt: "!say on we go" })).toEqual(completed(String(threadId), "on we go"));
    expect(answersTo(client, 1)).toEqual([]);
  });

  it("is stopped although it was cancelled before its thread existed", async () => {
    await using client = new MemorySession();
    client.send(start(1, "!hang"), cancel(1));
    await client.request("ping");
    await client.session.peer.idle();
    expect([answersTo(client, 1), client.eventTypesOf(1).filter((type) => type === "task_complete")]).toEqual([[], []]);
  });

  it("is found only under its own id and type", async () => {
    await using client = new MemorySession();
    client.send(start(1, "!hang"), start("1", "!say ok"));
    await client.untilEvent("token_count", 1);
    client.send(cancel("1"), cancel(2), cancel(1.5));
    await client.request("ping");
    expect(client.eventTypesOf(1)).not.toContain("turn_aborted");
    client.send(cancel(1));
    await client.untilEvent("turn_aborted", 1);
  });

  it("does not affect other calls", async () => {
    await using client = new MemorySession();
    client.send(start(1, "!hang"), start(2, "!slow 20 1"));
    await Promise.all([client.untilEvent("token_count", 1), client.untilEvent("agent_message_delta", 2)]);
    client.send(cancel(1));
    const result = (await client.answerTo(2))["result"];
    expect(result).toEqual(completed(threadOf(result), Array.from({ length: 20 }, (_, index) => `w${index} `).join("")));
    expect(answersTo(client, 1)).toEqual([]);
  });

  it("that waits behind another turn ends at once, and the other turn continues", async () => {
    await using client = new MemorySession();
    client.send(start(1, "!hang"));
    const { session_id: threadId } = await client.untilEvent("session_configured", 1);
    const reply = { name: "codex-reply", arguments: { threadId, prompt: "!say never" } };
    client.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: reply });
    await client.request("ping");
    client.send(cancel(2));
    await client.untilEvent("turn_aborted", 2);
    expect([client.eventTypesOf(2), client.eventTypesOf(1).includes("turn_aborted")]).toEqual([["turn_aborted"], false]);
    client.send(cancel(1));
    await client.untilEvent("turn_aborted", 1);
    expect([answersTo(client, 1), answersTo(client, 2)]).toEqual([[], []]);
  });
});

describe("over a whole session", () => {
  beforeEach(() => {
    vi.useRealTimers();
  });

  it("progress and log messages name the call and its thread, and contain no text of the conversation", async () => {
    await using client = new MemorySession();
    await client.request("logging/setLevel", { level: "info" });
    const params = { name: "codex", arguments: { prompt: "!say a secret" }, _meta: { progressToken: 5 } };
    const threadId = threadOf((await client.request("tools/call", params, 9))["result"]);
    const _meta = { requestId: 9, threadId };
    expect(client.notified("notifications/progress")).toEqual([
      { progressToken: 5, progress: 1, message: `Thread ${threadId}: Thinking`, _meta },
    ]);
    expect(client.notified("notifications/message")).toEqual([
      { level: "info", logger: "codex", data: { message: "turn started", threadId }, _meta },
      { level: "info", logger: "codex", data: { message: "item started", kind: "agentMessage" }, _meta },
      { level: "info", logger: "codex", data: { message: "turn completed" }, _meta },
    ]);
  });

  it("messages of the set codex-original do not name the thread, as recorded", async () => {
    await using client = new MemorySession({ sets: ["codex-original"] });
    await client.request("logging/setLevel", { level: "info" });
    await client.request("tools/call", { name: "codex", arguments: { prompt: "!say ok" }, _meta: { progressToken: 5 } }, 9);
    expect(client.notified("notifications/progress")).toMatchObject([{ message: "Thinking" }]);
    expect(client.notified("notifications/message")[0]).toMatchObject({ data: { message: "turn started" } });
    expect(client.notified("notifications/message").map((line) => valueAt(line, "data.threadId"))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("no such message is sent to a client that did not request it", async () => {
    await using client = new MemorySession();
    await client.call("codex", { prompt: "!say ok" });
    expect([client.notified("notifications/progress"), client.notified("notifications/message")]).toEqual([[], []]);
  });
});
