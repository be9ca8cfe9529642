import { openStatelessDoor, type StatelessParts } from "../mcp/stateless/open.js";
import type { StatelessDoor } from "../mcp/stateless/server.js";
import { TaskFiles } from "../stores/files/tasks.js";

export interface StatelessOptions extends Omit<StatelessParts, "taskStore"> {
  readonly codexHome: string;
}

/** The era without sessions, with its tasks kept beside the threads. On stdio it is loaded when the first message of it comes. */
export function openStateless({ codexHome, ...parts }: StatelessOptions): StatelessDoor {
  return openStatelessDoor({ ...parts, taskStore: new TaskFiles(codexHome) });
}
