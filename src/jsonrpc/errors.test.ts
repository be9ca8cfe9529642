import { expect, it } from "vitest";
import { invalidParams, methodNotFound, RPC, RpcError } from "./errors.js";

it("an unknown method is refused by name, for people and for programs", () => {
  expect(methodNotFound("foo/bar")).toEqual(new RpcError(RPC.methodNotFound, "method not found: foo/bar", { method: "foo/bar" }));
});

it("wrong parameters are refused with the reason", () => {
  expect(invalidParams("`name` must be a string")).toEqual(new RpcError(RPC.invalidParams, "`name` must be a string"));
});
