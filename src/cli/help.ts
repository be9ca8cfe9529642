import { FLAGS, type FlagSpec } from "./options.js";

export function helpText(): string {
  return `A coding agent behind MCP: what \`codex mcp-server\` was, as a server of its own.

Usage:
  codex-mcp-server [mcp-server] [OPTIONS]   serve MCP on stdin and stdout
  codex-mcp-server doctor [OPTIONS]         check configuration and credentials; exit code 1 if a call could not work

Options:
${optionLines().join("\n")}

Environment:
  CODEX_HOME           folder of config.toml, auth.json and sessions/ (default: ~/.codex; shared with the Codex CLI)
  OPENAI_API_KEY       key for the OpenAI provider (CODEX_API_KEY and auth.json are looked at first)
  HTTPS_PROXY, HTTP_PROXY, NO_PROXY   honoured for requests to the model
  CODEX_MCP_TOOLS      tool set, as --tools

A client's configuration names the command and nothing else:
  {"mcpServers": {"codex": {"command": "npx", "args": ["-y", "codex-mcpd"]}}}

Try it without a key:  codex-mcp-server --engine scripted
`;
}

export function usageText(complaint: string): string {
  return `error: ${complaint}\n\nUsage: codex-mcp-server [mcp-server|doctor] [OPTIONS]\n\nFor more information, try '--help'.\n`;
}

function optionLines(): string[] {
  const rows = Object.entries<FlagSpec>(FLAGS).flatMap(([name, { short, value, help }]) => {
    if (help === undefined) return [];
    const flag = `${short === undefined ? "    " : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`;
    return [{ flag, help }];
  });
  const width = Math.max(...rows.map(({ flag }) => flag.length));
  return rows.map(({ flag, help }) => `  ${flag.padEnd(width)}  ${help}`);
}
