import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { rpc, toolCall } from "../support/http/httpClient.js";
import { startHttpServer } from "../support/http/httpServer.js";
import { OtlpCollector } from "../support/http/otlpCollector.js";
import { valueAt } from "../support/scenarios/scenario.js";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const FROM_HEADER = { traceparent: `00-${TRACE}-b7ad6b7169203331-01` };
const FROM_META = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` };
const SECRET = "sk-proj-do-not-tell-anybody";

it("refused requests are counted by reason, and threads in memory are reported", async () => {
  await using server = await startHttpServer({ config: "[mcp_server.http]\nturns_per_session = 1\nturn_queue = 1\n" });
  expect((await server.ask({ headers: { origin: "http://elsewhere.example" }, message: rpc(1, "ping") })).status).toBe(403);
  const { session } = await server.ask({ message: rpc(2, "ping") });
  const own = { "mcp-session-id": session ?? "" };
  const calls = [3, 4, 5].map((id) => server.ask({ headers: own, message: toolCall(id, { prompt: "!slow 60 50\n!say done" }) }));
  expect((await Promise.all(calls)).map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 200, 429]);
  const metrics = (await (await fetch(`${server.origin}/metrics`)).text()).split("\n");
  expect(metrics).toEqual(
    expect.arrayContaining([
      'codex_mcp_http_requests_refused_total{reason="host, origin or scope"} 1',
      'codex_mcp_calls_refused_total{reason="busy"} 1',
      "codex_mcp_threads_loaded 2",
    ]),
  );
});

it("a call is recorded in the log, in /metrics and in a trace, without any secret", async () => {
  await using collector = await OtlpCollector.open();
  await using server = await startHttpServer({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, RUST_LOG: "debug" } });
  const prompt = `!shell echo ${SECRET}\n!say done`;
  const args = { prompt, "approval-policy": "never" };
  const { session, body } = await server.ask({ headers: FROM_HEADER, message: toolCall("first", args) });
  const own = { "mcp-session-id": session ?? "" };
  const reply = {
    ...toolCall("second", { prompt: "!say again", threadId: valueAt(body, "result.structuredContent.threadId") }, "codex-reply"),
  };
  const params = { ...(reply["params"] as Record<string, unknown>), _meta: FROM_META };
  await server.ask({ headers: { ...own, ...FROM_HEADER }, message: { ...reply, params } });
  await server.ask({ headers: own, message: rpc(3, "ping") });
  const metrics = await (await fetch(`${server.origin}/metrics`)).text();
  server.running.process.kill("SIGTERM");
  expect(await server.running.exit()).toEqual({ code: 0, signal: null });

  const counts = metrics.split("\n");
  expect(counts).toEqual(
    expect.arrayContaining([
      'codex_mcp_turns_ended_total{outcome="completed"} 2',
      'codex_mcp_calls_total{tool="codex",outcome="ok"} 1',
      'codex_mcp_calls_total{tool="codex-reply",outcome="ok"} 1',
      'codex_mcp_commands_ended_total{outcome="succeeded"} 1',
      "codex_mcp_turns_running 0",
      "codex_mcp_turns_queued 0",
    ]),
  );

  const names = new Map(collector.spans.map(({ spanId, name }) => [spanId, name]));
  const tree = collector.spans.map(({ name, traceId, parentSpanId = "" }) => ({
    name,
    traceId,
    within: names.get(parentSpanId) ?? parentSpanId,
  }));
  const span = (name: string, within: string) => ({ name, traceId: TRACE, within });
  expect(tree.sort(byName)).toEqual(
    [
      span("tools/call codex", "b7ad6b7169203331"),
      span("turn", "tools/call codex"),
      span("model call", "turn"),
      span("command", "turn"),
      span("model call", "turn"),
      span("tools/call codex-reply", "00f067aa0ba902b7"),
      span("turn", "tools/call codex-reply"),
      span("model call", "turn"),
    ].sort(byName),
  );

  const log = readFileSync(path.join(server.running.stage.codexHome, "log", "codex-mcp-server.log"), "utf8");
  const lines = log
    .split("\n")
    .slice(0, -1)
    .map((line): Record<string, unknown> => JSON.parse(line));
  const told = lines.filter(({ request_id }) => request_id === "first" || request_id === "second");
  expect(told.map(({ message, session_id, request_id }) => [request_id, message, session_id === session].join(" "))).toEqual(
    expect.arrayContaining([
      "first turn started true",
      "first command started true",
      "first command ended true",
      "first turn ended true",
      "second turn started true",
      "second turn ended true",
    ]),
  );
  expect(told.every(({ message, thread_id }) => message === "call ended" || typeof thread_id === "string")).toBe(true);
  expect([log, server.running.errorLines.join("\n"), metrics, JSON.stringify(collector.spans)].join("\n")).not.toContain(SECRET);
});

function byName(a: { readonly name: string; readonly within: string }, b: { readonly name: string; readonly within: string }): number {
  return `${a.name} ${a.within}`.localeCompare(`${b.name} ${b.within}`);
}
