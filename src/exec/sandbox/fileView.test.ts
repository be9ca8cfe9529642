import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { folderSeenFor, planMounts } from "./fileView.js";
import type { WritableRoot } from "./policy.js";

function root(folder: string, protectedPaths: readonly string[] = [`${folder}/.git`]) {
  return { given: folder, root: folder, links: [], protectedPaths, kept: [], temporary: false };
}

function plan(roots: readonly WritableRoot[], hidden: readonly string[] = [], shown: readonly string[] = []): string[] {
  const view = { roots, hidden: hidden.map((folder) => ({ folder })), shown: [...shown, ...roots.map(({ root: folder }) => folder)] };
  return planMounts(view).map(({ path, access }) => `${access} ${path}`);
}

it("a root is writable, and what is protected in it is mounted on top", () => {
  expect(plan([root("/w")])).toEqual(["write /w", "protected /w/.git"]);
});

it("a root inside a root is protected by mounts on every folder in between", () => {
  expect(plan([root("/t"), root("/t/a/b/w")])).toEqual([
    "write /t",
    "protected /t/.git",
    "write /t/a",
    "write /t/a/b",
    "write /t/a/b/w",
    "protected /t/a/b/w/.git",
  ]);
});

it("the folders around many guarded names are examined once", () => {
  const deep = Array.from({ length: 20 }, (_, at) => `/d${at}`).join("");
  const kept = Array.from({ length: 200 }, (_, at) => `/w${deep}/${at}.envrc`);
  let looks = 0;
  const view = {
    roots: [{ ...root("/w", []), kept }],
    hidden: [],
    get shown() {
      looks++;
      return ["/w"];
    },
  };
  const mounts = planMounts(view);
  expect(mounts).toHaveLength(1 + 20 + 200);
  expect(looks).toBeLessThan(1.5 * mounts.length);
});

it("a root inside a protected folder is opened again", () => {
  expect(plan([root("/w"), root("/w/.git/lfs", [])])).toEqual(["write /w", "protected /w/.git", "write /w/.git/lfs"]);
});

it("a protected path outside all roots needs no mount", () => {
  expect(plan([root("/w", ["/w/.git", "/main/.git"])])).toEqual(["write /w", "protected /w/.git"]);
});

it("hidden folders are hidden everywhere, and cannot be moved where commands may write", () => {
  expect(plan([root("/w", [])], ["/home/codex", "/w/codex/home"])).toEqual([
    "write /w",
    "hidden /home/codex",
    "write /w/codex",
    "hidden /w/codex/home",
  ]);
});

it("read-only files in a root are mounted on top of it, and cannot be moved", () => {
  const kept = ["/w/a/.vscode", "/w/.git/hooks"];
  expect(plan([{ ...root("/w"), kept }])).toEqual(["write /w", "protected /w/.git", "write /w/a", "shown /w/a/.vscode"]);
});

it("a root inside a hidden folder is visible, with its protected paths", () => {
  expect(plan([root("/home/codex/trees/w")], ["/home/codex"])).toEqual([
    "hidden /home/codex",
    "write /home/codex/trees/w",
    "protected /home/codex/trees/w/.git",
  ]);
});

it("in a hidden folder only the shown folders are visible, without hidden folders inside them", () => {
  expect(plan([], ["/home", "/home/.codex", "/home/work/secrets"], ["/home/work", "/home/.nvm"])).toEqual([
    "hidden /home",
    "shown /home/.nvm",
    "shown /home/work",
    "hidden /home/work/secrets",
  ]);
});

it("a working folder that a caller's commands may not see counts as missing, whether it exists or not and however it is linked", () => {
  const base = realpathSync(mkdtempSync("/var/tmp/seen-"));
  onTestFinished(() => rmSync(base, { recursive: true }));
  const [workspace, others, tmp] = ["work", "others", "tmp"].map((name) => join(base, name)) as [string, string, string];
  for (const folder of [join(workspace, "in"), join(others, "in"), join(tmp, "in")]) mkdirSync(folder, { recursive: true });
  for (const folder of [workspace, tmp]) for (const name of ["in", "no"]) symlinkSync(join(others, name), join(folder, `to-${name}`));
  const caller = { hidden: [{ folder: "/var/tmp" }, { folder: "/tmp" }], shown: [workspace], tmp: () => tmp };
  const usual = { workspace, serverEnv: {}, hidden: [], ownPrograms: [], guarded: [] };
  const seen = (cwd: string) => folderSeenFor({ ...usual, policy: { type: "read-only" }, caller }, cwd);
  expect(["in", "no"].map((name) => seen(join(others, name)))).toEqual([undefined, undefined]);
  expect(seen(join(workspace, "to-in"))).toBeUndefined();
  // A link to a missing folder is not resolved. A look-up there finds nothing.
  expect(seen(join(workspace, "to-no"))).toBe(join(workspace, "to-no"));
  expect([workspace, join(workspace, "in"), "/usr"].map(seen)).toEqual([workspace, join(workspace, "in"), "/usr"]);
  expect(["/tmp", "/tmp/in", "/tmp/to-in"].map(seen)).toEqual([tmp, join(tmp, "in"), undefined]);
  expect(folderSeenFor({ ...usual, policy: { type: "danger-full-access" } }, others)).toBe(others);
});
