import { describe, expect, it } from "vitest";
import { jsonText, parseJson } from "./exactJson.js";

const LONG = "9007199254740993";

describe("an id that a number cannot hold", () => {
  it.for([
    `{"id":${LONG},"method":"ping"}`,
    `{"id":-${LONG}0000,"method":"ping"}`,
    `{"method":"notifications/cancelled","params":{"requestId":${LONG},"reason":"no"}}`,
    `{"id":1,"method":"tools/call","params":{"_meta":{"progressToken":${LONG},"other":1},"name":"codex"}}`,
    `[{"id":${LONG}},{"id":2},{"id":"${LONG}"},{"id":"\\"${LONG}"}]`,
  ])("is written as it was read: %s", (text) => {
    expect(jsonText(parseJson(text))).toBe(text);
  });

  it("is told from its neighbours", () => {
    expect([LONG, "9007199254740995"].map((id) => parseJson(`{"id":${id}}`))).toEqual([
      { id: 9007199254740993n },
      { id: 9007199254740995n },
    ]);
  });

  it("is found whatever the texts around it hold", () => {
    const text = `{"params":{"text":"\\\\\\"id\\":${LONG}","requestId":1},"id":${LONG}}`;
    expect(parseJson(text)).toEqual({ params: { text: `\\"id":${LONG}`, requestId: 1 }, id: 9007199254740993n });
  });
});

it("whatever else is in a message is read as ever", () => {
  const text = `{"id":9007199254740992,"params":{"arguments":{"id":${LONG},"list":[${LONG}]},"requestId":1e30,"_meta":{"progressToken":9007199254740993.0}}}`;
  expect(parseJson(text)).toEqual(JSON.parse(text));
  expect(parseJson(`{"id":${LONG},"params":[${LONG}]}`)).toEqual({ id: 9007199254740993n, params: [9007199254740992] });
  for (const plain of ["null", "[]", '"x"', "1", '{"params":null}', '{"id":1,"params":{"_meta":null}}'])
    expect(parseJson(plain)).toEqual(JSON.parse(plain));
});

it("what is no JSON is refused", () => {
  expect(() => parseJson("{")).toThrow(SyntaxError);
});

it("what no JSON can be made of is refused as ever", () => {
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  expect(() => jsonText(circle)).toThrow(TypeError);
  expect(jsonText(undefined)).toBe("null");
});
