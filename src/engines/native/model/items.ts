import { type Fields, isFields } from "../../../lib/fields.js";
import type { Item, RawItem } from "../../../threads/items.js";

/** A call the model makes, whichever kind of item carries it. */
export interface ToolCall {
  readonly callId: string;
  readonly name: string;
  readonly args: string;
  readonly outputType: "function_call_output" | "custom_tool_call_output";
}

/** The item a reader sees for a raw one; undefined for calls and kinds that are not shown as items. */
export function shownItem(raw: RawItem, { showRawReasoning }: { readonly showRawReasoning: boolean }): Item | undefined {
  const id = typeof raw["id"] === "string" ? raw["id"] : "";
  switch (raw.type) {
    case "message":
      return raw["role"] === "assistant" ? { kind: "agentMessage", id, texts: partTexts(raw["content"], "output_text") } : undefined;
    case "reasoning":
      return {
        kind: "reasoning",
        id,
        summary: partTexts(raw["summary"], "summary_text"),
        rawContent: partTexts(raw["content"], "reasoning_text", "text"),
        ...(showRawReasoning && { rawShown: true }),
      };
    case "web_search_call": {
      const action = isFields(raw["action"]) ? raw["action"] : { type: "other" };
      return { kind: "webSearch", id, query: queryOf(action), action };
    }
    default:
      return undefined;
  }
}

/** The call in a raw item, if it is one. */
export function toolCallOf(raw: RawItem): ToolCall | undefined {
  const callId = stringOf(raw["call_id"]);
  switch (raw.type) {
    case "function_call":
      return { callId, name: stringOf(raw["name"]), args: stringOf(raw["arguments"]), outputType: "function_call_output" };
    case "custom_tool_call":
      return { callId, name: stringOf(raw["name"]), args: stringOf(raw["input"]), outputType: "custom_tool_call_output" };
    case "local_shell_call":
      return { callId, name: "local_shell", args: JSON.stringify(raw["action"] ?? {}), outputType: "function_call_output" };
    default:
      return undefined;
  }
}

/** The calls that have no output yet. */
export function unansweredCalls(items: readonly RawItem[]): ToolCall[] {
  const open = new Map<string, ToolCall>();
  for (const item of items) {
    const call = toolCallOf(item);
    if (call) open.set(call.callId, call);
    else if (item.type.endsWith("_call_output")) open.delete(stringOf(item["call_id"]));
  }
  return [...open.values()];
}

export function toolOutput(call: ToolCall, output: string): RawItem {
  return { type: call.outputType, call_id: call.callId, output };
}

export function partTexts(parts: unknown, ...types: string[]): string[] {
  if (!Array.isArray(parts)) return [];
  return parts.flatMap((part: unknown) =>
    isFields(part) && types.includes(String(part["type"])) && typeof part["text"] === "string" ? [part["text"]] : [],
  );
}

function queryOf(action: Fields): string {
  const [url, pattern] = [stringOf(action["url"]), stringOf(action["pattern"])];
  if (action["type"] === "find_in_page" && url && pattern) return `'${pattern}' in ${url}`;
  return stringOf(action["query"]) || stringOf(action["url"]) || stringOf(action["pattern"]);
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/**
 * The conversation as the model sees it, kept as the JSON text of the request's `input`:
 * a turn on a long thread joins one more piece instead of serialising everything again.
 */
export class History {
  #text = "";

  constructor(items: readonly RawItem[]) {
    this.append(items);
  }

  append(items: readonly RawItem[]): void {
    for (const item of items) {
      const text = JSON.stringify(asSent(item));
      this.#text += this.#text === "" ? text : `,${text}`;
    }
  }

  replace(items: readonly RawItem[]): void {
    this.#text = "";
    this.append(items);
  }

  /** The items, separated by commas. */
  get inputText(): string {
    return this.#text;
  }

  items(): RawItem[] {
    // We wrote every piece of it from a RawItem.
    return JSON.parse(`[${this.#text}]`) as RawItem[];
  }
}

const SENT_WITHOUT_ID = new Set(["message", "reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call"]);

/** Nothing is stored at the provider, so that an id would name something it does not have. Kinds we do not know are sent as they came. */
function asSent(item: RawItem): unknown {
  if (!SENT_WITHOUT_ID.has(item.type)) return item;
  const { id: _, ...sent } = item;
  return sent;
}

export function message(role: "user" | "developer", text: string, images: readonly string[] = []): RawItem {
  return {
    type: "message",
    role,
    content: [{ type: "input_text", text }, ...images.map((image_url) => ({ type: "input_image", image_url }))],
  };
}
