import { expect, it } from "vitest";
import { isFields, oneOf, textOrNothing, withoutUndefined } from "./fields.js";

it("only an object has fields", () => {
  expect([{}, { a: 1 }, [], null, undefined, "text", 5].map(isFields)).toEqual([true, true, false, false, false, false, false]);
});

it("a value counts if it has the right type", () => {
  expect(["text", "", 5, null].map(textOrNothing)).toEqual(["text", "", undefined, undefined]);
  expect(["yes", "no", "maybe", 5].map((value) => oneOf(["yes", "no"], value))).toEqual(["yes", "no", undefined, undefined]);
});

it("a key without a value is omitted, one with null is not", () => {
  expect(Object.entries(withoutUndefined({ a: undefined, b: null, c: 0 }))).toEqual([
    ["b", null],
    ["c", 0],
  ]);
});
