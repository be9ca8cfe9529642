import { expect, it } from "vitest";
import { threadIdOf, turnKeyOf } from "../lib/ids.js";
import { formatEventId, parseEventId } from "./eventLog.js";

const THREAD = threadIdOf("01998b1e-7c31-7d11-9f29-55c6a3b0d901");
const TURN = turnKeyOf("01998b1e-7c32-7000-8000-000000000002");

it("an event id contains the thread, the turn and the number of the event", () => {
  for (const seq of [0, 1, 17, 999_999_999_999_999]) {
    const id = { threadId: THREAD, turn: TURN, seq };
    expect(parseEventId(formatEventId(id))).toEqual(id);
  }
  expect(formatEventId({ threadId: THREAD, turn: TURN, seq: 17 })).toBe(`${THREAD}.${TURN}.17`);
});

it("needs no escaping in a URL, a header or an event stream", () => {
  const text = formatEventId({ threadId: THREAD, turn: TURN, seq: 17 });
  expect(encodeURIComponent(text)).toBe(text);
});

it.each([
  "",
  "17",
  `${THREAD}.17`,
  `${THREAD}.${TURN}`,
  `${THREAD}.${TURN}.`,
  `${THREAD}.${TURN}.-1`,
  `${THREAD}.${TURN}.017`,
  `${THREAD}.${TURN}.1e3`,
  `${THREAD}.${TURN}.${"9".repeat(16)}`,
  `${THREAD}.${TURN}.17\n`,
  `${THREAD}.${TURN}.17.1`,
  `${THREAD.toUpperCase()}.${TURN}.17`,
  `../../etc.${TURN}.17`,
])("%j is none", (text) => {
  expect(parseEventId(text)).toBeUndefined();
});
