import type { StatelessServer } from "../mcp/stateless/server.js";
import { openStatelessServer, type StatelessParts } from "../mcp/stateless/server.js";
import { TaskFiles } from "../stores/files/tasks.js";

export interface StatelessOptions extends Omit<StatelessParts, "taskStore" | "isOfSessions"> {
  readonly codexHome: string;
}

/** The stateless era, with its tasks stored beside the threads. On stdio it is loaded with its first message. */
export function openStateless({ codexHome, ...parts }: StatelessOptions): StatelessServer {
  const isOfSessions = async (method: string) => (await import("../codexrpc/codexRpc.js")).METHODS.has(method);
  return openStatelessServer({ ...parts, taskStore: new TaskFiles(codexHome), isOfSessions });
}
