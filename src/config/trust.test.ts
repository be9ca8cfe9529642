import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { trustOf } from "./trust.js";

describe("trustOf", () => {
  it("knows nothing of folders nobody mentioned, whether they exist or not", () => {
    const folder = tempFolder();
    expect(trustOf(folder, {})).toBeUndefined();
    expect(trustOf(folder, { projects: { "/elsewhere": { trust_level: "trusted" } } })).toBeUndefined();
    expect(trustOf("/no/such/folder", { projects: { "/elsewhere": { trust_level: "trusted" } } })).toBeUndefined();
  });

  it("is what is said about the folder itself, which need not exist", () => {
    expect(trustOf("/no/such/folder", { projects: { "/no/such/folder": { trust_level: "untrusted" } } })).toBe("untrusted");
  });

  it("does not follow from a mention without a level, nor from a parent that is no repository", () => {
    const folder = tempFolder();
    const below = makeFolder(folder, "sub");
    expect(trustOf(below, { projects: { [below]: {}, [folder]: { trust_level: "trusted" } } })).toBeUndefined();
  });

  it("is that of the git repository around the folder, unless the folder has its own", () => {
    const root = tempFolder();
    makeFolder(root, ".git");
    const below = makeFolder(root, "a/b");
    expect(trustOf(below, { projects: { [root]: { trust_level: "trusted" } } })).toBe("trusted");
    expect(trustOf(below, { projects: { [root]: { trust_level: "trusted" }, [below]: { trust_level: "untrusted" } } })).toBe("untrusted");
  });

  it("is that of the main checkout for a linked worktree", () => {
    const folder = tempFolder();
    const gitDir = makeFolder(folder, "main/.git/worktrees/topic");
    fs.writeFileSync(path.join(gitDir, "commondir"), "../..\n");
    const worktree = makeFolder(folder, "topic/src");
    fs.writeFileSync(path.join(folder, "topic", ".git"), `gitdir: ${gitDir}\n`);
    expect(trustOf(worktree, { projects: { [path.join(folder, "main")]: { trust_level: "trusted" } } })).toBe("trusted");
  });

  it("is a submodule's own", () => {
    const folder = tempFolder();
    makeFolder(folder, ".git/modules/sub");
    const submodule = makeFolder(folder, "sub");
    fs.writeFileSync(path.join(submodule, ".git"), "gitdir: ../.git/modules/sub\n");
    expect(trustOf(submodule, { projects: { [folder]: { trust_level: "trusted" } } })).toBeUndefined();
    expect(trustOf(makeFolder(submodule, "src"), { projects: { [submodule]: { trust_level: "trusted" } } })).toBe("trusted");
  });

  it("does not stumble over a .git file that says nothing", () => {
    const folder = tempFolder();
    fs.writeFileSync(path.join(folder, ".git"), "");
    expect(trustOf(makeFolder(folder, "sub"), { projects: { [folder]: { trust_level: "trusted" } } })).toBe("trusted");
  });
});

function tempFolder(): string {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "trust-")));
  onTestFinished(() => fs.rmSync(folder, { recursive: true }));
  return folder;
}

function makeFolder(parent: string, name: string): string {
  const folder = path.join(parent, name);
  fs.mkdirSync(folder, { recursive: true });
  return folder;
}
