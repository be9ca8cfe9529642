import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { memoryWires } from "../../../test/support/memory/memoryWires.js";
import { OwnToolsStage } from "../../../test/support/memory/ownToolsStage.js";
import type { Agent } from "../../agent/agent.js";
import { type ApprovalDesk, MemoryApprovalDesk } from "../../approvals/desk.js";
import type { ApprovalFallback } from "../../approvals/fallback.js";
import type { ApprovalDecision, ApprovalSubject } from "../../approvals/model.js";
import { JsonRpcPeer } from "../../jsonrpc/peer.js";
import type { Wire } from "../../jsonrpc/wire.js";
import { newThreadId, turnIdOf } from "../../lib/ids.js";
import { type ClientInfo, UNKNOWN_CLIENT } from "../clientProfiles.js";
import type { ResultStyle } from "../wording/callResult.js";
import { ElicitationChannel } from "./callTurn.js";

/** An agent that decides in the usual way whether a client is asked. */
function agentWith(desk: ApprovalDesk, approvalFallback: ApprovalFallback): Agent {
  return new OwnToolsStage({ desk, approvalFallback }).agent;
}

type Message = Readonly<Record<string, unknown>>;

interface DoorstepOptions {
  readonly canElicit?: boolean;
  readonly fallback?: ApprovalFallback;
  readonly results?: ResultStyle;
  readonly client?: ClientInfo;
}

/** The questions of a turn, the elicitation channel, and its client. */
class ChannelStage implements AsyncDisposable {
  readonly desk = new MemoryApprovalDesk();
  readonly channel: ElicitationChannel;
  readonly #peer: JsonRpcPeer;
  readonly #client: Wire;
  readonly #arrivals: AsyncIterator<unknown>;
  readonly #running: Promise<void>;

  constructor({ canElicit = true, fallback = "deny", results = "extended", client }: DoorstepOptions = {}) {
    const [near, far] = memoryWires();
    this.#client = far;
    this.#arrivals = far.incoming[Symbol.asyncIterator]();
    const role = { answer: () => Promise.resolve({}), notified: () => {}, unreadable: () => {}, failed: () => "it failed" };
    this.#peer = new JsonRpcPeer(near, role);
    this.#running = this.#peer.run(near.incoming);
    const signal = new AbortController().signal;
    const habits = { asksNobody: false };
    const call = {
      requestId: 7,
      signal,
      caller: undefined,
      progressToken: undefined,
      logLevel: () => undefined,
      peer: this.#peer,
      get canElicit() {
        return canElicit && !habits.asksNobody;
      },
      asksNobody: () => {
        habits.asksNobody = true;
      },
      client,
      reader: { client: UNKNOWN_CLIENT, takesStructured: true },
    };
    const presentation = { events: "all", progress: true, logMessages: "on-request", results, turnsOutliveCalls: true } as const;
    this.channel = new ElicitationChannel(call, { agent: agentWith(this.desk, fallback), emptyForms: false, presentation });
  }

  ask(callId: string, reach: Partial<Pick<ApprovalSubject, "staysInSandbox" | "needsPerson">> = {}): Promise<ApprovalDecision> {
    const subject: ApprovalSubject = { kind: "patch", callId, changes: {}, staysInSandbox: true, needsPerson: false, ...reach };
    const signal = new AbortController().signal;
    const { request, decision } = this.desk.ask({ threadId: newThreadId(), turnId: turnIdOf("0"), subject, signal });
    this.channel.take({ type: "approvalRequested", request });
    return decision.then((decided) => {
      this.channel.take({ type: "approvalDecided", id: request.id, decision: decided });
      return decided;
    });
  }

  /** The next message to the client. */
  async received(): Promise<Message> {
    const { value } = await this.#arrivals.next();
    return JSON.parse((value as { text: string }).text) as Message;
  }

  /** The next message to the client answers this request, so the server sent nothing else. */
  async receivedNothing(): Promise<void> {
    this.#peer.notify("marker", {});
    expect(await this.received()).toEqual({ jsonrpc: "2.0", method: "marker", params: {} });
  }

  answer(id: unknown, body: Message): void {
    this.#client.send(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#peer.close(new Error("over"));
    await this.#client.close();
    await this.#running;
  }
}

describe("a client that supports questions", () => {
  it("is asked, and its answer decides", async () => {
    await using stage = new ChannelStage();
    const decision = stage.ask("one");
    const question = await stage.received();
    expect(question).toMatchObject({ id: 0, method: "elicitation/create", params: { codex_call_id: "one", codex_mcp_tool_call_id: "7" } });
    stage.answer(0, { result: { decision: "denied", reason: "no" } });
    expect(await decision).toEqual({ kind: "denied", reason: "no", by: "elicitation" });
    await stage.receivedNothing();
  });

  it("may answer several questions in any order", async () => {
    await using stage = new ChannelStage();
    const decisions = ["one", "two", "three"].map((name) => stage.ask(name));
    const ids = [await stage.received(), await stage.received(), await stage.received()].map(({ id }) => id);
    stage.answer(ids[2], { result: { decision: "abort" } });
    expect(await decisions[2]).toEqual({ kind: "abort", by: "elicitation" });
    stage.answer(ids[0], { result: { decision: "approved" } });
    expect(await decisions[0]).toEqual({ kind: "approved", by: "elicitation" });
    stage.answer(ids[1], { result: { decision: "denied" } });
    expect(await decisions[1]).toEqual({ kind: "denied", by: "elicitation" });
  });

  it("that answers with an error counts as a denial, and the reason says so", async () => {
    await using stage = new ChannelStage();
    const decision = stage.ask("one");
    await stage.received();
    stage.answer(0, { error: { code: -32_601, message: "never heard of it" } });
    expect(await decision).toEqual({
      kind: "denied",
      reason: "the client could not answer: never heard of it",
      failed: true,
      by: "elicitation",
    });
  });

  it("learns when the question was decided elsewhere, and its answer no longer counts", async () => {
    await using stage = new ChannelStage();
    const decision = stage.ask("one");
    await stage.received();
    const [request] = await stage.desk.pending();
    if (request) await stage.desk.answer(request.id, { kind: "approved" });
    expect(await decision).toEqual({ kind: "approved" });
    expect(await stage.received()).toEqual({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 0 } });
    stage.answer(0, { result: { decision: "abort" } });
    await stage.receivedNothing();
  });

  it("learns when the turn has ended, and its answer decides nothing", async () => {
    await using stage = new ChannelStage();
    void stage.ask("one");
    await stage.received();
    await stage.channel.close();
    expect(await stage.received()).toEqual({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 0 } });
    stage.answer(0, { result: { decision: "approved" } });
    await stage.receivedNothing();
    expect(await stage.desk.pending()).toHaveLength(1);
  });
});

describe("a client that answers before a person can have read the question", () => {
  const BY_ITSELF = { kind: "denied", reason: "the client declined by itself, and nobody was asked", by: "client" };

  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Asks, and answers after this time. */
  async function answered(stage: ChannelStage, result: Message, afterMs: number): Promise<Promise<ApprovalDecision>> {
    const decision = stage.ask("one");
    const { id } = await stage.received();
    vi.advanceTimersByTime(afterMs);
    stage.answer(id, { result });
    return decision;
  }

  it.for([
    [{ action: "cancel" }, 20, BY_ITSELF],
    [{ action: "decline" }, 249, BY_ITSELF],
    [{ action: "decline" }, 250, { kind: "denied", by: "elicitation" }],
    [{ action: "cancel" }, 250, { kind: "denied", dismissed: true, reason: "nobody answered", by: "elicitation" }],
    [{ action: "decline", content: { reason: "no" } }, 20, { kind: "denied", reason: "no", by: "elicitation" }],
    [{ decision: "abort" }, 20, { kind: "abort", by: "elicitation" }],
  ] as const)("%j after %i ms is %j", async ([result, afterMs, expected]) => {
    await using stage = new ChannelStage({ fallback: "auto-within-policy" });
    expect(await answered(stage, result, afterMs)).toEqual(expected);
  });

  it("is not asked again: the fallback decides further questions", async () => {
    await using stage = new ChannelStage({ fallback: "auto-within-policy" });
    expect(await answered(stage, { action: "cancel" }, 5)).toEqual(BY_ITSELF);
    expect(await stage.ask("two")).toEqual({ kind: "approved", by: "fallback" });
    expect(await stage.ask("three", { needsPerson: true })).toMatchObject({ kind: "denied", by: "fallback" });
    await stage.receivedNothing();
  });

  it("leaves this and further questions to other channels under `hold`", async () => {
    await using stage = new ChannelStage({ fallback: "hold" });
    void answered(stage, { action: "decline" }, 5);
    await expect.poll(() => stage.desk.pending()).toHaveLength(1);
    const next = stage.ask("two");
    const [first, second] = await stage.desk.pending();
    if (second) await stage.desk.answer(second.id, { kind: "approved", by: "tool" });
    expect([first?.subject.callId, await next]).toEqual(["one", { kind: "approved", by: "tool" }]);
  });

  it("is treated as a person's answer in the recorded style", async () => {
    await using stage = new ChannelStage({ results: "recorded" });
    expect(await answered(stage, { action: "cancel" }, 5)).toEqual({ kind: "denied", by: "elicitation" });
    expect(await answered(stage, { action: "decline" }, 5)).toEqual({ kind: "denied", by: "elicitation" });
  });
});

it("a client that cannot submit a form with fields gets one without, and the message says what the fields would", async () => {
  await using stage = new ChannelStage({ client: { name: "codex-mcp-client", version: "0.166.0" } });
  void stage.ask("one");
  expect(await stage.received()).toMatchObject({
    params: { message: expect.stringMatching(/\nIt runs inside the sandbox\.$/), requestedSchema: { properties: {} } },
  });
});

describe("a client without support for questions", () => {
  it.for([
    ["auto-within-policy", { staysInSandbox: true }, { kind: "approved" }],
    ["auto-within-policy", { staysInSandbox: false }, { kind: "denied", reason: expect.stringContaining("leave the sandbox") }],
    ["deny", { staysInSandbox: true }, { kind: "denied", reason: expect.stringContaining("nobody can be asked") }],
  ] as const)("leaves the decision to %s: with %j it is %j", async ([fallback, reach, decision]) => {
    await using stage = new ChannelStage({ canElicit: false, fallback });
    expect(await stage.ask("one", reach)).toEqual({ ...decision, by: "fallback" });
    await stage.receivedNothing();
  });

  it("leaves the question open for others under hold", async () => {
    await using stage = new ChannelStage({ canElicit: false, fallback: "hold" });
    const decision = stage.ask("one");
    await stage.receivedNothing();
    const [request] = await stage.desk.pending();
    if (request) await stage.desk.answer(request.id, { kind: "approved" });
    expect(await decision).toEqual({ kind: "approved" });
    await stage.receivedNothing();
  });

  it("is still asked under ask", async () => {
    await using stage = new ChannelStage({ canElicit: false, fallback: "ask" });
    const decision = stage.ask("one");
    expect(await stage.received()).toMatchObject({ method: "elicitation/create" });
    stage.answer(0, { result: { decision: "approved" } });
    expect(await decision).toEqual({ kind: "approved", by: "elicitation" });
  });
});
