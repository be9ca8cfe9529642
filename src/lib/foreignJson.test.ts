import { expect, it } from "vitest";
import { parseForeignJson } from "./foreignJson.js";

it.each([
  ["the first half of a character", '"a\\ud83d b"', "a\uFFFD b"],
  ["the second half", '"\\uDE00"', "\uFFFD"],
  ["two halves in the wrong order", '"\\ude00\\ud83d"', "\uFFFD\uFFFD"],
  ["two first halves and a second one", '"\\ud83d\\ud83d\\ude00"', "\uFFFD😀"],
  ["a half in a key", '{"\\ud83d":1}', { "\uFFFD": 1 }],
])("%s is replaced", (_, json, value) => expect(parseForeignJson(json)).toEqual(value));

it.each([
  ["a whole character", '"\\ud83d\\uDE00"', "😀"],
  ["a backslash before the letters", '"\\\\ud83d"', "\\ud83d"],
  ["two backslashes before an escape", '"\\\\\\u0041"', "\\A"],
  ["what has no escapes", '{"a":["b",1,null]}', { a: ["b", 1, null] }],
])("%s stays as it is", (_, json, value) => expect(parseForeignJson(json)).toEqual(value));

it("other texts are errors", () => {
  expect(() => parseForeignJson('"\\ud83')).toThrow(SyntaxError);
  expect(() => parseForeignJson('\\ud83d"')).toThrow(SyntaxError);
});
