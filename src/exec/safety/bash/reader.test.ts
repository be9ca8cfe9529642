import { beforeAll, describe, expect, it } from "vitest";
import { SeededRandom } from "../../../../test/support/patch/random.js";
import { type BashParser, openBashParser, openBashReader } from "./parser.js";
import { UNMISTAKABLE_SCRIPTS } from "./reader.js";

let grammar: BashParser;
beforeAll(async () => {
  grammar = await openBashParser();
});

const KNOWN_WORDS = "true ls git rm -rf -la time if then do in for export let test bash -c -lc echo 0 12 -5 2 a,b x.y 5% @{u}".split(" ");
const SIGNS = [..."abz09_./:@%+,-=~"];

function randomScript(random: SeededRandom): string {
  const word = () => (random.below(2) ? random.pick(KNOWN_WORDS) : random.several(1, 6, () => random.pick(SIGNS)).join(""));
  return random.several(1, 6, word).join(" ");
}

it.each([1, 2, 3])("what it reads, the grammar reads the same (seed %i)", (seed) => {
  const random = new SeededRandom(seed);
  const scripts = Array.from({ length: 9_000 }, () => randomScript(random)).filter((text) => UNMISTAKABLE_SCRIPTS.canRead(text));
  expect(scripts.length).toBeGreaterThan(500);
  for (const text of scripts) {
    expect(UNMISTAKABLE_SCRIPTS.plainCommands(text)).toEqual(grammar.plainCommands(text));
    expect(UNMISTAKABLE_SCRIPTS.mentionedCommands(text)).toEqual(grammar.mentionedCommands(text));
    expect(grammar.patchHeredoc(text)).toBeUndefined();
    expect(grammar.canRead(text)).toBe(true);
  }
});

describe("whoever asks gets the grammar unless every word is plain", () => {
  it.each<[string[], "words" | "grammar"]>([
    [["bash", "-lc", "true"], "words"],
    [["/bin/bash", "-lc", "git status --short"], "words"],
    [["rm", "-rf", "x"], "words"],
    [["bash", "-lc", "ls | head"], "grammar"],
    [["bash", "-lc", "ls  x"], "grammar"],
    [["bash", "-lc", "ls\nrm x"], "grammar"],
    [["bash", "-lc", "A=1 ls"], "grammar"],
    [["bash", "-lc", "export A"], "grammar"],
    [["bash", "-lc", "bash -c if"], "grammar"],
    [["env", "bash", "-c", "rm $x"], "grammar"],
    [["bash", "-lc", ""], "grammar"],
    [["bash", "-lc", "x".repeat(10_001)], "grammar"],
  ])("%j", async (argv, expected) => {
    expect(await openBashReader(argv)).toBe(expected === "words" ? UNMISTAKABLE_SCRIPTS : grammar);
  });
});

it("what it cannot read is neither plain nor harmless", () => {
  const loop = "while true; do rm x; done";
  expect(UNMISTAKABLE_SCRIPTS.canRead(loop)).toBe(false);
  expect(UNMISTAKABLE_SCRIPTS.plainCommands(loop)).toBeUndefined();
});
