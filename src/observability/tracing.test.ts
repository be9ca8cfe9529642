import { expect, it } from "vitest";
import { readTraceContext } from "./telemetry.js";

const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

it.for([
  ["nothing is named", undefined, undefined],
  ["`_meta` is no object", { _meta: [PARENT] }, undefined],
  ["it is named", { _meta: { traceparent: PARENT } }, { traceparent: PARENT }],
  ["its state is there too", { _meta: { traceparent: PARENT, tracestate: "a=1" } }, { traceparent: PARENT, tracestate: "a=1" }],
  ["its state is too long", { _meta: { traceparent: PARENT, tracestate: "a".repeat(600) } }, { traceparent: PARENT }],
  ["its name is nonsense", { _meta: { traceparent: "x" } }, undefined],
  ["it is no text", { _meta: { traceparent: [PARENT] } }, undefined],
  ["its ids are zero", { _meta: { traceparent: `00-${"0".repeat(32)}-b7ad6b7169203331-01` } }, undefined],
  ["its version is forbidden", { _meta: { traceparent: PARENT.replace("00-", "ff-") } }, undefined],
  ["it is in capitals", { _meta: { traceparent: PARENT.toUpperCase() } }, undefined],
] as const)("the trace of a call when %s", ([, params, expected]) => {
  expect(readTraceContext(params)).toEqual(expected);
});
