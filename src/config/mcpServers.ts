import type { McpServerSettings, McpServerTransport } from "../threads/settings.js";
import { LONGEST_TIMER_MS } from "./timers.js";
import { type ConfigTree, flagAt, numberAt, tableAt, textAt, textMapAt, textsAt } from "./tree.js";

const DEFAULT_STARTUP_MS = 10_000;
const DEFAULT_TOOL_MS = 60_000;

/** The enabled entries of `mcp_servers`, in the order in which they were written. Values are taken as they stand: nothing is expanded. */
export function mcpServers(settings: ConfigTree): McpServerSettings[] {
  const configured = tableAt(settings, "mcp_servers");
  return Object.keys(configured)
    .map((name) => ({ name, entry: tableAt(configured, name) }))
    .filter(({ entry }) => flagAt(entry, "enabled") ?? true)
    .map(({ name, entry }) => ({
      name,
      transport: transportOf(entry),
      startupTimeoutMs: timer(secondsAt(entry, "startup_timeout_sec") ?? numberAt(entry, "startup_timeout_ms") ?? DEFAULT_STARTUP_MS),
      toolTimeoutMs: timer(secondsAt(entry, "tool_timeout_sec") ?? DEFAULT_TOOL_MS),
      enabledTools: textsAt(entry, "enabled_tools"),
      disabledTools: textsAt(entry, "disabled_tools") ?? [],
    }));
}

function transportOf(entry: ConfigTree): McpServerTransport {
  const command = textAt(entry, "command");
  if (command !== undefined) {
    return {
      kind: "program",
      command,
      args: textsAt(entry, "args") ?? [],
      env: textMapAt(entry, "env"),
      envVars: textsAt(entry, "env_vars") ?? [],
      cwd: textAt(entry, "cwd"),
    };
  }
  return {
    kind: "http",
    url: textAt(entry, "url") ?? "",
    bearerTokenEnvVar: textAt(entry, "bearer_token_env_var"),
    httpHeaders: textMapAt(entry, "http_headers"),
    envHttpHeaders: textMapAt(entry, "env_http_headers"),
  };
}

function secondsAt(entry: ConfigTree, key: string): number | undefined {
  const seconds = numberAt(entry, key);
  return seconds === undefined ? undefined : seconds * 1000;
}

function timer(ms: number): number {
  return Math.min(ms, LONGEST_TIMER_MS);
}
