import { describe, expect, it } from "vitest";
import { began, done, shownAs, type Told, translatorFor } from "../../../../test/support/translatedTurn.js";
import type { ReviewTarget } from "../../../threads/events.js";
import type { TurnEnding } from "./turnEnd.js";

const TARGET: ReviewTarget = { type: "baseBranch", branch: "main" };
const ENTERED = { type: "enteredReviewMode", id: "e1", review: "changes against 'main'" };
const MESSAGE = { type: "agentMessage", id: "m1", text: "" };

function exited(review: string): Told[] {
  const item = { type: "exitedReviewMode", id: "e2", review };
  const message = { ...MESSAGE, id: "m2", text: review };
  return [began(item), done(item), began(message), done(message)];
}

function reviewed(told: readonly Told[], ending: TurnEnding) {
  const translator = translatorFor({ reviewTarget: TARGET });
  translator.notification("turn/started", {});
  const shown = told.flatMap(([method, params]) => translator.notification(method, params));
  return [...shown, ...translator.end(ending)];
}

describe("a review", () => {
  const began1 = [began(ENTERED), done(ENTERED), began(MESSAGE)] as const;
  const started = { type: "reviewStarted", target: TARGET, hint: "changes against 'main'" };

  it("shows what was asked and what it came to, and nothing that the reviewer says to itself", () => {
    const told: Told[] = [...began1, ["item/agentMessage/delta", { itemId: "m1", delta: "{" }], ...exited("fine")];
    expect(reviewed(told, { kind: "completed" })).toEqual([
      started,
      { type: "reviewEnded", text: "fine" },
      { type: "turnCompleted", lastMessage: "fine" },
    ]);
  });

  it.each<[TurnEnding, object]>([
    [{ kind: "interrupted" }, { type: "turnAborted", reason: "interrupted" }],
    [
      { kind: "failed", message: "no model" },
      { type: "turnFailed", message: "no model", info: "other" },
    ],
  ])("that was cut short has no result, whatever the app-server makes up for it: $kind", (ending, end) => {
    const told = [...began1, ...exited("Reviewer failed to output a response.")];
    expect(reviewed(told, ending)).toEqual([started, { type: "reviewEnded", text: null }, end]);
    expect(reviewed(began1, ending)).toEqual([started, { type: "reviewEnded", text: null }, end]);
  });

  it("that nobody asked for is shown by what the app-server calls it", () => {
    expect(shownAs([began(ENTERED)])).toEqual([
      { type: "reviewStarted", target: { type: "custom", instructions: ENTERED.review }, hint: ENTERED.review },
    ]);
  });
});
