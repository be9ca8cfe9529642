import { expect, it } from "vitest";
import { gitSettings } from "./gitConfig.js";

function settingsIn(...lines: readonly string[]): string[] {
  return [...gitSettings(lines.join("\n"))].map(({ section, key, value }) => `${section}|${key}|${value}`);
}

it("settings are returned with their section, as git writes them", () => {
  const lines = [
    "[core]",
    "\tbare = false",
    '[remote "origin"]',
    "\turl = git@example.com:a/b.git",
    '\tFetch="x"',
    "[extensions] ",
    "objectFormat = sha256",
  ];
  expect(settingsIn(...lines)).toEqual([
    "core|bare|false",
    'remote "origin"|url|git@example.com:a/b.git',
    'remote "origin"|fetch|x',
    "extensions|objectformat|sha256",
  ]);
});

it.each([
  ["a value with quotes inside", 'a = x "y" z'],
  ["a line without a value", "bare"],
  ["a comment", "# [core]"],
  ["an unfinished section", "[core"],
  ["nothing", ""],
])("%s is left out", (_, line) => {
  expect(settingsIn(line)).toEqual([]);
});

it.each([
  ["an empty one", "a =", "|a|"],
  ["a single quote", 'a = "', "|a|"],
  ["blanks in quotes", 'a = " x "', "|a| x "],
  ["a Windows line end", "a = b\r", "|a|b"],
])("%s is a value", (_, line, told) => {
  expect(settingsIn(line)).toEqual([told]);
});
