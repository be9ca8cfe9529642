import { withoutEndLines } from "../../../lib/endLines.js";
import type { Fields } from "../../../lib/fields.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { Item, McpInvocation } from "../../../threads/items.js";
import { asFields, asList, asNumber, asText, asTexts, nonEmptyText } from "../appServer/read.js";
import { commandExecution, fileChange } from "./actionItems.js";
import { type Ending, type ItemKind, type OpenItem, openItem, type Translation, type TurnState } from "./turnState.js";

const userMessage: ItemKind = shownAs(({ id, item }) => {
  const parts = asList(item["content"]).map(asFields);
  const images = parts.flatMap(({ type, url }) => (type === "image" && typeof url === "string" ? [url] : []));
  return { kind: "userMessage", id, text: parts.map(({ text }) => asText(text)).join(""), ...(images.length > 0 && { images }) };
});

/** Not shown in a review: the reviewer's own messages are never completed, and its conclusion is reported as the review's result. */
const agentMessage: ItemKind = {
  start(open, { review }) {
    if (review) return [];
    open.isShown = true;
    return [{ type: "itemStarted", item: { kind: "agentMessage", id: open.id, texts: [] } }];
  },
  complete(open, turn) {
    if (!open.isShown) return [];
    const text = asText(open.item["text"]);
    if (asList(open.item["questions"]).length > 0) turn.openQuestions = [...turn.openQuestions, text];
    else turn.lastMessage = text;
    const item: Item = { kind: "agentMessage", id: open.id, texts: text === "" ? [] : [text] };
    return [...unstreamedText(open, text), { type: "itemCompleted", item }];
  },
  unfinished: ({ item, text, isShown }) => (isShown ? { ...item, text: text === "" ? item["text"] : text } : undefined),
};

const reasoning: ItemKind = {
  ...shownAs(({ id, item }, { showRaw }) => ({
    kind: "reasoning",
    id,
    summary: asTexts(item["summary"]),
    rawContent: showRaw ? asTexts(item["content"]) : [],
    ...(showRaw && { rawShown: true }),
  })),
  unfinished: ({ item, summary, content }) => ({ ...item, summary, content }),
};

const webSearch: ItemKind = shownAs(({ id, item }) => ({
  kind: "webSearch",
  id,
  query: asText(item["query"]),
  action: searchAction(asFields(item["action"])),
}));

/** Some messages arrive without deltas, but readers of deltas need the whole text. */
function unstreamedText({ id, text: streamed }: OpenItem, text: string): ThreadEvent[] {
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

/** In the format of Codex 0.92.0: snake case, and no keys without a value. */
function searchAction(action: Fields): Fields {
  const type = nonEmptyText(action["type"]) ?? "other";
  const rest = Object.entries(action).filter(([key, value]) => key !== "type" && value !== null);
  return { type: ACTION_TYPES.get(type) ?? type, ...Object.fromEntries(rest) };
}

const mcpToolCall: ItemKind = {
  start: ({ id, item }) => [{ type: "mcpToolStarted", callId: id, invocation: invocationOf(item) }],
  complete: ({ id, item }) => [
    {
      type: "mcpToolEnded",
      callId: id,
      invocation: invocationOf(item),
      durationMs: asNumber(item["durationMs"]) ?? 0,
      result: resultOf(item),
    },
  ],
  unfinished: ({ item }) => ({ ...item, status: "failed", error: { message: "tool call interrupted" } }),
};

/** Codex 0.92.0 reported it once, when the image was viewed. */
const imageView: ItemKind = {
  start: ({ id, item }) => [{ type: "imageViewed", callId: id, path: asText(item["path"]) }],
  complete: () => [],
  unfinished: () => undefined,
};

const contextCompaction: ItemKind = {
  start: () => [],
  complete: () => [{ type: "historyCompacted", message: "", replacement: [] }],
  unfinished: () => undefined,
};

/** For kinds without an event in 0.92.0. */
function notedAs(words: (item: Fields) => string): ItemKind {
  return {
    start: ({ item }) => [{ type: "backgroundNote", message: words(item) }],
    complete: () => [],
    unfinished: () => undefined,
  };
}

function invocationOf(item: Fields): McpInvocation {
  return { server: asText(item["server"]), tool: asText(item["tool"]), arguments: item["arguments"] ?? null };
}

/** The app-server appends its own stack trace to some errors. */
const BACKTRACE = "\nStack backtrace:\n";

function withoutBacktrace(message: string | undefined): string | undefined {
  const at = message?.indexOf(BACKTRACE) ?? -1;
  return at < 0 ? message : withoutEndLines((message ?? "").slice(0, at));
}

function resultOf(item: Fields): { readonly Ok: unknown } | { readonly Err: string } {
  const complaint = withoutBacktrace(nonEmptyText(asFields(item["error"])["message"]));
  const isFailed = item["status"] === "failed";
  if (complaint !== undefined || (isFailed && item["result"] === null)) return { Err: complaint ?? "tool call failed" };
  const { content, structuredContent } = asFields(item["result"]);
  return {
    Ok: {
      content: asList(content),
      ...(structuredContent === undefined || structuredContent === null ? {} : { structuredContent }),
      ...(isFailed ? { isError: true } : {}),
    },
  };
}

const enteredReviewMode: ItemKind = {
  start({ item }, turn) {
    const hint = asText(item["review"]);
    turn.review = { result: undefined };
    return [{ type: "reviewStarted", target: turn.reviewTarget ?? { type: "custom", instructions: hint }, hint }];
  },
  complete: () => [],
  unfinished: () => undefined,
};

const exitedReviewMode: ItemKind = {
  start: () => [],
  complete({ item }, { review }) {
    if (review) review.result = nonEmptyText(item["review"]);
    return [];
  },
  unfinished: () => undefined,
};

/** A review ends with its turn, not before: the app-server invents a result for one that was interrupted or failed. */
export function endReview(turn: TurnState, ending: Ending): readonly ThreadEvent[] {
  const { review } = turn;
  if (!review) return [];
  if (ending === "completed") turn.lastMessage = review.result ?? turn.lastMessage;
  return [{ type: "reviewEnded", text: ending === "completed" ? turn.lastMessage : null }];
}

interface Ignored {
  readonly ignored: string;
}

/** Every kind of item of app-server 0.169.0. */
export const ITEM_KINDS: ReadonlyMap<string, ItemKind | Ignored> = new Map<string, ItemKind | Ignored>([
  ["userMessage", userMessage],
  ["agentMessage", agentMessage],
  ["reasoning", reasoning],
  ["commandExecution", commandExecution],
  ["fileChange", fileChange],
  ["mcpToolCall", mcpToolCall],
  ["webSearch", webSearch],
  ["imageView", imageView],
  ["contextCompaction", contextCompaction],
  ["enteredReviewMode", enteredReviewMode],
  ["exitedReviewMode", exitedReviewMode],
  ["imageGeneration", notedAs(() => "Making an image")],
  ["sleep", notedAs(() => "Waiting")],
  ["collabAgentToolCall", notedAs((item) => `Working with other agents: ${asText(item["tool"])}`)],
  ["subAgentActivity", notedAs((item) => `Another agent: ${asText(item["kind"])} ${asText(item["agentPath"])}`.trimEnd())],
  ["dynamicToolCall", { ignored: "no tools of ours are declared to the model" }],
  ["plan", { ignored: "the mode that proposes plans is never asked for" }],
  ["hookPrompt", { ignored: "what a hook adds to the prompt concerns the model" }],
  ["functionCallOutput", { ignored: "reported by raw items" }],
]);

export const itemStarted: Translation = (params, turn) => {
  const item = asFields(params["item"]);
  const kind = kindOf(item);
  const open = kind && turn.items.add(item);
  if (!open) return [];
  turn.calls.markShown(open.id);
  if (kind === userMessage) turn.openQuestions = [];
  return [...(kind === userMessage ? cutShort(turn) : []), ...kind.start(open, turn)];
};

/** An item that completes without a start, or with another kind than it started with, is shown as starting first. */
export const itemCompleted: Translation = (params, turn) => {
  const item = asFields(params["item"]);
  const kind = kindOf(item);
  if (!kind) return [];
  const begun = turn.items.take(item["id"]);
  if (begun && kindOf(begun.item) === kind) {
    begun.item = item;
    return kind.complete(begun, turn);
  }
  const replaced = begun ? closeItem(begun, turn, "completed") : [];
  const open = openItem(item);
  turn.calls.markShown(open.id);
  return [...replaced, ...kind.start(open, turn), ...kind.complete(open, turn)];
};

/** The app-server leaves items open when a turn is interrupted; readers must see each one end. */
export function closeItems(turn: TurnState, ending: Ending): ThreadEvent[] {
  return turn.items.takeWhere(() => true).flatMap((open) => closeItem(open, turn, ending));
}

function isAnswer({ item }: OpenItem): boolean {
  return kindOf(item) === agentMessage || kindOf(item) === reasoning;
}

/** A response cut by a broken connection is requested again, and shown when it is complete. */
export function forgetCutAnswer(turn: TurnState): void {
  turn.items.takeWhere(isAnswer);
}

/** A user message makes the model begin a new response and abandon the current one. */
function cutShort(turn: TurnState): ThreadEvent[] {
  return turn.items.takeWhere(isAnswer).flatMap((open) => closeItem(open, turn, "completed"));
}

function closeItem(open: OpenItem, turn: TurnState, ending: Ending): readonly ThreadEvent[] {
  const kind = kindOf(open.item);
  const item = kind?.unfinished(open, ending);
  if (!kind || !item) return [];
  open.item = item;
  return kind.complete(open, turn);
}

function kindOf(item: Fields): ItemKind | undefined {
  const kind = ITEM_KINDS.get(asText(item["type"]));
  return kind === undefined || "ignored" in kind ? undefined : kind;
}
