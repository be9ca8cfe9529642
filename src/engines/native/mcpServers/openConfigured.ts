import type { McpServerSettings } from "../../../threads/settings.js";
import type { McpServers, McpServersOptions } from "./open.js";
import type { McpStartupNews } from "./startupNews.js";

/** What a thread has of its MCP servers. */
export type ToolServers = Pick<McpServers, "resources" | "tools" | "find" | "takeStartupNews" | "close">;

/** Starts the servers of the settings, in the background. Their code is loaded only where there are any. */
export async function openConfiguredServers(settings: readonly McpServerSettings[], options: McpServersOptions): Promise<ToolServers> {
  if (settings.length === 0) return noServers();
  const { openMcpServers } = await import("./open.js");
  return openMcpServers(settings, options);
}

/** Their start is over at once, which is told as that of others is. */
function noServers(): ToolServers {
  const none: ToolServers["resources"] = [];
  const untold: McpStartupNews[] = [{ type: "mcpStartupCompleted", ready: [], failed: [], cancelled: [] }];
  return {
    resources: none,
    tools: async () => none,
    find: async () => undefined,
    takeStartupNews: () => untold.splice(0),
    close: async () => {},
  };
}
