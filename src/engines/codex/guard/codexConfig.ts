import { RpcError } from "../../../jsonrpc/errors.js";
import type { Fields } from "../../../lib/fields.js";
import type { AppServer } from "../appServer.js";
import { fieldsOf, saidText, textsOf } from "../translate/read.js";

/** What the user's configuration says of things that a thread has to be guarded from. */
export interface CodexConfig {
  /** Some folder is trusted: Codex would run what its `.codex/config.toml` says, and so it would for folders that pose as part of it. */
  readonly trustsFolders: boolean;
  /** `shell_environment_policy.exclude`. */
  readonly excludedVariables: readonly string[];
  readonly mcpServers: Fields;
}

/** Without the configuration of any project. A Codex that does not tell is taken to trust folders. */
export async function readCodexConfig(server: AppServer): Promise<CodexConfig> {
  const answer = await server.request("config/read", { includeLayers: false }).catch((error: unknown) => {
    if (!(error instanceof RpcError)) throw error;
  });
  if (answer === undefined) return { trustsFolders: true, excludedVariables: [], mcpServers: {} };
  const { projects, shell_environment_policy: environment, mcp_servers: servers } = fieldsOf(fieldsOf(answer)["config"]);
  return {
    trustsFolders: Object.values(fieldsOf(projects)).some((project) => fieldsOf(project)["trust_level"] === "trusted"),
    excludedVariables: textsOf(fieldsOf(environment)["exclude"]),
    mcpServers: fieldsOf(servers),
  };
}

/**
 * Where MCP servers start for which nobody named a folder. Codex would start them in the thread's, where package runners
 * prefer what a command or a caller has put there.
 */
export function mcpServersIn(folder: string, servers: Fields): Fields {
  const homeless = Object.entries(servers).filter(([, server]) => {
    const { command, cwd } = fieldsOf(server);
    return saidText(command) !== undefined && saidText(cwd) === undefined;
  });
  return Object.fromEntries(homeless.map(([name]) => [name, { cwd: folder }]));
}
