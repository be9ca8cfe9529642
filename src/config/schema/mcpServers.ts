import type { ConfigTree } from "./settingTypes.js";
import {
  active,
  anything,
  filePath,
  flag,
  float,
  inert,
  integer,
  listOf,
  mapOf,
  planned,
  type SettingGroup,
  table,
  text,
} from "./settingTypes.js";

// In the order of Codex's error messages.
const NOT_FOR_PROGRAMS = ["url", "bearer_token_env_var", "bearer_token", "http_headers", "env_http_headers", "oauth_resource"];
const NOT_FOR_URLS = ["args", "env", "env_vars", "cwd", "bearer_token"];

export const MCP_SERVERS_GROUP: SettingGroup = {
  title: "MCP servers of the agent",
  intro: "Servers whose tools the agent may use. Each has a `command` or a `url`.",
  settings: {
    mcp_servers: active(
      mapOf(
        "<name>",
        table(
          {
            command: active(text, "A program that serves MCP on stdio."),
            args: active(listOf(text), "Its arguments.", "`[]`"),
            env: active(mapOf("<name>", text), "Variables it gets.", "`{}`"),
            env_vars: active(listOf(text), "Variables of codex-mcpd's own environment that the server gets.", "`[]`"),
            cwd: active(filePath, "The folder it runs in."),
            url: active(text, "Address of an MCP server on HTTP."),
            bearer_token_env_var: active(text, "Environment variable with its token."),
            bearer_token: active(anything, "Refused: a token belongs in an environment variable."),
            http_headers: active(mapOf("<header>", text), "Headers sent to it."),
            env_http_headers: active(mapOf("<header>", text), "Headers sent to it whose values come from environment variables."),
            enabled: active(flag, "Whether it is used.", "`true`"),
            startup_timeout_sec: active(float({ atLeast: 0 }), "Start-up timeout in seconds.", "`10`"),
            startup_timeout_ms: active(integer("u64"), "The same in milliseconds."),
            tool_timeout_sec: active(float({ atLeast: 0 }), "Timeout of its tool calls in seconds.", "`60`"),
            enabled_tools: active(listOf(text), "Only these tools are offered.", "all"),
            disabled_tools: active(listOf(text), "These tools are not offered.", "`[]`"),
            scopes: planned(listOf(text), "OAuth scopes to request."),
            oauth_resource: inert(text, ""),
            required: inert(flag, ""),
          },
          { rule: transportProblem },
        ),
      ),
      "By name.",
    ),
  },
};

function transportProblem(server: ConfigTree): string | undefined {
  if (server.command !== undefined) return misplacedField(server, NOT_FOR_PROGRAMS, "stdio");
  if (server.url !== undefined) return misplacedField(server, NOT_FOR_URLS, "streamable_http");
  return "invalid transport";
}

function misplacedField(server: ConfigTree, foreign: readonly string[], transport: string): string | undefined {
  const field = foreign.find((candidate) => server[candidate] !== undefined);
  return field && `${field} is not supported for ${transport}`;
}
