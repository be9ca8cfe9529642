import type { StatelessServer } from "../mcp/stateless/server.js";
import { openStatelessServer, type StatelessParts } from "../mcp/stateless/server.js";
import { TaskFiles } from "../stores/files/tasks.js";

export interface StatelessOptions extends Omit<StatelessParts, "taskStore" | "isOfSessions"> {
  readonly codexHome: string;
}

/** The era without sessions, with its tasks kept beside the threads. On stdio it is loaded when the first message of it comes. */
export function openStateless({ codexHome, ...parts }: StatelessOptions): StatelessServer {
  const isOfSessions = async (method: string) => (await import("../codexrpc/codexRpc.js")).METHODS.has(method);
  return openStatelessServer({ ...parts, taskStore: new TaskFiles(codexHome), isOfSessions });
}
