import { beforeAll, describe, expect, it } from "vitest";
import { type BashParser, openBashParser } from "../bash/reader.js";
import { isDangerous, isKnownSafe } from "./effects.js";

let parser: BashParser;
beforeAll(async () => {
  parser = await openBashParser();
});

const inBash = (script: string) => ["bash", "-lc", script];

describe("commands that only read are safe", () => {
  it.each([
    ..."cat cd cut echo expr false grep head id ls nl numfmt paste pwd rev seq stat tac tail tr true uname uniq wc which whoami".split(" "),
    "ls -la src",
    "/usr/bin/cat a",
    "base64 -d a",
    "find . -name '*.ts' -type f",
    "find ./* -maxdepth 1",
    "rg -n 'foo|bar' src",
    "rg --files -g'*.ts'",
    "git status --short",
    "git log --oneline -5",
    "git diff -- --output=f",
    "git show HEAD:a",
    "git branch",
    "git branch -a",
    "git branch -vv",
    "git branch --show-current",
    "git branch --list 'feature/*'",
    "git branch --contains main",
    "git branch --sort=-committerdate",
    "sed -n 12p a",
    "sed -n 3,9p a",
    "sed -n 3,9p",
    "uniq -c in",
    "uniq -f 2 in",
    "cd src && ls | wc -l; pwd || true",
  ])("%s", (script) => expect(isKnownSafe(inBash(script), parser, { platform: "linux" })).toBe(true));

  it.each(["bash", "zsh", "sh", "/bin/zsh", "/usr/bin/bash"])("run by %s", (shell) => {
    expect([isKnownSafe([shell, "-lc", "ls"], parser), isKnownSafe([shell, "-c", "ls"], parser)]).toEqual([true, true]);
  });

  it("without a shell", () => {
    expect(isKnownSafe(["git", "status"], parser)).toBe(true);
  });
});

describe("outside any sandbox", () => {
  const trusts = (name: string) => name !== "ls";
  const safe = (script: string) => isKnownSafe(inBash(script), parser, { platform: "linux", trusts });

  it.each(["cat a", "cd src && cat a | wc -l", "/usr/bin/ls", "/bin/cat a"])("%s is safe", (script) => expect(safe(script)).toBe(true));

  it.each([
    "git status",
    "git diff",
    "git log -1",
    "git show HEAD",
    "git branch",
    "/usr/bin/git status",
    "cat a && git status",
    "ls",
    "cat a | ls",
  ])("%s is not: a repository or a planted program decides what runs", (script) => expect(safe(script)).toBe(false));
});

describe("other commands are not safe", () => {
  it.each([
    "touch a",
    "rm a",
    "mv a b",
    "python3 -c 1",
    "ls && touch a",
    "ls | tee a",
    "ls > a",
    "echo $(touch a)",
    "bash -lc ls",
    "xargs ls",
    "git",
    "git commit",
    "git -C dir status",
    "git -c core.fsmonitor=./x status",
    "git --no-pager log",
    "base64 -o out in",
    "base64 -oout in",
    "base64 --output=out in",
    "find . -delete",
    "find . -exec rm {} +",
    "find . -execdir x",
    "find . -ok x",
    "find . -fprintf f x",
    "rg --pre ./x foo",
    "rg --pre=./x foo",
    "rg --hostname-bin ./x foo",
    "rg -z foo",
    "rg --search-zip foo",
    "sed -n s/a/b/ f",
    "sed 1p f",
    "sed -i 1p f",
    "sed -n 1p a b",
    "cargo test",
  ])("%s", (script) => expect(isKnownSafe(inBash(script), parser, { platform: "linux" })).toBe(false));

  it.each([
    ["a program of the workspace", "./ls"],
    ["a program somewhere", "/home/me/cat a"],
    ["git writing a file", "git diff --output=f"],
    ["git writing a file, cut short", "git log --outp f"],
    ["git running a program", "git show --ext-diff"],
    ["a new branch", "git branch x"],
    ["a branch deleted", "git branch -D x"],
    ["a branch deleted among options", "git branch -v -D x"],
    ["a branch renamed", "git branch -m a b"],
    ["a branch in a list deleted", "git branch --list -D x"],
    ["a branch's upstream", "git branch -u origin/x"],
    ["build scripts", "cargo check"],
    ["uniq with an output file", "uniq in out"],
    ["uniq with an output file behind --", "uniq -- in out"],
    ["base64 with a cluster", "base64 -Do out"],
    ["rg with a cluster", "rg -nz foo"],
    ["sed with an option for a file", "sed -n 1p -i"],
    ["find over names that may be options", "find *"],
    ["git over names that may be options", "git diff *"],
    ["rg over names that may be options", "rg x *"],
    ["uniq over names", "uniq *"],
    ["an escaped action", "find . -d\\elete"],
    ["a quoted action", `find . -de"let"e`],
    ["a brace expansion", "find . {-delete,-print}"],
  ])("stricter than Codex: %s", (_, script) => expect(isKnownSafe(inBash(script), parser, { platform: "linux" })).toBe(false));

  it("a shell from the workspace is not safe, whatever its script", () => {
    expect(isKnownSafe(["../bash", "-lc", "ls"], parser)).toBe(false);
  });

  it.each([[["bash", "-lc"]], [["bash", "-lc", "ls", "x"]], [["bash", "-ec", "ls"]], [["bash", "ls"]], [[]]])("%j", (argv) => {
    expect(isKnownSafe(argv, parser)).toBe(false);
  });
});

it("numfmt and tac count as safe on Linux only", () => {
  expect(["numfmt 5", "tac a"].map((script) => isKnownSafe(inBash(script), parser, { platform: "darwin" }))).toEqual([false, false]);
});

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

describe("other commands are not dangerous", () => {
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

  it("nested scripts are followed up to a depth, and count as unreadable beyond it", () => {
    const nested = (depth: number): string[] => (depth === 0 ? ["rm", "-rf", "a"] : ["sudo", ...nested(depth - 1)]);
    expect([isDangerous(nested(5), parser), isDangerous(nested(6), parser)]).toEqual([true, true]);
  });
});

it("a script that is too long to be read is dangerous", () => {
  expect(isDangerous(inBash(`ls ${"a ".repeat(600_000)}`), parser)).toBe(true);
});

it("an allowed command is not dangerous, and neither is what it runs", () => {
  const allowed = (program: string) => (words: readonly string[]) => words[0] === program;
  const script = inBash("sudo rm -rf a");
  expect([isDangerous(script, parser, allowed("sudo")), isDangerous(script, parser, allowed("ls"))]).toEqual([false, true]);
});
