import { readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { completed, interrupted, refused } from "../../../test/support/callResults.js";
import { FORMS, resultIn, StatelessClient } from "../../../test/support/clients/statelessClient.js";
import { MemoryTelemetry } from "../../../test/support/memory/memoryTelemetry.js";
import { valueAt } from "../../../test/support/scenarios/scenario.js";
import { tempHome } from "../../../test/support/threads/rollouts.js";
import { MemoryApprovalDesk } from "../../approvals/desk.js";
import { newThreadId, turnIdOf } from "../../lib/ids.js";
import { VERSION } from "../../lib/version.js";
import { Turn } from "../../threads/turn.js";
import { EVENTS_EXTENSION } from "./request.js";

const SERVER = { "io.modelcontextprotocol/serverInfo": { name: "codex-mcp-server", title: "Codex", version: VERSION } };
const APPROVED = { action: "accept", content: { decision: "approved" } };
const ASKING = { prompt: "!shell touch made.txt", "approval-policy": "untrusted", sandbox: "workspace-write" };
const ASKING_TWICE = { ...ASKING, prompt: "!both touch a.txt || touch b.txt\n!-\n!say finished" };

function threadIn(answer: unknown): string {
  return String(valueAt(answer, "result.structuredContent.threadId"));
}

/** The result with the fields that this era adds. */
function complete(result: unknown): unknown {
  const { _meta, ...rest } = result as { _meta: object };
  return { ...rest, resultType: "complete", _meta: { ..._meta, ...SERVER } };
}

async function asked(client: StatelessClient, args: Readonly<Record<string, unknown>>, principal?: string) {
  const result = resultIn(await client.call(args, principal === undefined ? {} : { principal }));
  expect(result["resultType"]).toBe("input_required");
  return { requestState: result["requestState"], requests: result["inputRequests"] as Readonly<Record<string, unknown>> };
}

describe("a call", () => {
  it("whose turn has no questions gets the turn's result", async () => {
    await using client = new StatelessClient();
    const answer = await client.call({ prompt: "!say hello" });
    expect(resultIn(answer)).toEqual(complete(completed(threadIn(answer), "hello")));
    expect(client.told).toEqual([]);
  });

  it.each([
    ["of a tool that does not exist", { name: "grep", arguments: {} }, -32602],
    ["without a name", { arguments: {} }, -32602],
    ["with answers that are no object", { name: "codex", arguments: {}, inputResponses: null }, -32602],
  ])("%s is an error", async (_, params, code) => {
    await using client = new StatelessClient();
    expect(await client.ask("tools/call", params)).toMatchObject({ error: { code } });
  });

  it("with wrong arguments has a result that says so", async () => {
    await using client = new StatelessClient();
    const answer = await client.call({});
    const why = "Failed to parse configuration for Codex tool: missing field `prompt`";
    const _meta = { ...SERVER, "codex-mcpd/error": "invalid_arguments" };
    expect(resultIn(answer)).toEqual({ ...(refused(why) as object), resultType: "complete", _meta });
  });

  it("sends progress with growing numbers on request, and nothing after the result", async () => {
    await using client = new StatelessClient();
    await client.call({ prompt: "!plan look|answer\n!slow 3 5" }, { meta: { progressToken: "p" } });
    const toldBefore = client.told.length;
    await client.agent.open.settle();
    const progress = client.heard("notifications/progress");
    expect(progress.map(({ progressToken, progress: count }) => [progressToken, count])).toEqual(progress.map((_, at) => ["p", at + 1]));
    // An answer that takes longer than the delay is announced too.
    const messages = progress.map(({ message }) => message).filter((message) => message !== "Writing the answer");
    expect(messages).toEqual([expect.stringMatching(/^Thread [0-9a-f-]{36}: Thinking$/), "Plan: look"]);
    expect([toldBefore, client.told.length]).toEqual([progress.length, progress.length]);
  });

  it("gets log messages from the level that it names", async () => {
    await using client = new StatelessClient();
    const level = (logLevel: string) => ({ meta: { "io.modelcontextprotocol/logLevel": logLevel } });
    await client.call({ prompt: "!status 400 no" }, level("error"));
    const failures = client.heard("notifications/message");
    expect(failures.map((message) => message["level"])).toEqual(["error"]);
    await client.call({ prompt: "!say hi" }, level("info"));
    expect(client.heard("notifications/message").length).toBeGreaterThan(2);
    expect(await client.call({ prompt: "!say hi" }, level("loud"))).toMatchObject({ error: { code: -32602 } });
  });

  it("is shown Codex's events only if its client knows them", async () => {
    await using client = new StatelessClient();
    await client.call({ prompt: "!say hi" }, { capabilities: { extensions: { [EVENTS_EXTENSION]: {} } } });
    const types = client.heard("codex/event").map((event) => valueAt(event, "msg.type"));
    expect(types.at(0)).toBe("session_configured");
    expect(types.at(-1)).toBe("task_complete");
  });

  it("belongs to the trace that its client names", async () => {
    const telemetry = new MemoryTelemetry();
    await using client = new StatelessClient({ telemetry, action: async () => ({ content: [] }) });
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await client.call({}, { meta: { traceparent, tracestate: "a=1" } });
    await client.call({}, { meta: { traceparent: "nonsense" } });
    expect(telemetry.spans.map(({ within }) => within)).toEqual([traceparent, undefined]);
  });
});

describe("a call with a question", () => {
  it("gets the question as its result, and continues the same turn when it is repeated with the answer", async () => {
    await using client = new StatelessClient();
    const first = await client.call(ASKING, { id: 7 });
    expect(resultIn(first)).toEqual({
      resultType: "input_required",
      inputRequests: {
        "approval-1": {
          method: "elicitation/create",
          params: expect.objectContaining({
            mode: "form",
            message: expect.stringContaining("touch made.txt"),
            requestedSchema: expect.objectContaining({ required: ["decision"] }),
            codex_mcp_tool_call_id: "7",
          }),
        },
      },
      requestState: expect.stringMatching(/^v1\./),
      _meta: SERVER,
    });
    const asking = valueAt(first, "result.inputRequests.approval-1.params.threadId");
    const rest = { requestState: resultIn(first)["requestState"], inputResponses: { "approval-1": APPROVED } };
    const second = await client.call(ASKING, { id: 8, rest });
    expect(resultIn(second)).toMatchObject({
      resultType: "complete",
      structuredContent: { threadId: asking, content: "done" },
    });
    expect(made(client)).toEqual(["made.txt"]);
  });

  it("that is denied with a reason continues without the command", async () => {
    await using client = new StatelessClient();
    const { requestState } = await asked(client, ASKING);
    const inputResponses = { "approval-1": { action: "accept", content: { decision: "denied", reason: "not today" } } };
    const answer = await client.call(ASKING, { rest: { requestState, inputResponses } });
    expect(resultIn(answer)).toMatchObject({ resultType: "complete", structuredContent: { content: "done" } });
    expect(made(client)).toEqual([]);
  });

  it("gets the same questions again when it is repeated without answers, or with answers to others", async () => {
    await using client = new StatelessClient();
    const first = await asked(client, ASKING);
    for (const rest of [{}, { inputResponses: {} }, { inputResponses: { "approval-2": APPROVED, constructor: APPROVED } }]) {
      const again = resultIn(await client.call(ASKING, { rest: { ...rest, requestState: first.requestState } }));
      expect(again).toEqual({
        resultType: "input_required",
        inputRequests: first.requests,
        requestState: first.requestState,
        _meta: SERVER,
      });
    }
  });

  it("asks several questions together, each under its own key, and accepts answers one by one", async () => {
    await using client = new StatelessClient();
    const { requestState, requests } = await asked(client, ASKING_TWICE);
    const keys = Object.keys(requests);
    const rounds = [requests];
    for (const key of keys.slice(0, -1)) {
      const partly = await client.call(ASKING_TWICE, { rest: { requestState, inputResponses: { [key]: APPROVED } } });
      rounds.push(resultIn(partly)["inputRequests"] as typeof requests);
    }
    const open = Object.keys(rounds.at(-1) ?? {});
    const answer = await client.call(ASKING_TWICE, { rest: { requestState, inputResponses: { [String(open[0])]: APPROVED } } });
    const last = "result" in answer && answer.result["resultType"] === "input_required" ? await finish(client, answer.result) : answer;
    expect(resultIn(last)).toMatchObject({ structuredContent: { content: "finished" } });
    expect(made(client)).toEqual(["a.txt", "b.txt"]);
  });

  it("that its client declines at once is denied, but not by a person, and the client is not asked again", async () => {
    await using client = new StatelessClient();
    const args = { ...ASKING, prompt: "!shell touch one.txt\n!shell touch two.txt" };
    const { requestState } = await asked(client, args);
    const inputResponses = { "approval-1": { action: "cancel" } };
    const answer = await client.call(args, { rest: { requestState, inputResponses } });
    expect(resultIn(answer)).toMatchObject({ resultType: "complete", structuredContent: { content: "done" } });
    expect(made(client)).toEqual(["two.txt"]);
  });

  it("that its client declines at once is left to others under hold", async () => {
    await using client = new StatelessClient({ approvalFallback: "hold" });
    const { requestState } = await asked(client, ASKING);
    const rest = { requestState, inputResponses: { "approval-1": { action: "decline" } } };
    const running = await client.call(ASKING, { rest });
    const { agent } = client.agent.open;
    const ask = { caller: undefined, signal: new AbortController().signal };
    const [question] = await agent.questions(ask);
    expect(resultIn(running)).toMatchObject({ structuredContent: { status: "running", questions: [{ id: question?.id }] } });
    if (question) await agent.answer(ask, question.id, { kind: "approved", by: "tool" });
    const ended = await client.call({ threadId: threadIn(running) }, { tool: "codex-wait" });
    expect(resultIn(ended)).toMatchObject({ structuredContent: { content: "done" } });
    expect(made(client)).toEqual(["made.txt"]);
  });

  it("is decided once: a repeated answer finds the turn, and changes nothing in it", async () => {
    await using client = new StatelessClient();
    const args = { ...ASKING, prompt: "!shell touch one.txt\n!shell touch two.txt" };
    const { requestState } = await asked(client, args);
    const rest = { requestState, inputResponses: { "approval-1": APPROVED } };
    const second = resultIn(await client.call(args, { rest }));
    expect(Object.keys(second["inputRequests"] as object)).toEqual(["approval-2"]);
    const replayed = resultIn(await client.call(args, { rest }));
    expect(Object.keys(replayed["inputRequests"] as object)).toEqual(["approval-2"]);
    const denial = { "approval-2": { action: "accept", content: { decision: "denied" } } };
    const answer = await client.call(args, { rest: { requestState: replayed["requestState"], inputResponses: denial } });
    expect(resultIn(answer)).toMatchObject({ resultType: "complete", structuredContent: { content: "done" } });
    expect(made(client)).toEqual(["one.txt"]);
    expect(await client.call(args, { rest })).toEqual({
      error: { code: -32602, message: "the call that `requestState` belongs to is over" },
    });
  });

  it.each([
    ["another principal", { principal: "bob" }],
    ["other arguments", { args: { ...ASKING, prompt: "!shell touch other.txt" } }],
    ["another tool", { tool: "codex-reply" }],
    ["a state that is none", { state: "v1.AAAAAAAAAAA.e30.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }],
    ["a state that is no text", { state: 5 }],
  ])("is not answered by %s", async (_, { principal = "ada", args = ASKING, tool = "codex", state }: Attempt) => {
    await using client = new StatelessClient();
    const { requestState } = await asked(client, ASKING, "ada");
    const rest = { requestState: state ?? requestState, inputResponses: { "approval-1": APPROVED } };
    expect(await client.call(args, { principal, tool, rest })).toMatchObject({ error: { code: -32602 } });
    const open = resultIn(await client.call(ASKING, { principal: "ada", rest: { requestState } }));
    expect(Object.keys(open["inputRequests"] as object)).toEqual(["approval-1"]);
  });

  it("without an answer in time is denied, and its turn interrupted", async () => {
    using home = tempHome();
    writeFileSync(path.join(home.path, "config.toml"), "[mcp_server]\napproval_timeout_minutes = 0.02\n");
    await using client = new StatelessClient({ codexHome: home.path });
    const { requestState } = await asked(client, { ...ASKING, prompt: `${ASKING.prompt}\n!hang` });
    await client.agent.open.settle();
    const answer = await client.call({ ...ASKING, prompt: `${ASKING.prompt}\n!hang` }, { rest: { requestState } });
    expect(answer).toMatchObject({ error: { code: -32602, message: expect.stringContaining("expired") } });
  });

  it("is not sent to a client without support for questions: the fallback decides", async () => {
    await using client = new StatelessClient();
    const args = { prompt: "!escalate touch escaped.txt", "approval-policy": "on-request", sandbox: "read-only" };
    expect(resultIn(await client.call(args, { capabilities: {} }))).toMatchObject({
      resultType: "complete",
      structuredContent: { content: "done" },
    });
    expect(made(client)).toEqual([]);
  });

  it("is decided without its client if that returns without support for questions", async () => {
    await using client = new StatelessClient();
    const { requestState } = await asked(client, ASKING);
    const answer = await client.call(ASKING, { capabilities: {}, rest: { requestState } });
    expect(resultIn(answer)).toMatchObject({ resultType: "complete", structuredContent: { content: "done" } });
  });

  it("is not sent as a form to a client that supports only URLs", async () => {
    await using client = new StatelessClient();
    const answer = await client.call(ASKING, { capabilities: { elicitation: { url: {} } } });
    expect(resultIn(answer)).toMatchObject({ resultType: "complete" });
  });
});

describe("a client that goes away", () => {
  it("before the question ends the turn", async () => {
    await using client = new StatelessClient();
    const abort = new AbortController();
    const call = client.call({ prompt: "!hang" }, { signal: abort.signal, meta: { progressToken: 1 } });
    await client.until(() => client.heard("notifications/progress")[0]);
    abort.abort(new Error("gone"));
    const answer = await call;
    expect(resultIn(answer)).toEqual(complete(interrupted(threadIn(answer), "gone")));
    await client.agent.open.settle();
  });

  it("after the question ends nothing, even if it repeats the call and leaves again", async () => {
    await using client = new StatelessClient();
    const first = new AbortController();
    const answer = await client.call(ASKING, { signal: first.signal });
    first.abort(new Error("gone"));
    const { requestState } = resultIn(answer);
    const gone = AbortSignal.abort(new Error("gone"));
    expect(await client.call(ASKING, { signal: gone, rest: { requestState } })).toMatchObject({
      error: { message: "The call was cancelled" },
    });
    const rest = { requestState, inputResponses: { "approval-1": APPROVED } };
    expect(resultIn(await client.call(ASKING, { rest }))).toMatchObject({ structuredContent: { content: "done" } });
  });

  it("after its answer ends the turn", async () => {
    await using client = new StatelessClient();
    const args = { ...ASKING, prompt: `${ASKING.prompt}\n!hang` };
    const { requestState } = await asked(client, args);
    const abort = new AbortController();
    const rest = { requestState, inputResponses: { "approval-1": APPROVED } };
    const call = client.call(args, { signal: abort.signal, rest, meta: { progressToken: 2 } });
    await client.until(() => client.heard("notifications/progress").find(({ progressToken }) => progressToken === 2));
    abort.abort(new Error("gone"));
    expect(resultIn(await call)).toMatchObject({ isError: true });
    await client.agent.open.settle();
  });
});

it("abandoned calls are limited, leave no turn behind beyond the limit, and delay no other principal", async () => {
  const turns: Turn[] = [];
  await using client = new StatelessClient({
    action: async () => {
      const turn = turnWithQuestion();
      turns.push(turn);
      return { turn };
    },
  });
  const answers = await Promise.all(Array.from({ length: 1_200 }, () => client.call({ prompt: "" }, { principal: "ada" })));
  const waiting = answers.filter((answer) => "result" in answer && answer.result["resultType"] === "input_required");
  const busy = answers.filter((answer) => "error" in answer && answer.error.code === -32000);
  expect([waiting.length, busy.length]).toEqual([1_024, 1_200 - 1_024]);
  expect(turns.filter(({ ended }) => !ended)).toHaveLength(1_024);
  expect(resultIn(await client.call({ prompt: "" }, { principal: "bob" }))).toMatchObject({ resultType: "input_required" });
});

/** A turn that has not started and already waits for an answer. */
function turnWithQuestion(): Turn {
  const turn = new Turn(newThreadId(), turnIdOf("0"), { text: "" });
  const subject = { kind: "patch", callId: "1", changes: {}, staysInSandbox: true, needsPerson: false } as const;
  const { request } = new MemoryApprovalDesk().ask({ threadId: turn.threadId, turnId: turn.id, subject, signal: turn.signal });
  turn.publish([{ type: "approvalRequested", request }]);
  return turn;
}

function made({ agent }: StatelessClient): string[] {
  return readdirSync(agent.folder)
    .filter((name) => name.endsWith(".txt"))
    .sort();
}

interface Attempt {
  readonly principal?: string;
  readonly args?: Readonly<Record<string, unknown>>;
  readonly tool?: string;
  readonly state?: unknown;
}

/** Approves all remaining questions. */
async function finish(client: StatelessClient, { requestState, inputRequests }: Readonly<Record<string, unknown>>) {
  const inputResponses = Object.fromEntries(Object.keys(inputRequests as object).map((key) => [key, APPROVED]));
  return client.call(ASKING_TWICE, { capabilities: FORMS, rest: { requestState, inputResponses } });
}
