import { expect, it } from "vitest";
import { assertNever } from "./assertNever.js";

it("a value that slipped past the compiler is named", () => {
  const slipped: unknown = { type: "surprise" };
  // The test needs the cast: it passes a value that the type excludes.
  expect(() => assertNever(slipped as never)).toThrow('Unexpected value: {"type":"surprise"}');
});
