import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { shellQuote, shellWords } from "./words.js";

it.each<[string[], string]>([
  [["bash", "-lc", "touch made.txt"], "bash -lc 'touch made.txt'"],
  [["/bin/bash", "-lc", "echo hi"], "/bin/bash -lc 'echo hi'"],
  [["a+b", "c-d", "e.f", "g/h", "i:j", "k@l", "m]", "n_o"], "a+b c-d e.f g/h i:j k@l m] n_o"],
  [["a=b", "c,d", "e%f", "~g", "*h", "{i}", "#j", "é"], "'a=b' 'c,d' 'e%f' '~g' '*h' '{i}' '#j' 'é'"],
  [["", "two\nlines", "$x `y`"], "'' 'two\nlines' '$x `y`'"],
  [["it's"], `"it's"`],
  [['printf "a\\n"'], '"printf \\"a\\\\n\\""'],
  [["it's $5"], `"it's "'$5'`],
  [["^a!b^c"], "'^a!b''^c'"],
  [["a\0b", "c d"], "a\0b c d"],
])("%j is written as %s", (argv, line) => expect(shellQuote(argv)).toBe(line));

it("a shell reads back every word", () => {
  const words = ["", "a b", "it's", `"'\\$\``, "^^!!", "\\", "a\\'b^c\n\td", "-n", "😀'é", "$HOME ~ * {a,b}"];
  const run = spawnSync("sh", ["-c", `printf '%s\\0' ${shellQuote(words)}`], { encoding: "utf8" });
  expect(run.stdout.split("\0").slice(0, -1)).toEqual(words);
});

it.each<[string, string[] | undefined]>([
  ["git  status", ["git", "status"]],
  [" ls\t-la\n", ["ls", "-la"]],
  [`echo 'a b' "c \\"d\\" \\n" e\\ f g'h'"i"`, ["echo", "a b", 'c "d" \\n', "e f", "ghi"]],
  [`echo '' ""`, ["echo", "", ""]],
  ["", []],
  ["echo 'open", undefined],
  ['echo "open', undefined],
  ["echo a\\", undefined],
])("%j", (line, words) => expect(shellWords(line)).toEqual(words));
