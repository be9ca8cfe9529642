import { beforeAll, expect, it } from "vitest";
import { isDangerous, isUnreadable } from "../judge/effects.js";
import { commandsWithin } from "./commandsWithin.js";
import { type BashParser, openBashParser } from "./reader.js";
import { UNREAD_COMMANDS } from "./words.js";

let parser: BashParser;
beforeAll(async () => {
  parser = await openBashParser();
});

/** Nested scripts; each expects all the scripts inside it. */
function nested(levels: number): string[] {
  let script = "rm -rf x";
  for (let level = 0; level < levels; level++) script = `eval x${level} $(${script})`;
  return ["bash", "-c", script];
}

it("each script is parsed once, however often the ones around it name it", () => {
  let parsed = 0;
  const counting = {
    canRead: (script: string) => parser.canRead(script),
    plainCommands: (script: string) => parser.plainCommands(script),
    patchHeredoc: (script: string) => parser.patchHeredoc(script),
    mentionedCommands: (script: string) => {
      parsed++;
      return parser.mentionedCommands(script);
    },
  };
  const commands = [...commandsWithin(nested(20), counting)];
  expect(parsed).toBeLessThanOrEqual(21);
  expect(commands).toContainEqual(["rm", "-rf", "x"]);
});

it.each(["eval", "trap", "git -c", "bash -c"])("the script of `%s` counts as unreadable if it is too long", (program) => {
  const script = `alias.x=!rm -rf x; : ${"x".repeat(1_000_000)}`;
  expect([...commandsWithin([...program.split(" "), script], parser)].some((words) => isUnreadable(words, parser))).toBe(true);
});

it("scripts beyond the limit count as unreadable", () => {
  const many = ["bash", "-c", Array.from({ length: 60 }, (_, at) => `eval "true ${at}"`).join("; ")];
  expect([isDangerous(many, parser), [...commandsWithin(many, parser)].includes(UNREAD_COMMANDS)]).toEqual([true, true]);
});

it.each([
  ["a wrapper of thousands of words", `${"env ".repeat(5_000)}x`],
  ["a script of more than a mebibyte", `true ${"x".repeat(2 ** 20)}`],
  ["a search with thousands of actions", `find . ${"-exec find ".repeat(5_000)}`],
  ["a search with thousands of actions that end", `find . ${"-exec x ';' ".repeat(5_000)}`],
  ["an action of thousands of words", `find . -exec ${"a ".repeat(5_000)}`],
])("%s is not examined completely, and counts as unreadable", (_, script) => {
  const commands = [...commandsWithin(["bash", "-c", script], parser, { everyBeginning: true })];
  expect(commands).toContain(UNREAD_COMMANDS);
  expect(commands.every((words) => words.length <= 15_002)).toBe(true);
  expect(commands.reduce((sum, words) => sum + words.length, 0)).toBeLessThan(600_000);
});

it.each([
  ["commands that contain each other", `${"$(echo ".repeat(4_000)}x${")".repeat(4_000)}`],
  [
    "many scripts of such commands",
    Array.from({ length: 40 }, (_, at) => `eval '${"$(x ".repeat(900)}${at}${")".repeat(900)}'`).join("; "),
  ],
])("%s are examined up to a limit, and then count as unreadable", (_, script) => {
  const commands = [...commandsWithin(["bash", "-c", script], parser.forCall())];
  expect(commands).toContain(UNREAD_COMMANDS);
  expect(commands.flat().reduce((sum, word) => sum + word.length, 0)).toBeLessThan(20 * 2 ** 20);
});
