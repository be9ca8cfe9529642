import { expect, it } from "vitest";
import { maskSent } from "./mask.js";

it("takes the values of headers out of a text, wherever they stand", () => {
  const headers = { authorization: "Bearer sk-0123456789", "api-key": "another-secret" };
  expect(maskSent("sk-0123456789 and another-secret, again: Bearer sk-0123456789", headers)).toEqual("**** and ****, again: Bearer ****");
});

it("leaves short values alone, which are no secrets", () => {
  expect(maskSent("version 1 of 10", { "api-version": "1" })).toEqual("version 1 of 10");
});
