import { expect, it } from "vitest";
import { INSIDE_CALLER, SCOPES } from "../agent/caller.js";
import { MARK_HEADER } from "../exec/nesting/turnMark.js";
import { callerOf } from "./network.js";

const OPERATOR = { principal: "root", scopes: [...SCOPES], roots: ["/srv"] };

it("an identity is a caller with the scopes that we know", () => {
  expect(callerOf({ principal: "ada", scopes: ["read", "invented", "call"] }, { headers: {} })).toEqual({
    principal: "ada",
    scopes: ["call", "read"],
  });
  expect(callerOf(OPERATOR, { headers: {} })).toEqual(OPERATOR);
});

it("a caller from inside a turn has one identity, whatever its token", () => {
  expect(callerOf({ ...OPERATOR, inside: true }, { headers: {} })).toBe(INSIDE_CALLER);
  expect(callerOf(OPERATOR, { headers: { [MARK_HEADER]: "anything" } })).toBe(INSIDE_CALLER);
});
