import { expect, it } from "vitest";
import { callContent } from "../src/api/timeline/storedCalls.js";
import { anyShellScript } from "../src/exec/safety/bash/words.js";
import { parseJson } from "../src/jsonrpc/message.js";
import { withoutEndLines } from "../src/lib/endLines.js";
import { parseForeignJson } from "../src/lib/fields.js";
import { gitSettings } from "../src/lib/files/gitConfig.js";
import { isLikelySecret } from "../src/lib/likelySecret.js";
import { oneLine } from "../src/lib/oneLine.js";
import { JsonFault, placeAt, readPlaces } from "../src/lib/serdeJson.js";
import { maskLikelySecrets } from "../src/observability/redact.js";
import { findingsIn } from "../src/threads/reviewFindings.js";

const MANY = 1_000_000;

/** Models, callers and repositories can write such texts. A parser whose time grows quadratically would block the server for hours. */
it.each<[string, () => unknown, unknown]>([
  ["a heading of a review with many dashes", () => findingsIn(`- [P1] a${" -- b".repeat(MANY / 4)}\u2028`).length, 1],
  [
    "the name of a tool that ends in a line break",
    () => callContent({ type: "function_call", name: `mcp__${"_".repeat(MANY)}\n` }, undefined).type,
    "toolCall",
  ],
  ["an option of a shell with many letters", () => anyShellScript(["bash", `-${"c".repeat(MANY)}1`, "x"]), undefined],
  [
    "a number of many digits",
    () => parseJson(`{"id":12345678901234567890,"x":${"1".repeat(MANY)}e5}`),
    { id: 12_345_678_901_234_567_890n, x: Infinity },
  ],
  [
    "a string of many escapes",
    () => Object.keys(parseJson(`{"id":12345678901234567890,"x":"${"\\n".repeat(8 * MANY)}"}`) as object),
    ["id", "x"],
  ],
  ["many line breaks in the middle", () => withoutEndLines(`${"\n".repeat(MANY)}x\n`).length, MANY + 1],
  ["a setting of many blanks", () => [...gitSettings(`a = x${" ".repeat(MANY)}"x`)], []],
  ["a setting in many lines", () => [...gitSettings(`a = ${"x\\\n".repeat(MANY)}`)].length, 0],
  ["what could be a password of many pluses", () => maskLikelySecrets(`basic${"+".repeat(MANY)}`).length, MANY + 5],
  ["what could be many passwords in a row", () => maskLikelySecrets("basic+".repeat(MANY)).length, 6 * MANY],
  ["what could be many JWTs in a row", () => maskLikelySecrets("-eyj".repeat(MANY)).length, 4 * MANY],
  ["an address of many colons", () => isLikelySecret("PAGE", `a://${":".repeat(MANY)}`), false],
  [
    "a list under a long name",
    () => {
      const places = readPlaces(`{"${"k".repeat(MANY)}":[${"0,".repeat(MANY)}0]}`);
      return places instanceof JsonFault ? places.message : placeAt(places, ["k".repeat(MANY), MANY])?.from;
    },
    3 * MANY + 5,
  ],
  ["a text of many halves of characters", () => String(parseForeignJson(`"${"\\\\\\ud83d".repeat(MANY)}"`)).length, 2 * MANY],
  ["a text of many words", () => oneLine("a ".repeat(8 * MANY), 5), "a a …"],
])("%s is read in one pass", (_, read, expected) => {
  expect(read()).toEqual(expected);
});
