import type { RawItem } from "../../threads/model.js";

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
    for (const item of items) this.#text += this.#text === "" ? JSON.stringify(item) : `,${JSON.stringify(item)}`;
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

export function message(role: "user" | "developer", text: string): RawItem {
  return { type: "message", role, content: [{ type: "input_text", text }] };
}
