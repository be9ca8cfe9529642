import { expect, it } from "vitest";
import { outputText } from "./outputText.js";

/** The text that Codex 0.92.0 showed for the same bytes. */
it.each([
  ["UTF-8", "e4bda0e5a5bd", "你好"],
  ["windows-1252", "636166e9206e61ef76652072e973756de90a", "café naïve résumé\n"],
  ["windows-1252, the last letter", "6572726575723a2066696368696572206e6f6e2074726f7576e90a", "erreur: fichier non trouvé\n"],
  ["windows-1252, a letter alone", "e9", "é"],
  ["windows-1252, a stray byte", "6f6b20ff206261640a", "ok ÿ bad\n"],
  ["windows-1252, quotation marks", "93736d61727494209620697492730a", "“smart” – it’s\n"],
  ["windows-1252, a space", "61a0620a", "a\u00a0b\n"],
  ["windows-1251", "cff0e8e2e5f220ece8f02c20eae0ea20e4e5ebe00a", "Привет мир, как дела\n"],
  ["IBM866", "8fe0a8a2a5e220aca8e00a", "Привет мир\n"],
  ["KOI8-R", "f0d2c9d7c5d420cdc9d20a", "Привет мир\n"],
  ["windows-1250", "5a61bff3b3e62067ea9c6cb9206a619ff10a", "Zażółć gęślą jaźń\n"],
  ["windows-1253", "cae1ebe7ecddf1e120eafcf3ece50a", "Καλημέρα κόσμε\n"],
  ["windows-1255", "f9ece5ed20f2e5eced0a", "שלום עולם\n"],
  ["Shift_JIS", "93fa967b8cea82cc8365835883670a", "日本語のテスト\n"],
  ["EUC-JP", "c6fccbdcb8eca4c7a4b90a", "日本語です\n"],
  ["GBK", "c4e3bac3cac0bde70a", "你好世界\n"],
  ["Big5", "a741a66ea540acc90a", "你好世界\n"],
  ["EUC-KR", "bec8b3e7c7cfbcbcbfe40a", "안녕하세요\n"],
  ["windows-1252, an apostrophe between letters", "e96ce8766520e0206c92e9636f6c650a", "élève à l’école\n"],
  ["windows-1252, several letters in a row", "e4f6fcdf0a", "äöüß\n"],
  ["windows-1252, words alone", "53e36f205061756c6f0a", "São Paulo\n"],
  ["windows-1252, circumflexes", "6372e86d65206272fb6ce9650a", "crème brûlée\n"],
  ["windows-1252, for bytes that are no words", "80ff80ff80ff0a", "€ÿ€ÿ€ÿ\n"],
  ["windows-1252, for UTF-8 with a stray byte", "636166c3a920ff0a", "cafÃ© ÿ\n"],
  ["windows-1256", "e3d1cdc8c720c8c7e1dac7e1e30a", "مرحبا بالعالم\n"],
  ["nothing but a mark", "fffe", ""],
  ["UTF-16 with its mark", "fffe680069000a00", "hi\n"],
  ["the head of a picture", "89504e470d0a1a0a0000", "‰PNG\r\n\u001a\n\u0000\u0000"],
])("reads %s", (_encoding, hex, text) => {
  expect(outputText(Buffer.from(hex, "hex"))).toBe(text);
});

it("of much output takes the encoding of its beginning", () => {
  const line = Buffer.from("cff0e8e2e5f220ece8f02c20eae0ea20e4e5ebe00a", "hex");
  expect(outputText(Buffer.concat(Array.from({ length: 4_000 }, () => line)))).toBe("Привет мир, как дела\n".repeat(4_000));
});

it("of no output is empty", () => {
  expect(outputText(Buffer.alloc(0))).toBe("");
});
