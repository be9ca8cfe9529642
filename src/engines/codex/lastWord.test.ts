import { expect, it } from "vitest";
import { LastWord } from "./lastWord.js";

type Told = readonly [method: string, params: unknown];

const USER: Told = ["item/started", { item: { type: "userMessage" } }];
const MODEL: Told = ["item/started", { item: { type: "agentMessage" } }];
const ASKED: Told = ["thread/tokenUsage/updated", {}];

function lastWordAfter(told: readonly Told[]): LastWord {
  const lastWord = new LastWord();
  for (const [method, params] of told) lastWord.observe(method, params);
  return lastWord;
}

it.each<[string, readonly Told[], boolean]>([
  ["nothing was said", [], false],
  ["the model was never asked about the prompt itself", [USER], false],
  ["the model answered", [USER, MODEL, ASKED], false],
  ["the user said something more, and then the turn ended", [USER, MODEL, ASKED, USER, ["item/completed", {}]], true],
  ["the model answered that too", [USER, MODEL, ASKED, USER, MODEL], false],
  ["the model was asked about it and said nothing", [USER, MODEL, ASKED, USER, ASKED], false],
])("the user has the last word unanswered only when the model was not asked about it: %s", (_when, told, isUnanswered) => {
  expect(lastWordAfter(told).takeUnanswered()).toBe(isUnanswered);
});

it("it is asked about once", () => {
  const lastWord = lastWordAfter([USER, MODEL, USER]);
  expect([lastWord.takeUnanswered(), lastWord.takeUnanswered()]).toEqual([true, false]);
});
