import { expect, it } from "vitest";
import { createPrometheusMetrics } from "./prometheus.js";
import type { Metrics } from "./telemetry.js";

/** The samples of `/metrics`, without help, process metrics, buckets and zeros. */
async function numbersOf(metrics: Metrics): Promise<string[]> {
  const { text } = await metrics.render();
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#") && !line.endsWith(" 0"));
  return lines.filter((line) => !/^codex_mcp_(?:process|nodejs)_|_bucket\{/.test(line));
}

it("counts sessions and connections", async () => {
  const metrics = createPrometheusMetrics();
  metrics.sessionOpened({ transport: "http" });
  metrics.sessionOpened({ transport: "http" });
  metrics.sessionClosed({ transport: "http", reason: "idle" });
  metrics.messagesDropped(5);
  metrics.readerDisconnected({ reason: "queue full" });
  expect(await numbersOf(metrics)).toEqual([
    'codex_mcp_sessions_open{transport="http"} 1',
    'codex_mcp_sessions_opened_total{transport="http"} 2',
    'codex_mcp_sessions_closed_total{transport="http",reason="idle"} 1',
    "codex_mcp_messages_dropped_total 5",
    'codex_mcp_readers_disconnected_total{reason="queue full"} 1',
  ]);
});

it("counts turns, and approvals, commands and model calls in them", async () => {
  const metrics = createPrometheusMetrics();
  for (let count = 0; count < 3; count++) metrics.turnQueued();
  metrics.turnStarted();
  metrics.turnStarted();
  metrics.turnEnded({ outcome: "failed", ms: 1_500 });
  metrics.approvalAsked();
  metrics.approvalAsked();
  metrics.approvalSettled({ channel: "elicitation", decision: "approved", ms: 2_000 });
  metrics.modelCallEnded({ model: "m", outcome: "answered", ms: 3_000, firstTokenMs: 250 });
  metrics.modelCallEnded({ model: "m", outcome: "retried", ms: 1_000 });
  metrics.tokensUsed({ input: 10, cachedInput: 4, output: 3, reasoning: 1 });
  metrics.commandStarted();
  metrics.commandEnded({ outcome: "succeeded", ms: 100 });
  metrics.patchEnded({ outcome: "applied" });
  metrics.toolCallEnded({ outcome: "error", ms: 50 });
  expect(await numbersOf(metrics)).toEqual([
    "codex_mcp_turns_queued 1",
    "codex_mcp_turns_running 1",
    'codex_mcp_turns_ended_total{outcome="failed"} 1',
    'codex_mcp_turn_duration_seconds_sum{outcome="failed"} 1.5',
    'codex_mcp_turn_duration_seconds_count{outcome="failed"} 1',
    "codex_mcp_approvals_pending 1",
    'codex_mcp_approvals_answered_total{channel="elicitation",decision="approved"} 1',
    'codex_mcp_approval_wait_seconds_sum{channel="elicitation"} 2',
    'codex_mcp_approval_wait_seconds_count{channel="elicitation"} 1',
    'codex_mcp_model_calls_total{model="m",outcome="answered"} 1',
    'codex_mcp_model_calls_total{model="m",outcome="retried"} 1',
    'codex_mcp_model_call_seconds_sum{model="m"} 4',
    'codex_mcp_model_call_seconds_count{model="m"} 2',
    'codex_mcp_model_first_token_seconds_sum{model="m"} 0.25',
    'codex_mcp_model_first_token_seconds_count{model="m"} 1',
    'codex_mcp_tokens_total{kind="input"} 10',
    'codex_mcp_tokens_total{kind="cached_input"} 4',
    'codex_mcp_tokens_total{kind="output"} 3',
    'codex_mcp_tokens_total{kind="reasoning"} 1',
    'codex_mcp_commands_ended_total{outcome="succeeded"} 1',
    "codex_mcp_command_duration_seconds_sum 0.1",
    "codex_mcp_command_duration_seconds_count 1",
    'codex_mcp_patches_total{outcome="applied"} 1',
    'codex_mcp_agent_tool_calls_total{outcome="error"} 1',
    "codex_mcp_agent_tool_call_seconds_sum 0.05",
    "codex_mcp_agent_tool_call_seconds_count 1",
  ]);
});

it("counts requests and calls, and samples current values", async () => {
  const metrics = createPrometheusMetrics();
  metrics.httpRequestEnded({ route: "/mcp", method: "POST", status: 200, ms: 10 });
  metrics.httpRequestEnded({ route: "/mcp", method: "BREW", status: 405, ms: 10 });
  metrics.httpRequestRefused({ reason: "origin" });
  metrics.callEnded({ tool: "codex", outcome: "ok", ms: 500 });
  metrics.callRefused({ reason: "busy" });
  let lost = 1;
  metrics.sample({ logLinesLost: () => lost, callsWaiting: () => 3 });
  metrics.sample({ longestReaderQueue: () => 9 });
  lost = 2;
  expect((await numbersOf(metrics)).sort()).toEqual([
    'codex_mcp_call_duration_seconds_count{tool="codex"} 1',
    'codex_mcp_call_duration_seconds_sum{tool="codex"} 0.5',
    'codex_mcp_calls_refused_total{reason="busy"} 1',
    'codex_mcp_calls_total{tool="codex",outcome="ok"} 1',
    "codex_mcp_calls_waiting 3",
    'codex_mcp_http_request_duration_seconds_count{route="/mcp"} 2',
    'codex_mcp_http_request_duration_seconds_sum{route="/mcp"} 0.02',
    'codex_mcp_http_requests_refused_total{reason="origin"} 1',
    'codex_mcp_http_requests_total{route="/mcp",method="POST",status="200"} 1',
    'codex_mcp_http_requests_total{route="/mcp",method="other",status="405"} 1',
    "codex_mcp_log_lines_lost 2",
    "codex_mcp_reader_queue_max 9",
  ]);
});

it("every name has the prefix, the process included", async () => {
  const { text, contentType } = await createPrometheusMetrics().render();
  const names = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  expect(names.filter((line) => !line.startsWith("codex_mcp_"))).toEqual([]);
  expect(text).toContain("codex_mcp_process_resident_memory_bytes");
  expect(contentType).toMatch(/^text\/plain; version=0\.0\.4/);
});

it("invented names get labels of their own only up to a limit", async () => {
  const metrics = createPrometheusMetrics();
  for (let count = 0; count < 1_000; count++) metrics.modelCallEnded({ model: `made-up-${count}`, outcome: "failed", ms: 1 });
  const calls = (await numbersOf(metrics)).filter((line) => line.startsWith("codex_mcp_model_calls_total"));
  expect([calls.length, calls.at(-1)]).toEqual([25, 'codex_mcp_model_calls_total{model="other",outcome="failed"} 976']);
});

it("counts requests by route, method and status, and unknown methods together", async () => {
  const metrics = createPrometheusMetrics();
  metrics.httpRequestEnded({ route: "/mcp", method: "POST", status: 200, ms: 250 });
  metrics.httpRequestEnded({ route: "/mcp", method: "POST", status: 200, ms: 500 });
  for (const method of ["BREW", "MIX"]) metrics.httpRequestEnded({ route: "/mcp", method, status: 405, ms: 1_000 });
  expect(await numbersOf(metrics)).toEqual([
    'codex_mcp_http_requests_total{route="/mcp",method="POST",status="200"} 2',
    'codex_mcp_http_requests_total{route="/mcp",method="other",status="405"} 2',
    'codex_mcp_http_request_duration_seconds_sum{route="/mcp"} 2.75',
    'codex_mcp_http_request_duration_seconds_count{route="/mcp"} 4',
  ]);
  const { text } = await metrics.render();
  expect(text).toContain('codex_mcp_http_request_duration_seconds_bucket{le="0.5",route="/mcp"} 2\n');
});
