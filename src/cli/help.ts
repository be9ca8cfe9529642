import { FLAGS, type FlagSpec } from "./options.js";

export function helpText(): string {
  return `A coding agent behind MCP: the standalone replacement for \`codex mcp-server\`.

Usage:
  codex-mcp-server [mcp-server] [OPTIONS]       serve MCP on stdin and stdout (\`mcp\` and \`mcp serve\` mean the same)
  codex-mcp-server [serve] --port P [OPTIONS]   serve MCP over HTTP and WebSocket
  codex-mcp-server open [--port P] [OPTIONS]    open the console of the running server, or of a new one, in a browser
  codex-mcp-server doctor [OPTIONS]             check configuration and credentials; exit code 1 if calls would fail
  codex-mcp-server token                        show the token for clients whose user the server cannot determine

Options:
${optionLines(({ listening }) => !listening).join("\n")}

Options of a server that listens:
${optionLines(({ listening }) => listening === true).join("\n")}

Environment:
  CODEX_HOME           folder of config.toml, auth.json and sessions/ (default: ~/.codex; shared with the Codex CLI)
  OPENAI_API_KEY       key for the OpenAI provider (CODEX_API_KEY and auth.json take precedence)
  HTTPS_PROXY, HTTP_PROXY, NO_PROXY   honoured for requests to the model
  CODEX_BIN            the Codex CLI to use, as --codex-bin
  CODEX_MCP_TOOLS      tool set, as --tools
  CODEX_MCP_TOKEN      a token that network clients must send, as --token
  LOG_LEVEL            trace, debug, info, warn, error or off; RUST_LOG is read too

A client's configuration needs only the command:
  {"mcpServers": {"codex": {"command": "npx", "args": ["-y", "codex-mcpd"]}}}

Try it without a key:  codex-mcp-server --engine scripted
`;
}

export function usageText(complaint: string): string {
  return `error: ${complaint}\n\nUsage: codex-mcp-server [mcp-server|serve|open|doctor|token] [OPTIONS]\n\nFor more information, try '--help'.\n`;
}

function optionLines(isWanted: (spec: FlagSpec) => boolean): string[] {
  const rows = Object.entries<FlagSpec>(FLAGS).flatMap(([name, spec]) => {
    const { short, value, help } = spec;
    if (!isWanted(spec)) return [];
    const flag = `${short === undefined ? "    " : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`;
    return [{ flag, help }];
  });
  const width = Math.max(...rows.map(({ flag }) => flag.length));
  return rows.map(({ flag, help }) => `  ${flag.padEnd(width)}  ${help}`);
}
