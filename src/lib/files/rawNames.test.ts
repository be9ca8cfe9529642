import { expect, it } from "vitest";
import { hasRawBytes, pathBytes, textOfName } from "./rawNames.js";

it.each([
  ["letters", [0x61, 0x62], false],
  ["characters of two to four bytes", [...Buffer.from("é€😀\ufffd")], false],
  ["a byte of Latin 1 between letters", [0x61, 0xe9, 0x62], true],
  ["a character that ends early", [0xe2, 0x82], true],
  ["half of a surrogate pair", [0xed, 0xb2, 0x80], true],
  ["every byte", Array.from({ length: 255 }, (_, at) => at + 1), true],
])("a name with %s leads back to its bytes", (_, bytes, isRaw) => {
  const text = textOfName(Buffer.from(bytes));
  expect([Buffer.from(pathBytes(text)), hasRawBytes(text)]).toEqual([Buffer.from(bytes), isRaw]);
});

it("different names have different texts", () => {
  expect(new Set([[0xe9], [0xe8], [0xef, 0xbf, 0xbd]].map((bytes) => textOfName(Buffer.from(bytes)))).size).toBe(3);
});
