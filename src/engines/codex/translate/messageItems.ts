import type { Fields } from "../../../lib/fields.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { Item } from "../../../threads/items.js";
import type { ItemKind } from "./itemKind.js";
import type { OpenItem } from "./openItems.js";
import { fieldsOf, listOf, saidText, textOf, textsOf } from "./read.js";

export const userMessage: ItemKind = shownAs(({ id, item }) => ({
  kind: "userMessage",
  id,
  text: listOf(item["content"])
    .map((part) => textOf(fieldsOf(part)["text"]))
    .join(""),
}));

/** Not shown in a review: the reviewer's own messages stay open for ever, and what it came to is told as the review's result. */
export const agentMessage: ItemKind = {
  start(open, { review }) {
    if (review) return [];
    open.isShown = true;
    return [{ type: "itemStarted", item: { kind: "agentMessage", id: open.id, texts: [] } }];
  },
  complete(open, turn) {
    if (!open.isShown) return [];
    const text = textOf(open.item["text"]);
    turn.lastMessage = text;
    const item: Item = { kind: "agentMessage", id: open.id, texts: text === "" ? [] : [text] };
    return [...unstreamed(open, text), { type: "itemCompleted", item }];
  },
  unfinished: ({ item, text, isShown }) => (isShown ? { ...item, text: text === "" ? item["text"] : text } : undefined),
};

export const reasoning: ItemKind = {
  ...shownAs(({ id, item }, { showRaw }) => ({
    kind: "reasoning",
    id,
    summary: textsOf(item["summary"]),
    rawContent: showRaw ? textsOf(item["content"]) : [],
  })),
  unfinished: ({ item, summary, content }) => ({ ...item, summary, content }),
};

export const webSearch: ItemKind = shownAs(({ id, item }) => ({
  kind: "webSearch",
  id,
  query: textOf(item["query"]),
  action: searchAction(fieldsOf(item["action"])),
}));

/** Some messages come whole, and a reader of deltas must miss nothing. */
function unstreamed({ id, text: streamed }: OpenItem, text: string): ThreadEvent[] {
  const delta = text.startsWith(streamed) ? text.slice(streamed.length) : "";
  return delta === "" ? [] : [{ type: "messageDelta", itemId: id, delta }];
}

function shownAs(read: (open: OpenItem, how: { readonly showRaw: boolean }) => Item): ItemKind {
  return {
    start: (open, { settings }) => [{ type: "itemStarted", item: read(open, { showRaw: settings.showRawAgentReasoning }) }],
    complete: (open, { settings }) => [{ type: "itemCompleted", item: read(open, { showRaw: settings.showRawAgentReasoning }) }],
    unfinished: ({ item }) => item,
  };
}

const ACTION_TYPES: ReadonlyMap<string, string> = new Map([
  ["openPage", "open_page"],
  ["findInPage", "find_in_page"],
]);

/** As Codex 0.92.0 wrote it: snake case, and no keys without a value. */
function searchAction(action: Fields): Fields {
  const type = saidText(action["type"]) ?? "other";
  const rest = Object.entries(action).filter(([key, value]) => key !== "type" && value !== null);
  return { type: ACTION_TYPES.get(type) ?? type, ...Object.fromEntries(rest) };
}
