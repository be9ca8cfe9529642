import { beforeAll, describe, expect, it } from "vitest";
import { type BashParser, openBashParser } from "../bash/parser.js";
import { isDangerous } from "./dangerous.js";

let parser: BashParser;
beforeAll(async () => {
  parser = await openBashParser();
});

const inBash = (script: string) => ["bash", "-lc", script];

describe("commands that destroy are dangerous", () => {
  it.each([
    "rm -f a",
    "rm -rf a",
    "git reset",
    "git reset --hard HEAD~1",
    "/usr/bin/git rm a",
    "sudo rm -rf /",
    "ls && rm -rf a",
    "echo a | sudo git reset",
  ])("%s", (script) => expect(isDangerous(inBash(script), parser)).toBe(true));

  it.each([
    "rm -fr a",
    "rm -r -f a",
    "rm a -Rf",
    "rm --recursive --force a",
    "rm --forc a",
    "/bin/rm -rf a",
    "git -C dir reset --hard",
    "git -c a.b=c --no-pager rm x",
    "git --git-dir x clean -fd",
    "git clean -fdx",
    "git push -f",
    "git push --force origin main",
    "git push --force-with-lease=x",
    "git push --mirror",
    "git push origin --delete x",
    "git push origin +main",
    "git push origin :x",
    "git branch -D x",
    "git branch -d -f x",
    "git checkout -f main",
    "git switch --discard-changes main",
    "git stash drop",
    "git stash clear",
    "git reflog expire --all",
    "git update-ref -d refs/x",
    "git filter-branch x",
    "find . -name x -delete",
    "find . -exec rm -rf {} +",
    "shred a",
    "mkfs.ext4 /dev/sda",
    "wipefs /dev/sda",
    "dd if=a of=/dev/sda",
    "sudo -u root rm -rf a",
    "sudo -n env A=1 nice -n 5 rm -rf a",
    "timeout -k 1 5 rm -rf a",
    "ls | xargs -n 1 rm -f",
    "command rm -rf a",
    'rm -rf "$HOME"',
    "A=1 rm -rf a > log 2>&1",
    "(rm -rf a) &",
    "for f in *; do rm -f $f; done",
    'echo "$(rm -rf a)"',
    "if true; then git push -f; fi",
    "bash -ec 'rm -rf a'",
    `sh -c "bash -c 'rm -rf a'"`,
    "rm \\\n -rf a",
    '"rm" -rf a',
    "ls && rm -rf a &&",
  ])("stricter than Codex: %s", (script) => expect(isDangerous(inBash(script), parser)).toBe(true));

  it("without a shell, and with any flags of one", () => {
    const calls = [
      ["rm", "-rf", "a"],
      ["bash", "--login", "-c", "rm -rf a"],
      ["bash", "-ec", "rm -rf a", "x"],
    ];
    expect(calls.map((argv) => isDangerous(argv, parser))).toEqual([true, true, true]);
  });
});

describe("others are not", () => {
  it.each([
    "rm a",
    "rm -r a",
    "rm -- -f",
    "echo rm -rf a",
    "git status",
    "git commit -m 'git reset'",
    "git push",
    "git push -u origin main",
    "git clean -n",
    "git clean -fdn",
    "git clean --dry-run",
    "git branch -d x",
    "git checkout main",
    "git stash",
    "find . -exec cat {} +",
    "dd if=a of=b",
    "dd if=a of=/dev/null",
    "sudo ls",
    "xargs rm",
    "timeout 5 ls",
    "env",
    "touch a > b",
    "grep -rf patterns .",
  ])("%s", (script) => expect(isDangerous(inBash(script), parser)).toBe(false));

  it("scripts within scripts are followed only so far", () => {
    const nested = (depth: number): string[] => (depth === 0 ? ["rm", "-rf", "a"] : ["sudo", ...nested(depth - 1)]);
    expect([isDangerous(nested(5), parser), isDangerous(nested(6), parser)]).toEqual([true, false]);
  });
});

it("a script too long to be read is", () => {
  expect(isDangerous(inBash(`ls ${"a ".repeat(600_000)}`), parser)).toBe(true);
});

it("what is allowed is not dangerous, and neither is what it runs", () => {
  const allowed = (program: string) => (words: readonly string[]) => words[0] === program;
  const script = inBash("sudo rm -rf a");
  expect([isDangerous(script, parser, allowed("sudo")), isDangerous(script, parser, allowed("ls"))]).toEqual([false, true]);
});
