import type { McpInvocation } from "../../../threads/items.js";
import type { ToolContext, ToolResult, ToolRun } from "../tools/tool.js";

export interface CallEnd {
  readonly result: { readonly Ok: unknown } | { readonly Err: string };
  readonly answer: ToolResult;
}

/** Makes a call and shows how it begins and ends. An interrupted one has no end to show. */
export async function* shownCall(
  invocation: McpInvocation,
  { callId, signal }: Pick<ToolContext, "callId" | "signal">,
  call: () => Promise<CallEnd>,
): ToolRun {
  yield [{ type: "mcpToolStarted", callId, invocation }];
  const startedAt = performance.now();
  const { result, answer } = await call();
  signal.throwIfAborted();
  yield [{ type: "mcpToolEnded", callId, invocation, durationMs: performance.now() - startedAt, result }];
  return answer;
}
