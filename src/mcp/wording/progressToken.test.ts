import { expect, it } from "vitest";
import { readProgressToken } from "./turnView.js";

it.for([
  [{ _meta: { progressToken: "token" } }, "token"],
  [{ _meta: { progressToken: 0 } }, 0],
  [{ _meta: { progressToken: "" } }, ""],
  [{ _meta: { progressToken: null } }, undefined],
  [{ _meta: { progressToken: {} } }, undefined],
  [{ _meta: {} }, undefined],
  [{ _meta: "token" }, undefined],
  [{ _meta: null }, undefined],
  [{}, undefined],
] as const)("the progress token of %j is %j", ([params, token]) => {
  expect(readProgressToken(params)).toBe(token);
});
