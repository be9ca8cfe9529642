import type { RawItem } from "./items.js";

/**
 * Models refuse a history in which a tool call has no output or an output no call; a process that died in the middle of a
 * call leaves one. Calls without an output get one that says `aborted`, outputs without a call are dropped.
 */
export function pairToolCalls(items: readonly RawItem[]): readonly RawItem[] {
  const calls = new Set<string>();
  const outputs = new Set<string>();
  for (const item of items) {
    const call = outputTypeOf(item);
    if (call !== undefined) calls.add(key(call, item));
    else if (isOutput(item)) outputs.add(key(item.type, item));
  }
  const isWhole = calls.size === outputs.size && [...calls].every((call) => outputs.has(call));
  return isWhole ? items : items.flatMap((item) => paired(item, calls, outputs));
}

function paired(item: RawItem, calls: ReadonlySet<string>, outputs: ReadonlySet<string>): RawItem[] {
  if (isOutput(item)) return calls.has(key(item.type, item)) ? [item] : [];
  const type = outputTypeOf(item);
  if (type === undefined || outputs.has(key(type, item))) return [item];
  return [item, { type, call_id: item["call_id"], output: "aborted" }];
}

/** The type of item that answers this one, if it is a call. */
function outputTypeOf(item: RawItem): string | undefined {
  switch (item.type) {
    case "function_call":
    case "local_shell_call":
      return typeof item["call_id"] === "string" ? "function_call_output" : undefined;
    case "custom_tool_call":
      return "custom_tool_call_output";
    default:
      return undefined;
  }
}

function isOutput(item: RawItem): boolean {
  return item.type === "function_call_output" || item.type === "custom_tool_call_output";
}

function key(outputType: string, item: RawItem): string {
  return `${outputType} ${String(item["call_id"])}`;
}
