import { afterEach, expect, it, vi } from "vitest";
import { OtlpCollector } from "../../test/support/http/otlpCollector.js";
import { createLog, type LogLine, NO_LOG, readLogFilter } from "../observability/log.js";
import { openTracing, wantsTraces } from "./reporting.js";

const PARENT = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tracestate: "vendor=1" };

/** The exporter reads the environment of the process. */
function tracingTo(url: string, log = NO_LOG) {
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", url);
  return openTracing({ env: process.env, log });
}

afterEach(() => {
  vi.unstubAllEnvs();
});

it("spans reach the collector with their parents, times and attributes", async () => {
  await using collector = await OtlpCollector.open();
  const tracing = await tracingTo(collector.url);
  const call = tracing.startSpan("tools/call codex", {
    parent: PARENT,
    kind: "server",
    attributes: { "mcp.session.id": "s1", none: undefined },
  });
  const model = tracing.startSpan("model call", { parent: call.context, kind: "client", startedAt: 1_000 });
  model.set({ "gen_ai.usage.output_tokens": 7 });
  model.end("failed");
  call.end();
  await tracing.close();
  const [child, parent] = collector.spans;
  expect(child).toMatchObject({
    name: "model call",
    kind: 3,
    traceId: "0af7651916cd43dd8448eb211c80319c",
    parentSpanId: parent?.spanId,
    startTimeUnixNano: "1000000000",
    attributes: [{ key: "gen_ai.usage.output_tokens", value: { intValue: 7 } }],
    status: { code: 2, message: "failed" },
  });
  expect(parent).toMatchObject({
    name: "tools/call codex",
    kind: 2,
    traceId: "0af7651916cd43dd8448eb211c80319c",
    parentSpanId: "b7ad6b7169203331",
    traceState: "vendor=1",
    attributes: [{ key: "mcp.session.id", value: { stringValue: "s1" } }],
  });
  expect(JSON.stringify(collector.resources)).toContain('"codex-mcp-server"');
});

it("a call that belongs to no trace begins one", async () => {
  await using collector = await OtlpCollector.open();
  const tracing = await tracingTo(collector.url);
  const span = tracing.startSpan("turn");
  span.end();
  span.end();
  await tracing.close();
  expect(collector.spans.map(({ name, parentSpanId }) => ({ name, parentSpanId }))).toEqual([{ name: "turn", parentSpanId: undefined }]);
});

it("a trace that its sender does not sample is not sampled here either", async () => {
  await using collector = await OtlpCollector.open();
  const tracing = await tracingTo(collector.url);
  tracing.startSpan("turn", { parent: { traceparent: PARENT.traceparent.replace(/01$/, "00") } }).end();
  await tracing.close();
  expect(collector.spans).toEqual([]);
});

it("a collector that refuses is reported once, and closing ends in time", async () => {
  await using collector = await OtlpCollector.open();
  collector.status = 400;
  const lines: LogLine[] = [];
  const log = createLog({ sinks: [{ filter: readLogFilter({}, "info"), write: (line) => lines.push(line()) }], mask: (line) => line });
  const tracing = await tracingTo(collector.url, log);
  // More spans than one batch holds.
  for (let count = 0; count < 1_100; count++) tracing.startSpan("turn").end();
  await tracing.close();
  expect(lines.map(({ level, message }) => ({ level, message }))).toEqual([{ level: "warn", message: "traces cannot be exported" }]);
});

it.for([
  [{}, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://c" }, true],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://c/v1/traces" }, true],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://c", OTEL_SDK_DISABLED: "TRUE" }, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://c", OTEL_TRACES_EXPORTER: "none" }, false],
] as const)("with %j traces are wanted: %j", ([env, wanted]) => {
  expect(wantsTraces(env)).toBe(wanted);
});

it("without traces the caller's trace context is passed on", async () => {
  const tracing = await openTracing({ env: {}, log: NO_LOG });
  const span = tracing.startSpan("turn", { parent: PARENT });
  span.set({ a: 1 });
  span.end();
  await tracing.close();
  expect(span.context).toEqual(PARENT);
});
