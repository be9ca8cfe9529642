import { expect, it } from "vitest";
import { shellWords } from "./shellWords.js";

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
