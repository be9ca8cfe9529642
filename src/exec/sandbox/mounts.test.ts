import { expect, it } from "vitest";
import { planMounts } from "./mounts.js";

function root(folder: string, protectedPaths: readonly string[] = [`${folder}/.git`]) {
  return { given: folder, root: folder, links: [], protectedPaths, temporary: false };
}

function plan(...args: Parameters<typeof planMounts>): string[] {
  return planMounts(...args).map(({ path, access }) => `${access} ${path}`);
}

it("a root is writable, and what is protected in it is mounted on top", () => {
  expect(plan([root("/w")], [])).toEqual(["write /w", "read /w/.git"]);
});

it("a root inside a root is held in place by mounts on every folder between", () => {
  expect(plan([root("/t"), root("/t/a/b/w")], [])).toEqual([
    "write /t",
    "read /t/.git",
    "write /t/a",
    "write /t/a/b",
    "write /t/a/b/w",
    "read /t/a/b/w/.git",
  ]);
});

it("a root inside a protected folder is opened again", () => {
  expect(plan([root("/w"), root("/w/.git/lfs", [])], [])).toEqual(["write /w", "read /w/.git", "write /w/.git/lfs"]);
});

it("a protected path outside all roots needs nothing", () => {
  expect(plan([root("/w", ["/w/.git", "/main/.git"])], [])).toEqual(["write /w", "read /w/.git"]);
});

it("hidden files are hidden wherever they are, and held in place where commands may write", () => {
  expect(plan([root("/w", [])], ["/home/auth.json", "/w/codex/auth.json"])).toEqual([
    "write /w",
    "hidden /home/auth.json",
    "write /w/codex",
    "hidden /w/codex/auth.json",
  ]);
});
