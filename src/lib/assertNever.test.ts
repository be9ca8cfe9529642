import { expect, it } from "vitest";
import { assertNever } from "./assertNever.js";

it("a value that slipped past the compiler is named", () => {
  const slipped: unknown = { type: "surprise" };
  // The cast is the subject: a value of a type that should not be possible.
  expect(() => assertNever(slipped as never)).toThrow('Unexpected value: {"type":"surprise"}');
});
