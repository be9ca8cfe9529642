import type { RawItem } from "../../threads/items.js";

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

export function message(role: "user" | "developer", text: string): RawItem {
  return { type: "message", role, content: [{ type: "input_text", text }] };
}
