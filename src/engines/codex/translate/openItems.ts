import type { Fields } from "../../../lib/fields.js";
import { textOf } from "./read.js";

/** Far more than run at once; whatever begins beyond it is shown as a whole when it completes. */
const MOST_OPEN = 500;

/** How much of a command's streamed output is kept, for the case that the command never completes. */
const OUTPUT_KEPT = 1_048_576;

/** An item from its beginning to its end, with what was streamed of it. */
export interface OpenItem {
  readonly id: string;
  /** As it was last told. */
  item: Fields;
  /** A message's text, or a command's output. */
  text: string;
  readonly summary: string[];
  readonly content: string[];
  /** Its beginning was shown. */
  isShown: boolean;
}

/** The items of the running turn that have begun and not completed, in the order they began. */
export class OpenItems {
  readonly #items = new Map<string, OpenItem>();

  /** Undefined when it is open already, or too much is. */
  add(item: Fields): OpenItem | undefined {
    const open = openItem(item);
    if (this.#items.has(open.id) || this.#items.size >= MOST_OPEN) return undefined;
    this.#items.set(open.id, open);
    return open;
  }

  find(id: unknown): OpenItem | undefined {
    return typeof id === "string" ? this.#items.get(id) : undefined;
  }

  take(id: unknown): OpenItem | undefined {
    const open = this.find(id);
    if (open) this.#items.delete(open.id);
    return open;
  }

  takeWhere(isWanted: (open: OpenItem) => boolean): readonly OpenItem[] {
    const wanted = [...this.#items.values()].filter(isWanted);
    for (const { id } of wanted) this.#items.delete(id);
    return wanted;
  }
}

export function openItem(item: Fields): OpenItem {
  return { id: textOf(item["id"]), item, text: "", summary: [], content: [], isShown: false };
}

export function keepOutput(open: OpenItem, delta: string): void {
  if (open.text.length < OUTPUT_KEPT) open.text += delta;
}

/** Adds to one of several texts. An index beyond the next one counts as the next. */
export function keepPart(parts: string[], index: number, delta: string): void {
  const at = Math.min(Math.max(0, Math.trunc(index)), parts.length);
  parts[at] = (parts[at] ?? "") + delta;
}
