import { expect, it } from "vitest";
import { RequestTally } from "./instruments.js";

it("counts requests by route, method and status, and how long they took in cumulative buckets", () => {
  const tally = new RequestTally();
  tally.note({ route: "/mcp", method: "POST", status: 200, ms: 0.5 });
  tally.note({ route: "/mcp", method: "POST", status: 200, ms: 7 });
  tally.note({ route: "/mcp", method: "BREW", status: 405, ms: 500_000 });
  expect(tally.text().split("\n")).toEqual([
    "# HELP codex_mcp_http_requests_total HTTP requests",
    "# TYPE codex_mcp_http_requests_total counter",
    'codex_mcp_http_requests_total{route="/mcp",method="POST",status="200"} 2',
    'codex_mcp_http_requests_total{route="/mcp",method="other",status="405"} 1',
    "",
    "# HELP codex_mcp_http_request_duration_seconds From a request's head to the end of its answer, streams included",
    "# TYPE codex_mcp_http_request_duration_seconds histogram",
    'codex_mcp_http_request_duration_seconds_bucket{le="0.001",route="/mcp"} 1',
    'codex_mcp_http_request_duration_seconds_bucket{le="0.005",route="/mcp"} 1',
    ...["0.01", "0.05", "0.1", "0.5", "1", "5", "30", "120"].map(
      (limit) => `codex_mcp_http_request_duration_seconds_bucket{le="${limit}",route="/mcp"} 2`,
    ),
    'codex_mcp_http_request_duration_seconds_bucket{le="+Inf",route="/mcp"} 3',
    'codex_mcp_http_request_duration_seconds_sum{route="/mcp"} 500.0075',
    'codex_mcp_http_request_duration_seconds_count{route="/mcp"} 3',
    "",
  ]);
});
