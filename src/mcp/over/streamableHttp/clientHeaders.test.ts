import { expect, it } from "vitest";
import { parseMessage } from "../../../jsonrpc/message.js";
import { withTraceHeaders } from "./clientHeaders.js";

const HEADERS = { traceparent: "00-a-b-01", tracestate: "v=1" };

function request(params?: unknown) {
  return parseMessage(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }));
}

it("a request belongs to the trace of the HTTP request that brought it", () => {
  expect(withTraceHeaders(request({ name: "codex", _meta: { progressToken: 5 } }), HEADERS)).toEqual(
    request({ name: "codex", _meta: { progressToken: 5, ...HEADERS } }),
  );
  expect(withTraceHeaders(request(), { traceparent: "00-a-b-01" })).toEqual(request({ _meta: { traceparent: "00-a-b-01" } }));
});

it("every request of a batch belongs to it too, and nothing else in the batch", () => {
  const said = '[{"jsonrpc":"2.0","id":1,"method":"ping","params":{}},{"jsonrpc":"2.0","method":"notifications/x","params":{}}]';
  const expected = said.replace('"params":{}', `"params":{"_meta":${JSON.stringify(HEADERS)}}`);
  expect(withTraceHeaders(parseMessage(said), HEADERS)).toEqual(parseMessage(expected));
});

it.for([
  ["the request names a trace itself", request({ _meta: { traceparent: "00-c-d-00" } }), HEADERS],
  ["there is no trace", request({}), {}],
  ["its params are no object", request([1]), HEADERS],
  ["its `_meta` is no object", request({ _meta: "x" }), HEADERS],
] as const)("the message is not changed if %s", ([, said, headers]) => {
  expect(withTraceHeaders(said, headers)).toEqual(said);
});
