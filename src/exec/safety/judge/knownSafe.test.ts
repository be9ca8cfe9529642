import { beforeAll, describe, expect, it } from "vitest";
import { type BashParser, openBashParser } from "../bash/parser.js";
import { isKnownSafe } from "./knownSafe.js";

let parser: BashParser;
beforeAll(async () => {
  parser = await openBashParser();
});

const inBash = (script: string) => ["bash", "-lc", script];

describe("commands that only look are safe", () => {
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

describe("others are not", () => {
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

  it("a shell of the workspace is not, whatever its script", () => {
    expect(isKnownSafe(["../bash", "-lc", "ls"], parser)).toBe(false);
  });

  it.each([[["bash", "-lc"]], [["bash", "-lc", "ls", "x"]], [["bash", "-ec", "ls"]], [["bash", "ls"]], [[]]])("%j", (argv) => {
    expect(isKnownSafe(argv, parser)).toBe(false);
  });
});

it("numfmt and tac count on Linux only", () => {
  expect(["numfmt 5", "tac a"].map((script) => isKnownSafe(inBash(script), parser, { platform: "darwin" }))).toEqual([false, false]);
});
