import type { ThreadEvent } from "../../../threads/events.js";
import type { Ending, ItemKind } from "./itemKind.js";
import { saidText, textOf } from "./read.js";
import type { TurnState } from "./turnState.js";

export const enteredReviewMode: ItemKind = {
  start({ item }, turn) {
    const hint = textOf(item["review"]);
    turn.review = { result: undefined };
    return [{ type: "reviewStarted", target: turn.reviewTarget ?? { type: "custom", instructions: hint }, hint }];
  },
  complete: () => [],
  unfinished: () => undefined,
};

export const exitedReviewMode: ItemKind = {
  start: () => [],
  complete({ item }, { review }) {
    if (review) review.result = saidText(item["review"]);
    return [];
  },
  unfinished: () => undefined,
};

/** A review ends with its turn, and not before: the app-server makes up a result for one that was interrupted or failed. */
export function endReview(turn: TurnState, ending: Ending): readonly ThreadEvent[] {
  const { review } = turn;
  if (!review) return [];
  if (ending === "completed") turn.lastMessage = review.result ?? turn.lastMessage;
  return [{ type: "reviewEnded", text: ending === "completed" ? turn.lastMessage : null }];
}
