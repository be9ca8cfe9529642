import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace-node";
import { describe } from "../lib/errors.js";
import type { Log } from "./log.js";

type ExportResult = Parameters<Parameters<SpanExporter["export"]>[1]>[0];

/** The same exporter; that spans stopped getting through is said once, and once that they do again. */
export function reportingExporter(exporter: SpanExporter, log: Log): SpanExporter {
  let failing = false;
  const note = ({ error }: ExportResult): void => {
    if (error && !failing) log.warn("traces cannot be exported", { cause: describe(error) });
    if (!error && failing) log.info("traces are exported again");
    failing = error !== undefined;
  };
  return {
    export(spans: ReadableSpan[], done: (result: ExportResult) => void) {
      exporter.export(spans, (result) => {
        note(result);
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}
