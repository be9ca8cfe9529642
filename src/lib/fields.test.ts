import { expect, it } from "vitest";
import { isFields, isNestedTooDeeply, oneOf, parseForeignJson, textOrNothing, withoutUndefined } from "./fields.js";

it("only an object has fields", () => {
  expect([{}, { a: 1 }, [], null, undefined, "text", 5].map(isFields)).toEqual([true, true, false, false, false, false, false]);
});

it("a value counts if it has the right type", () => {
  expect(["text", "", 5, null].map(textOrNothing)).toEqual(["text", "", undefined, undefined]);
  expect(["yes", "no", "maybe", 5].map((value) => oneOf(["yes", "no"], value))).toEqual(["yes", "no", undefined, undefined]);
});

it("100 levels of objects and lists may be nested, and no more", () => {
  const nested = (levels: number) => JSON.parse(`${'{"a":1,"b":['.repeat(levels / 2)}${"]}".repeat(levels / 2)}`);
  expect([nested(100), nested(102), nested(200_000), 5, null, []].map(isNestedTooDeeply)).toEqual([false, true, true, false, false, false]);
});

it("a key without a value is omitted, one with null is not", () => {
  expect(Object.entries(withoutUndefined({ a: undefined, b: null, c: 0 }))).toEqual([
    ["b", null],
    ["c", 0],
  ]);
});

it.each([
  ["the first half of a character", '"a\\ud83d b"', "a\uFFFD b"],
  ["the second half", '"\\uDE00"', "\uFFFD"],
  ["two halves in the wrong order", '"\\ude00\\ud83d"', "\uFFFD\uFFFD"],
  ["two first halves and a second one", '"\\ud83d\\ud83d\\ude00"', "\uFFFD😀"],
  ["a half in a key", '{"\\ud83d":1}', { "\uFFFD": 1 }],
])("in foreign JSON, %s is replaced", (_, json, value) => expect(parseForeignJson(json)).toEqual(value));

it.each([
  ["a whole character", '"\\ud83d\\uDE00"', "😀"],
  ["a backslash before the letters", '"\\\\ud83d"', "\\ud83d"],
  ["two backslashes before an escape", '"\\\\\\u0041"', "\\A"],
  ["what has no escapes", '{"a":["b",1,null]}', { a: ["b", 1, null] }],
])("in foreign JSON, %s stays as it is", (_, json, value) => expect(parseForeignJson(json)).toEqual(value));

it("text that is not JSON is an error", () => {
  expect(() => parseForeignJson('"\\ud83')).toThrow(SyntaxError);
  expect(() => parseForeignJson('\\ud83d"')).toThrow(SyntaxError);
});
