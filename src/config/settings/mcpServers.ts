import type { ConfigTree } from "../tree.js";
import { anything, filePath, flag, float, inert, integer, listOf, mapOf, type SettingGroup, table, text, withCommands } from "../types.js";

// In the order in which Codex complains about them.
const NOT_FOR_PROGRAMS = ["url", "bearer_token_env_var", "bearer_token", "http_headers", "env_http_headers", "oauth_resource"];
const NOT_FOR_URLS = ["args", "env", "env_vars", "cwd", "bearer_token"];

export const MCP_SERVERS_GROUP: SettingGroup = {
  title: "MCP servers of the agent",
  intro: "Servers whose tools the agent may use. Each has a `command` or a `url`.",
  settings: {
    mcp_servers: withCommands(
      mapOf(
        "<name>",
        table(
          {
            command: withCommands(text, "Program that speaks MCP on stdio."),
            args: withCommands(listOf(text), "Its arguments.", "`[]`"),
            env: withCommands(mapOf("<name>", text), "Variables it gets.", "`{}`"),
            env_vars: withCommands(listOf(text), "The server's own variables that are passed on.", "`[]`"),
            cwd: withCommands(filePath, "The folder it runs in."),
            url: withCommands(text, "Address of an MCP server on HTTP."),
            bearer_token_env_var: withCommands(text, "Environment variable with its token."),
            bearer_token: withCommands(anything, "Refused: a token belongs in an environment variable."),
            http_headers: withCommands(mapOf("<header>", text), "Headers it gets."),
            env_http_headers: withCommands(mapOf("<header>", text), "Headers whose values come from environment variables."),
            enabled: withCommands(flag, "Whether it is used.", "`true`"),
            startup_timeout_sec: withCommands(float({ atLeast: 0 }), "Seconds it may take to start.", "`10`"),
            startup_timeout_ms: withCommands(integer("u64"), "The same in milliseconds."),
            tool_timeout_sec: withCommands(float({ atLeast: 0 }), "Seconds one of its tools may take.", "`60`"),
            enabled_tools: withCommands(listOf(text), "Only these tools are offered.", "all"),
            disabled_tools: withCommands(listOf(text), "These tools are not offered.", "`[]`"),
            scopes: withCommands(listOf(text), "OAuth scopes asked for."),
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
