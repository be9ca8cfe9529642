import { expect, it } from "vitest";
import { readLogFilter, SEVERITIES, thresholdOf } from "./log.js";

/** The least severe level that is logged. */
function leastOf(env: NodeJS.ProcessEnv, target?: string): string {
  return SEVERITIES[thresholdOf(readLogFilter(env, "info"), target)] ?? "none";
}

it.for([
  [{}, undefined, "info"],
  [{ LOG_LEVEL: "debug" }, undefined, "debug"],
  [{ LOG_LEVEL: " WARNING " }, "http", "warn"],
  [{ LOG_LEVEL: "off" }, undefined, "none"],
  [{ RUST_LOG: "error" }, undefined, "error"],
  [{ RUST_LOG: "error", LOG_LEVEL: "trace" }, undefined, "trace"],
  [{ RUST_LOG: "error", LOG_LEVEL: "  " }, undefined, "error"],
  [{ RUST_LOG: "codex_mcp_server=debug,http=warn" }, undefined, "debug"],
  [{ RUST_LOG: "codex_mcp_server=debug,http=warn" }, "http", "warn"],
  [{ RUST_LOG: "codex_mcp_server=debug,http=warn" }, "engine", "debug"],
  [{ RUST_LOG: "warn,codex_mcp_server::http=trace" }, "http", "trace"],
  [{ RUST_LOG: "warn,codex-mcp-server::http=trace" }, "http::sse", "trace"],
  [{ RUST_LOG: "http" }, "http", "trace"],
  [{ RUST_LOG: "codex_core=trace,hyper=off" }, undefined, "info"],
  [{ LOG_LEVEL: "http=loud,,=,x=" }, "http", "info"],
] as const)("%j lets lines of %s pass from %s on", ([env, target, least]) => {
  expect(leastOf(env, target)).toBe(least);
});
