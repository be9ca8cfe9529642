import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
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
  ["a value whose quotes are not closed", 'a = x "y'],
  ["a value with an unknown escape", "a = \\x"],
  ["a line without a value", "bare"],
  ["a comment", "# [core]"],
  ["an unfinished section", "[core"],
  ["nothing", ""],
])("%s is left out", (_, line) => {
  expect(settingsIn(line)).toEqual([]);
});

it.each([
  ["an empty one", "a =", "|a|"],
  ["blanks in quotes", 'a = " x "', "|a| x "],
  ["a Windows line end", "a = b\r", "|a|b"],
])("%s is a value", (_, line, told) => {
  expect(settingsIn(line)).toEqual([told]);
});

it.each([
  ["a setting in the line of its section", "[core] hooksPath = hooks\n"],
  ["comments after a value", "[core]\n\thooksPath = hooks # ours\n\tbare = false ; no\n[core] # a section\n\ta = b\n"],
  ["comment signs in quotes", '[core]\n\ta = "b # c" # d\n\te = f";"g\n'],
  ["quotes inside a value", '[core]\n\ta = b "c  d" e\n\tf = "g"h"i"\n'],
  ["escapes", '[core]\n\ta = b\\\\c\\"d\\te\n\tf = "\\"g\\""\n'],
  ["values over several lines", '[core]\n\ta = b \\\n  c\n\td = "e\\\nf"\n\tg = h\n'],
  ["blanks around a value", "[core]\n\ta =  b  c \t \r\n\td = e\n"],
  ["two sections in a line", "[a][core] hooksPath = hooks\n"],
  ["values over several lines with Windows line ends", "[core]\r\n\ta = b\\\r\nc\r\n\td = e\r\n"],
  ["many blanks after a value", `[core]\n\ta = b${" ".repeat(70_000)}\n\td = e\n`],
  ["brackets in the name of a section", '[a "b]c"] d = e\n[a "f\\"]"]\n\tg = h\n'],
])("reads %s as git does", (_, config) => {
  const folder = mkdtempSync(path.join(tmpdir(), "git-config-"));
  try {
    const file = path.join(folder, "config");
    writeFileSync(file, config);
    const told = execFileSync("git", ["config", "--file", file, "--null", "--list"], { encoding: "utf8" });
    // Each setting is `SECTION.KEY`, a line break, the value and NUL.
    const settings = told.split("\0").filter((setting) => setting !== "");
    const expected = settings.map((setting) => setting.slice(setting.lastIndexOf(".", setting.indexOf("\n")) + 1).replace("\n", " = "));
    expect([...gitSettings(config)].map(({ key, value }) => `${key} = ${value}`)).toEqual(expected);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
