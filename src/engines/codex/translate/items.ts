import type { Fields } from "../../../lib/fields.js";
import type { ThreadEvent } from "../../../threads/events.js";
import { commandExecution } from "./commandItem.js";
import { fileChange } from "./fileChangeItem.js";
import type { Ending, ItemKind } from "./itemKind.js";
import { agentMessage, reasoning, userMessage, webSearch } from "./messageItems.js";
import { type OpenItem, openItem } from "./openItems.js";
import { fieldsOf, textOf } from "./read.js";
import { enteredReviewMode, exitedReviewMode } from "./reviewItems.js";
import { contextCompaction, imageView, mcpToolCall, notedAs } from "./toolItems.js";
import type { Translation, TurnState } from "./turnState.js";

interface Ignored {
  readonly ignored: string;
}

/** Every kind of item of app-server 0.166.0. */
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
  ["imageGeneration", notedAs(() => "Making a picture")],
  ["sleep", notedAs(() => "Waiting")],
  ["collabAgentToolCall", notedAs((item) => `Working with other agents: ${textOf(item["tool"])}`)],
  ["subAgentActivity", notedAs((item) => `Another agent: ${textOf(item["kind"])} ${textOf(item["agentPath"])}`.trimEnd())],
  ["dynamicToolCall", { ignored: "no tools of ours are declared to the model" }],
  ["plan", { ignored: "the mode that proposes plans is never asked for" }],
  ["hookPrompt", { ignored: "what a hook adds to the prompt concerns the model" }],
  ["functionCallOutput", { ignored: "raw items tell it" }],
]);

export const itemStarted: Translation = (params, turn) => {
  const item = fieldsOf(params["item"]);
  const kind = kindOf(item);
  const open = kind && turn.items.add(item);
  if (!open) return [];
  turn.calls.markShown(open.id);
  return [...(kind === userMessage ? cutShort(turn) : []), ...kind.start(open, turn)];
};

/** What completes without having begun, or as something else than it began as, is shown to begin. */
export const itemCompleted: Translation = (params, turn) => {
  const item = fieldsOf(params["item"]);
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

/** The app-server leaves items open when a turn is interrupted; a reader sees each one end. */
export function closeItems(turn: TurnState, ending: Ending): ThreadEvent[] {
  return turn.items.takeWhere(() => true).flatMap((open) => closeItem(open, turn, ending));
}

/** When the user is heard, the model begins a new answer and leaves the one before as it is. */
function cutShort(turn: TurnState): ThreadEvent[] {
  const isAnswer = ({ item }: OpenItem) => kindOf(item) === agentMessage || kindOf(item) === reasoning;
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
  const kind = ITEM_KINDS.get(textOf(item["type"]));
  return kind === undefined || "ignored" in kind ? undefined : kind;
}
