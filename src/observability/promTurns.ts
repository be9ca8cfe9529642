import { BoundedLabel } from "./boundedLabel.js";
import { type Instruments, LONG } from "./instruments.js";
import type { Metrics } from "./metrics.js";

/** Different models that are told apart; a caller can name any. */
const MAX_MODELS = 24;

type TurnMetrics = Pick<Metrics, "turnQueued" | "turnStarted" | "turnEnded" | "approvalAsked" | "approvalSettled">;
type ModelMetrics = Pick<Metrics, "modelCallEnded" | "tokensUsed">;
type ToolMetrics = Pick<Metrics, "commandStarted" | "commandEnded" | "patchEnded" | "toolCallEnded">;

export function turnMetrics(make: Instruments): TurnMetrics {
  const queued = make.gauge("turns_queued", "Turns that wait for the one before them on their thread");
  const running = make.gauge("turns_running", "Turns that run");
  const ended = make.counter("turns_ended_total", "Turns by how they ended", ["outcome"]);
  const duration = make.histogram("turn_duration_seconds", "From a turn's start to its end", { buckets: LONG, labels: ["outcome"] });
  const pending = make.gauge("approvals_pending", "Questions that wait for an answer");
  const answered = make.counter("approvals_answered_total", "Questions by who decided and how", ["door", "decision"]);
  const wait = make.histogram("approval_wait_seconds", "From a question to its answer", { buckets: LONG, labels: ["door"] });
  const doors = new BoundedLabel(16);
  return {
    turnQueued: () => queued.inc(),
    turnStarted() {
      queued.dec();
      running.inc();
    },
    turnEnded({ outcome, ms }) {
      running.dec();
      ended.inc({ outcome });
      duration.observe({ outcome }, ms / 1_000);
    },
    approvalAsked: () => pending.inc(),
    approvalSettled({ door, decision, ms }) {
      pending.dec();
      answered.inc({ door: doors.of(door), decision });
      wait.observe({ door: doors.of(door) }, ms / 1_000);
    },
  };
}

export function modelMetrics(make: Instruments): ModelMetrics {
  const calls = make.counter("model_calls_total", "Requests to the model by how they ended", ["model", "outcome"]);
  const duration = make.histogram("model_call_seconds", "From a request to the model to the end of its answer", {
    buckets: LONG,
    labels: ["model"],
  });
  const firstToken = make.histogram("model_first_token_seconds", "From a request to the model to the first piece of its answer", {
    buckets: LONG,
    labels: ["model"],
  });
  const tokens = make.counter("tokens_total", "Tokens by kind; cached ones are input too, reasoning ones output", ["kind"]);
  const models = new BoundedLabel(MAX_MODELS);
  return {
    modelCallEnded({ model: name, outcome, ms, firstTokenMs }) {
      const model = models.of(name);
      calls.inc({ model, outcome });
      duration.observe({ model }, ms / 1_000);
      if (firstTokenMs !== undefined) firstToken.observe({ model }, firstTokenMs / 1_000);
    },
    tokensUsed({ input, cachedInput, output, reasoning }) {
      tokens.inc({ kind: "input" }, input);
      tokens.inc({ kind: "cached_input" }, cachedInput);
      tokens.inc({ kind: "output" }, output);
      tokens.inc({ kind: "reasoning" }, reasoning);
    },
  };
}

export function toolMetrics(make: Instruments): ToolMetrics {
  const running = make.gauge("commands_running", "Commands of turns that run");
  const commands = make.counter("commands_ended_total", "Commands by how they ended", ["outcome"]);
  const duration = make.histogram("command_duration_seconds", "From a command's start to its end", { buckets: LONG });
  const patches = make.counter("patches_total", "Patches by what became of them", ["outcome"]);
  const toolCalls = make.counter("agent_tool_calls_total", "Calls to the agent's own MCP servers", ["outcome"]);
  const toolDuration = make.histogram("agent_tool_call_seconds", "How long calls to the agent's own MCP servers took", { buckets: LONG });
  return {
    commandStarted: () => running.inc(),
    commandEnded({ outcome, ms }) {
      running.dec();
      commands.inc({ outcome });
      duration.observe(ms / 1_000);
    },
    patchEnded: ({ outcome }) => patches.inc({ outcome }),
    toolCallEnded({ outcome, ms }) {
      toolCalls.inc({ outcome });
      toolDuration.observe(ms / 1_000);
    },
  };
}
