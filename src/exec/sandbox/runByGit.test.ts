import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { GuardedNameSearch } from "./guardedNameSearch.js";
import { runByGit } from "./runByGit.js";

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(path.join(tmpdir(), "run-by-git-")));
});
afterEach(() => rmSync(root, { recursive: true }));

function write(name: string, text = "x\n"): void {
  mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
  writeFileSync(path.join(root, name), text);
}

function found(workTree = "", within = ""): string[] {
  return runByGit(path.join(root, workTree), path.join(root, within)).map((file) => path.relative(root, file));
}

it("finds a folder of hooks and the targets of links in it, and for Husky also the parent folder with its scripts", () => {
  write(".git/config", "[core]\n\thooksPath = tools/hooks\n");
  write("tools/hooks/pre-commit");
  write("scripts/check");
  symlinkSync("../../scripts/check", path.join(root, "tools/hooks/pre-push"));
  expect(found().sort()).toEqual(["scripts/check", "tools/hooks"]);
  write("app/.git/config", "[core]\n\thooksPath = .husky/_\n");
  mkdirSync(path.join(root, "app/.husky/_"), { recursive: true });
  expect(found("app").sort()).toEqual(["app/.husky", "app/.husky/_"]);
});

it("finds a folder of hooks however its setting is written", () => {
  write("hooks/pre-commit");
  for (const config of [
    "[core] hooksPath = hooks\n",
    "[core]\n\thooksPath = hooks # of the team\n",
    '[core]\n\thooksPath = "hoo"\\\nks\n',
  ]) {
    write(".git/config", config);
    expect(found(), config).toEqual(["hooks"]);
  }
});

it("finds included settings and the folders of hooks that they name, even if the settings include each other", () => {
  write(".git/config", "[include]\n\tpath = ../one.cfg\n");
  write("one.cfg", '[includeIf "gitdir:/"]\n\tpath = two.cfg\n');
  write("two.cfg", "[include]\n\tpath = one.cfg\n[core]\n\thooksPath = hooks\n");
  write("hooks/pre-commit");
  expect(found().sort()).toEqual(["hooks", "one.cfg", "two.cfg"]);
});

it("finds for a worktree what its own settings name and what those of its main repository name", () => {
  write("main/.git/worktrees/tree/commondir", "../..\n");
  write("main/.git/config", "[core]\n\thooksPath = hooks\n");
  write("main/.git/worktrees/tree/config.worktree", "[include]\n\tpath = ../../../../tree/own.cfg\n");
  write("tree/.git", "gitdir: ../main/.git/worktrees/tree\n");
  write("tree/own.cfg");
  write("tree/hooks/pre-commit");
  expect(found("tree", "tree").sort()).toEqual(["tree/hooks", "tree/own.cfg"]);
});

it("finds the last of several folders of hooks in a file, as git does, and a limited number of included files", () => {
  const includes = Array.from({ length: 300 }, (_, at) => `\tpath = ../settings/${at}.cfg\n`);
  write(".git/config", `[core]\n\thooksPath = first\n\thooksPath = second\n[include]\n${includes.join("")}`);
  for (let at = 0; at < 300; at++) write(`settings/${at}.cfg`);
  for (const folder of ["first", "second"]) write(`${folder}/pre-commit`);
  const names = found();
  expect(names.filter((name) => !name.startsWith("settings/"))).toEqual(["second"]);
  expect(names).toHaveLength(101);
});

it.each([
  ["XDG_CONFIG_HOME", "user", "user/git/config"],
  ["GIT_CONFIG_GLOBAL", "user/other", "user/other"],
  ["GIT_CONFIG_SYSTEM", "user/system", "user/system"],
])("finds what the settings for all repositories name, where %s says that they are", (variable, place, file) => {
  write("work/.git/config", "[core]\n\tbare = false\n");
  write("work/.githooks/pre-commit");
  write(file, "[core]\n\thooksPath = .githooks\n");
  vi.stubEnv(variable, path.join(root, place));
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(found("work", "work")).toEqual(["work/.githooks"]);
});

it.each([
  ["nothing is named", "[core]\n\tbare = false\n"],
  ["the folder is missing", "[core]\n\thooksPath = nowhere\n"],
  ["the folder is a file", "[core]\n\thooksPath = .git/config/hooks\n"],
  ["the folder contains the work tree", "[core]\n\thooksPath = ..\n"],
  ["the folder is the work tree", "[core]\n\thooksPath = .\n"],
  ["the folder lies elsewhere", "[core]\n\thooksPath = /usr/bin\n"],
])("finds nothing where %s", (_, config) => {
  write(".git/config", config);
  write("pre-commit");
  expect(found()).toEqual([]);
});

it("a search reads the settings of a limited number of repositories, wherever they lie", async () => {
  write(".git/config", "[core]\n\thooksPath = hooks\n");
  write(".git/HEAD");
  for (let at = 0; at < 300; at++) write(`hooks/${at}/.git/config`);
  const { names, isComplete } = await new GuardedNameSearch().find(root);
  expect({ names: names.map((file) => path.relative(root, file)), isComplete }).toEqual({ names: ["hooks"], isComplete: false });
});
