import { describe, expect, it } from "vitest";
import { MemoryTelemetry } from "../../../test/support/memory/memoryTelemetry.js";
import { message, settingsIn } from "../../../test/support/threads/rollouts.js";
import type { ApprovalId, ApprovalRequest } from "../../approvals/model.js";
import { threadIdOf, turnIdOf } from "../../lib/ids.js";
import type { ThreadEvent } from "../../threads/events.js";
import { Turn } from "../../threads/turn.js";
import type { RateLimits, TokenUsageInfo } from "../../threads/usage.js";
import { turnWatch } from "./turnWatch.js";

const THREAD = threadIdOf("t1");
const NO_RATES: RateLimits = { primary: null, secondary: null, credits: null, plan_type: null };
const COMMAND = { callId: "c1", command: ["rm", "-rf", "x"], cwd: "/w", parsed: [] };

const STARTED: ThreadEvent = { type: "turnStarted", contextWindow: null };
const ASKS_MODEL: ThreadEvent = { type: "turnContext", settings: settingsIn("/w", { model: "m" }) };
const DELTA: ThreadEvent = { type: "messageDelta", itemId: "i", delta: "hello" };
const COMPLETED: ThreadEvent = { type: "turnCompleted", lastMessage: "the answer" };
const CALLS_TOOL: ThreadEvent = { type: "rawItem", item: message("assistant", "a call") };

/** After the request was accepted, and after its answer was complete. */
function tokens(total: number): ThreadEvent {
  const sum = { input_tokens: 10, cached_input_tokens: 4, output_tokens: 3, reasoning_output_tokens: 1, total_tokens: total };
  const usage: TokenUsageInfo = { total_token_usage: sum, last_token_usage: { ...sum, total_tokens: 13 }, model_context_window: null };
  return { type: "tokenCount", usage: total === 0 ? null : usage, rateLimits: NO_RATES };
}

function question(id: string): ApprovalRequest {
  const subject = { kind: "patch", callId: `call ${id}`, changes: {}, staysInSandbox: true, needsPerson: false } as const;
  return { id: id as ApprovalId, threadId: THREAD, turnId: turnIdOf("0"), subject, deadline: 0 };
}

function commandEnded(exitCode: number): ThreadEvent {
  const output = { stdout: "", stderr: "", aggregatedOutput: "", formattedOutput: "" };
  return { type: "commandEnded", ...COMMAND, ...output, exitCode, durationMs: 5 };
}

/** A turn with a `TurnWatch`. */
function watched(options?: { readonly logsContent: boolean }) {
  const telemetry = new MemoryTelemetry(options);
  const origin = { log: telemetry.log.with({ session_id: "s1" }), trace: { traceparent: "the call" } };
  const turn = new Turn(THREAD, turnIdOf("0"), { text: "the prompt", watch: turnWatch(telemetry, origin) });
  return { telemetry, turn };
}

/** The telemetry of a turn with these events. */
function told(...events: readonly ThreadEvent[]): MemoryTelemetry {
  const { telemetry, turn } = watched();
  turn.begin();
  for (const event of events) turn.publish([event]);
  return telemetry;
}

const IDS = "session_id=s1 thread_id=t1 turn_id=0";

describe("a turn", () => {
  it("that runs a command and answers is in the log, the metrics and the traces", async () => {
    const telemetry = told(
      STARTED,
      { type: "rawItem", item: message("user", "the prompt") },
      ASKS_MODEL,
      tokens(0),
      CALLS_TOOL,
      tokens(13),
      { type: "commandStarted", ...COMMAND },
      commandEnded(1),
      { type: "rawItem", item: { type: "function_call_output" } },
      ASKS_MODEL,
      tokens(13),
      DELTA,
      DELTA,
      tokens(26),
      COMPLETED,
    );
    expect(telemetry.lines).toEqual([
      `info turn started ${IDS}`,
      `debug model call ended ${IDS} model=m outcome=answered tokens=13`,
      `info command started ${IDS} call_id=c1`,
      `debug command ${IDS} call_id=c1 command=rm -rf x`,
      `info command ended ${IDS} call_id=c1 exit_code=1`,
      `debug model call ended ${IDS} model=m outcome=answered tokens=13`,
      `info turn ended ${IDS} outcome=completed model=m`,
    ]);
    expect(await telemetry.counts()).toEqual([
      'turns_ended_total{outcome="completed"} 1',
      'model_calls_total{model="m",outcome="answered"} 2',
      'tokens_total{kind="input"} 20',
      'tokens_total{kind="cached_input"} 8',
      'tokens_total{kind="output"} 6',
      'tokens_total{kind="reasoning"} 2',
      'commands_ended_total{outcome="failed"} 1',
    ]);
    const model = {
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "m",
      "gen_ai.usage.input_tokens": 10,
      "gen_ai.usage.output_tokens": 3,
      "codex.outcome": "answered",
    };
    const ok = { failure: undefined, ended: true };
    expect(telemetry.spans).toEqual([
      {
        name: "turn",
        within: "the call",
        attributes: { "codex.thread_id": "t1", "codex.turn_id": "0", "codex.outcome": "completed", "gen_ai.request.model": "m" },
        ...ok,
      },
      { name: "model call", within: "turn", attributes: model, ...ok },
      {
        name: "command",
        within: "turn",
        attributes: { "codex.call_id": "c1", "process.exit.code": 1 },
        failure: "exit code 1",
        ended: true,
      },
      { name: "model call", within: "turn", attributes: model, ...ok },
    ]);
  });

  it("is counted in the metrics as queued, running and ended", async () => {
    const { telemetry, turn } = watched();
    expect(await telemetry.counts()).toEqual(["turns_queued 1"]);
    turn.begin();
    turn.publish([STARTED]);
    expect(await telemetry.counts()).toEqual(["turns_running 1"]);
    turn.publish([COMPLETED]);
    expect(await telemetry.counts()).toEqual(['turns_ended_total{outcome="completed"} 1']);
  });

  it("that is interrupted in the queue is not counted as started", async () => {
    const { telemetry, turn } = watched();
    turn.interrupt();
    expect(telemetry.lines).toEqual([`info turn ended ${IDS} outcome=interrupted model=unknown reason=interrupted`]);
    expect(await telemetry.counts()).toEqual(['turns_ended_total{outcome="interrupted"} 1']);
  });

  it("that fails after retries says so, with the cause", async () => {
    const telemetry = told(
      STARTED,
      ASKS_MODEL,
      { type: "modelRetry", attempt: 1, limit: 2, cause: "503" },
      { type: "turnFailed", message: "gave up", info: "other" },
    );
    expect(telemetry.lines.filter((line) => !line.startsWith("debug"))).toEqual([
      `info turn started ${IDS}`,
      `warn asking the model again ${IDS} attempt=1 limit=2 cause=503`,
      `error turn failed ${IDS} outcome=failed model=m cause=gave up`,
    ]);
    expect(await telemetry.counts()).toEqual([
      'turns_ended_total{outcome="failed"} 1',
      'model_calls_total{model="m",outcome="retried"} 1',
      'model_calls_total{model="m",outcome="failed"} 1',
    ]);
  });

  it("that is interrupted leaves no count or span open", async () => {
    const telemetry = told(
      STARTED,
      { type: "approvalRequested", request: question("q1") },
      { type: "commandStarted", ...COMMAND },
      { type: "mcpToolStarted", callId: "c2", invocation: { server: "s", tool: "t", arguments: {} } },
      { type: "turnAborted", reason: "interrupted" },
    );
    expect(telemetry.spans.map(({ name, failure, ended }) => ({ name, failure, ended }))).toEqual([
      { name: "turn", failure: "interrupted", ended: true },
      { name: "model call", failure: undefined, ended: true },
      { name: "command", failure: "interrupted", ended: true },
      { name: "tool call", failure: "interrupted", ended: true },
    ]);
    expect(await telemetry.counts()).toEqual([
      'turns_ended_total{outcome="interrupted"} 1',
      'approvals_answered_total{channel="withdrawal",decision="none"} 1',
      'model_calls_total{model="unknown",outcome="answered"} 1',
      'commands_ended_total{outcome="interrupted"} 1',
      'agent_tool_calls_total{outcome="interrupted"} 1',
    ]);
  });

  it("may leave a command running, which is counted once", async () => {
    const telemetry = told(STARTED, { type: "commandStarted", ...COMMAND }, COMPLETED);
    const later = new Turn(THREAD, turnIdOf("1"), { text: "", watch: turnWatch(telemetry, { log: telemetry.log, trace: undefined }) });
    later.begin();
    later.publish([STARTED, commandEnded(0), COMPLETED]);
    const commands = (await telemetry.counts()).filter((line) => line.startsWith("commands"));
    expect(commands).toEqual(['commands_ended_total{outcome="left_running"} 1']);
  });

  it("has its questions followed to their decider", async () => {
    const telemetry = told(
      STARTED,
      { type: "approvalRequested", request: question("q1") },
      { type: "approvalRequested", request: question("q2") },
      { type: "approvalDecided", id: question("q2").id, decision: { kind: "approved", by: "elicitation" } },
    );
    expect(telemetry.lines.slice(1)).toEqual([
      `info approval asked ${IDS} approval_id=q1 call_id=call q1 kind=patch`,
      `info approval asked ${IDS} approval_id=q2 call_id=call q2 kind=patch`,
      `info approval decided ${IDS} approval_id=q2 decision=approved channel=elicitation`,
    ]);
    expect(await telemetry.counts()).toEqual([
      "turns_running 1",
      "approvals_pending 1",
      'approvals_answered_total{channel="elicitation",decision="approved"} 1',
    ]);
  });

  it("distinguishes a question whose answer failed from a denied one", async () => {
    const failed = { kind: "denied", reason: "the client could not answer: no such method", failed: true, by: "elicitation" } as const;
    const telemetry = told(
      STARTED,
      { type: "approvalRequested", request: question("q1") },
      { type: "approvalRequested", request: question("q2") },
      { type: "approvalDecided", id: question("q1").id, decision: failed },
      { type: "approvalDecided", id: question("q2").id, decision: { kind: "denied", reason: "not today", by: "elicitation" } },
    );
    expect(telemetry.lines.slice(3)).toEqual([
      `warn approval failed ${IDS} approval_id=q1 channel=elicitation cause=the client could not answer: no such method`,
      `info approval decided ${IDS} approval_id=q2 decision=denied channel=elicitation`,
    ]);
    expect((await telemetry.counts()).filter((line) => line.startsWith("approvals_answered"))).toEqual([
      'approvals_answered_total{channel="elicitation",decision="failed"} 1',
      'approvals_answered_total{channel="elicitation",decision="denied"} 1',
    ]);
  });

  it("shows contents only to a log that is configured for them", () => {
    const { telemetry, turn } = watched({ logsContent: true });
    turn.begin();
    turn.publish([STARTED, COMPLETED]);
    expect(telemetry.lines.filter((line) => line.startsWith("info"))).toEqual([
      `info turn started ${IDS} prompt=the prompt`,
      `info turn ended ${IDS} outcome=completed model=unknown answer=the answer`,
    ]);
    expect(told(STARTED, COMPLETED).lines.join()).not.toMatch(/the prompt|the answer/);
  });

  it("continues when its observer fails", async () => {
    const { telemetry, turn } = watched();
    turn.begin();
    // An engine whose token counts are no numbers; the instruments reject them.
    const odd = { type: "tokenCount", usage: { total_token_usage: { total_tokens: 5 }, last_token_usage: { input_tokens: "five" } } };
    turn.publish([STARTED, DELTA, odd as unknown as ThreadEvent, COMPLETED]);
    expect(await turn.outcome).toEqual({ status: "completed", lastMessage: "the answer" });
    expect(telemetry.lines).toEqual([
      `info turn started ${IDS}`,
      expect.stringMatching(/^error turn watcher failed /),
      `info turn ended ${IDS} outcome=completed model=unknown`,
    ]);
  });
});

it("a model call ends when its tool starts, even if the engine counts tokens late", async () => {
  const telemetry = told(
    { type: "threadConfigured", threadId: THREAD, settings: settingsIn("/w", { model: "m" }), recordPath: undefined },
    STARTED,
    { type: "patchStarted", callId: "c1", autoApproved: true, changes: {} },
    { type: "patchEnded", callId: "c1", stdout: "", stderr: "", success: true, changes: {} },
    DELTA,
    tokens(13),
    COMPLETED,
  );
  expect(await telemetry.counts()).toEqual([
    'turns_ended_total{outcome="completed"} 1',
    'model_calls_total{model="m",outcome="answered"} 2',
    'tokens_total{kind="input"} 10',
    'tokens_total{kind="cached_input"} 4',
    'tokens_total{kind="output"} 3',
    'tokens_total{kind="reasoning"} 1',
    'patches_total{outcome="applied"} 1',
  ]);
});
