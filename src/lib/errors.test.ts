import { expect, it } from "vitest";
import { AppError, describe as describeError, errorCode } from "./errors.js";

class OutOfPaper extends AppError {
  readonly code = "out_of_paper";
}

it("a foreseen error carries its own name, its code and its cause", () => {
  const cause = new Error("tray 2");
  const { name, message, code, cause: kept } = new OutOfPaper("no paper", { cause });
  expect({ name, message, code, kept }).toEqual({ name: "OutOfPaper", message: "no paper", code: "out_of_paper", kept: cause });
});

it.for([
  [new Error("no space left"), "no space left"],
  [new TypeError(), "TypeError"],
  ["a text", "a text"],
  [{ status: 5 }, '{"status":5}'],
  [null, "null"],
  [undefined, "undefined"],
] as const)("whatever was thrown is described in words: %o", ([thrown, words]) => {
  expect(describeError(thrown)).toBe(words);
});

it("the system's code of an error is found if there is one", () => {
  const refused = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
  const odd = Object.assign(new Error("odd"), { code: 5 });
  expect([refused, odd, new Error("plain"), { code: "ENOENT" }, null].map(errorCode)).toEqual([
    "ECONNREFUSED",
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
