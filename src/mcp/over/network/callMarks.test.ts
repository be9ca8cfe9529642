import { describe, expect, it } from "vitest";
import { callIn, callMarkText, callsInSocketId, lostAnswer, numberInSocketId, socketEventId } from "./outbox.js";

const THREAD = "01a1dd1a-6d22-73e1-88aa-ccf523ae5caa";

describe("an event id", () => {
  it.for([
    [1, undefined],
    [0, THREAD],
    ["one two\n.é", THREAD],
    [12345678901234567890123n, THREAD],
  ] as const)("names the call %s", ([requestId, thread]) => {
    expect(callIn(`0123abcd.p3.17${callMarkText({ requestId, thread })}`)).toEqual({ requestId, thread });
  });

  it("consists of visible ASCII, whatever ids the client's requests have", () => {
    expect(callMarkText({ requestId: '\u0000"\r\n:\u2028', thread: THREAD })).toMatch(/^[\w.-]+$/);
  });

  it("leaves out requests whose ids are too long to be repeated with every event", () => {
    expect(callMarkText({ requestId: "x".repeat(200), thread: THREAD })).toBe("");
  });

  it.for([
    "",
    "0123abcd.p3.17",
    "0123abcd.p3.17.",
    "0123abcd.p3.17.!!!!",
    "0123abcd.p3.17.bm90IGpzb24",
    `0123abcd.p3.17.${Buffer.from('{"id":{}}').toString("base64url")}`,
    `0123abcd.p3.17.${Buffer.from('{"id":1.5}').toString("base64url")}`,
    `0123abcd.p3.17.${Buffer.from('{"id":1}').toString("base64url")}.../../etc`,
    `0123abcd.p3.17.${Buffer.from('{"id":1}').toString("base64url")}.${THREAD}9999`,
  ])("without a call is invalid: %j", (eventId) => {
    expect(callIn(eventId)).toBeUndefined();
  });
});

describe("the id of a message on a socket", () => {
  const mark = (requestId: string | number, thread?: string) => callMarkText({ requestId, thread });

  it("has its number and the newest open calls", () => {
    const id = socketEventId(17, [mark("old", THREAD), mark(1, THREAD), "", mark("two"), mark(3, THREAD), mark("4~.5", THREAD)]);
    expect([numberInSocketId(id), callsInSocketId(id)]).toEqual([
      17,
      [{ requestId: 1, thread: THREAD }, { requestId: "two" }, { requestId: 3, thread: THREAD }, { requestId: "4~.5", thread: THREAD }],
    ]);
    expect(id).toMatch(/^[\w.~-]+$/);
  });

  it.for(["17", "", "~", "17~nonsense", "~~~~~~~~", `17~.${Buffer.from('{"id":{}}').toString("base64url")}`])(
    "without a call is invalid: %j",
    (id) => {
      expect(callsInSocketId(id)).toEqual([]);
    },
  );
});

it("a lost call is answered under its own id, with the thread to continue", () => {
  expect(JSON.parse(lostAnswer({ requestId: "a", thread: THREAD }))).toMatchObject({
    id: "a",
    result: { isError: true, content: [{ text: expect.stringContaining(`codex-reply`) }], structuredContent: { threadId: THREAD } },
  });
  expect(JSON.parse(lostAnswer({ requestId: 5 }))).toMatchObject({ id: 5, result: { isError: true } });
});
