import type { Call } from "../call.js";
import type { CallToolResult } from "../callResult.js";

/** A tool as `tools/list` shows it. */
export interface ToolDeclaration {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: unknown;
  readonly outputSchema: unknown;
}

/** What a tool does with a call. Whatever goes wrong is an `isError` result; a rejection is a defect. */
export type ToolAction = (args: unknown, call: Call) => Promise<CallToolResult>;
