import { isFields } from "../../../lib/fields.js";
import type { RawItem } from "../../../threads/items.js";

/**
 * An item a model can be sent again. Kinds we know must have the fields a model insists on, since one bad item would make
 * every later request of the thread fail; kinds we do not know are trusted. Snapshots are Codex's own and never sent.
 */
export function isReplayable(value: unknown): value is RawItem {
  if (!isFields(value)) return false;
  switch (value["type"]) {
    case "message":
      return typeof value["role"] === "string" && Array.isArray(value["content"]);
    case "reasoning":
      return Array.isArray(value["summary"]);
    case "function_call":
      return areText(value["name"], value["arguments"], value["call_id"]);
    case "custom_tool_call":
      return areText(value["name"], value["input"], value["call_id"]);
    case "function_call_output":
    case "custom_tool_call_output":
      return areText(value["call_id"]) && (areText(value["output"]) || Array.isArray(value["output"]));
    case "local_shell_call":
      return isFields(value["action"]);
    case "ghost_snapshot":
      return false;
    default:
      return typeof value["type"] === "string";
  }
}

export function isUserMessage(item: RawItem): boolean {
  return item.type === "message" && item["role"] === "user";
}

export function userMessage(text: string): RawItem {
  return { type: "message", role: "user", content: [{ type: "input_text", text }] };
}

/** All text of a message; images have none. */
export function textOf(message: RawItem): string {
  const content: unknown = message["content"];
  if (!Array.isArray(content)) return "";
  return content.map((part: unknown) => (isFields(part) && typeof part["text"] === "string" ? part["text"] : "")).join("");
}

function areText(...values: readonly unknown[]): boolean {
  return values.every((value) => typeof value === "string");
}
