import { expect, it } from "vitest";
import type { StoredMoment } from "../threads/store.js";
import { lastEnd } from "./lastAnswer.js";

const at = 0;
const STARTED: StoredMoment = { at, type: "turnStarted" };
const ENDED: StoredMoment = { at, type: "turnEnded", error: null };
const FAILED: StoredMoment = { at, type: "turnEnded", error: "no such luck" };
const INTERRUPTED: StoredMoment = { at, type: "interrupted" };
const SPOKE: StoredMoment = { at, type: "userSpoke", text: "go" };
const ITEM: StoredMoment = { at, type: "item", item: { type: "message" } };

it.for([
  ["completed", [STARTED, SPOKE, ITEM, ENDED], { how: "completed" }],
  ["cut off, whatever was said in it", [STARTED, SPOKE, ITEM], { how: "interrupted" }],
  ["interrupted", [STARTED, SPOKE, ITEM, INTERRUPTED], { how: "interrupted" }],
  ["interrupted, with a mark for the model after it", [STARTED, SPOKE, INTERRUPTED, ITEM], { how: "interrupted" }],
  ["failed, with a mark of the end after the error", [STARTED, SPOKE, ITEM, FAILED, ENDED], { how: "failed", error: "no such luck" }],
  ["completed after an interrupted one", [STARTED, INTERRUPTED, STARTED, SPOKE, ITEM, ENDED], { how: "completed" }],
  ["unmarked, in an older record", [SPOKE, ITEM], { how: "unknown" }],
  ["unmarked after an interrupted one, in an older record", [SPOKE, ITEM, INTERRUPTED, SPOKE, ITEM], { how: "unknown" }],
] as const)("a last turn that was %s", async ([, told, end]) => {
  async function* moments(): AsyncGenerator<StoredMoment> {
    yield* told;
  }
  expect(await lastEnd({ isArchived: false, moments: moments() })).toEqual(end);
});
