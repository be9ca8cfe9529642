import { execFileSync } from "node:child_process";
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
    makeRepository(root);
    const below = makeFolder(root, "a/b");
    expect(trustOf(below, { projects: { [root]: { trust_level: "trusted" } } })).toBe("trusted");
    expect(trustOf(below, { projects: { [root]: { trust_level: "trusted" }, [below]: { trust_level: "untrusted" } } })).toBe("untrusted");
  });

  it("is that of the main checkout for a linked worktree", () => {
    const folder = tempFolder();
    const { main, worktree } = makeWorktree(folder);
    expect(trustOf(makeFolder(worktree, "src"), { projects: { [main]: { trust_level: "trusted" } } })).toBe("trusted");
  });

  it("is that of the main checkout for a worktree that git made, with relative paths too", () => {
    const folder = tempFolder();
    const main = makeFolder(folder, "main");
    git(main, "init", "--quiet");
    git(main, "commit", "--quiet", "--allow-empty", "--message=first");
    git(main, "worktree", "add", "--quiet", "../topic");
    const projects = { [main]: { trust_level: "trusted" } };
    expect(trustOf(path.join(folder, "topic"), { projects })).toBe("trusted");
    fs.writeFileSync(path.join(folder, "topic/.git"), "gitdir: ../main/.git/worktrees/topic\n");
    fs.writeFileSync(path.join(main, ".git/worktrees/topic/gitdir"), "../../../../topic/.git\n");
    expect(trustOf(path.join(folder, "topic"), { projects })).toBe("trusted");
  });

  it("is a submodule's own", () => {
    const folder = tempFolder();
    makeRepository(folder);
    makeFolder(folder, ".git/modules/sub");
    fs.writeFileSync(path.join(folder, ".git/modules/sub/HEAD"), "");
    const submodule = makeFolder(folder, "sub");
    fs.writeFileSync(path.join(submodule, ".git"), "gitdir: ../.git/modules/sub\n");
    expect(trustOf(submodule, { projects: { [folder]: { trust_level: "trusted" } } })).toBeUndefined();
    expect(trustOf(makeFolder(submodule, "src"), { projects: { [submodule]: { trust_level: "trusted" } } })).toBe("trusted");
  });
});

describe("trust is not taken by a folder that pretends to be a worktree of a trusted repository", () => {
  it.for([
    ["its own pretended git folder", (evil, { main }) => forge(evil, { gitdir: "./.fake", commondir: path.join(main, ".git") })],
    [
      "its own git folder, which also names it",
      (evil, { main }) => forge(evil, { gitdir: "./.fake", commondir: path.join(main, ".git"), back: true }),
    ],
    ["the git folder of a real worktree", (evil, { main }) => pointTo(evil, path.join(main, ".git/worktrees/topic"))],
    [
      "a link to the git folder of a real worktree",
      (evil, { main }) => {
        fs.symlinkSync(path.join(main, ".git/worktrees/topic"), path.join(evil, "fake"));
        pointTo(evil, "fake");
      },
    ],
    [
      "the pointer of a real worktree, by a link",
      (evil, { worktree }) => fs.symlinkSync(path.join(worktree, ".git"), path.join(evil, ".git")),
    ],
    [
      "a pretended main repository",
      (evil, { main }) => {
        const made = makeFolder(evil, "m/.git/worktrees/evil");
        fs.writeFileSync(path.join(made, "commondir"), `${path.join(main, ".git")}\n`);
        fs.writeFileSync(path.join(made, "gitdir"), `${path.join(evil, ".git")}\n`);
        pointTo(evil, made);
      },
    ],
  ] as [string, (evil: string, honest: { main: string; worktree: string }) => void][])("by %s", ([, forgery]) => {
    const folder = tempFolder();
    const honest = makeWorktree(folder);
    const evil = makeFolder(folder, "evil");
    forgery(evil, honest);
    const projects = { [honest.main]: { trust_level: "trusted" }, [honest.worktree]: { trust_level: "trusted" } };
    expect(trustOf(evil, { projects })).toBeUndefined();
    expect(trustOf(makeFolder(evil, "src"), { projects })).toBeUndefined();
  });
});

describe("distrust is not lost below", () => {
  it.for([
    ["an empty .git folder", (sub) => makeFolder(sub, ".git")],
    ["a .git folder with other things in it", (sub) => makeFolder(sub, ".git/.in-use-by-1")],
    ["an empty .git file", (sub) => fs.writeFileSync(path.join(sub, ".git"), "")],
    ["a .git file that points nowhere", (sub) => pointTo(sub, "/nowhere")],
    ["a .git link to itself", (sub) => fs.symlinkSync(".git", path.join(sub, ".git"))],
    ["a repository", makeRepository],
  ] as [string, (sub: string) => void][])("%s", ([, prepare]) => {
    const root = tempFolder();
    makeRepository(root);
    const sub = makeFolder(root, "sub");
    prepare(sub);
    expect(trustOf(makeFolder(sub, "src"), { projects: { [root]: { trust_level: "untrusted" } } })).toBe("untrusted");
    const own = { [root]: { trust_level: "untrusted" }, [sub]: { trust_level: "trusted" } };
    expect(trustOf(sub, { projects: own })).toBe("trusted");
  });

  it.runIf(process.platform === "linux").for([
    ["of two gigabytes", (dotGit: string) => fs.truncateSync(dotGit, 2 ** 31)],
    ["that never ends", (dotGit: string) => relink("/proc/self/pagemap", dotGit)],
    ["that is the server's environment", (dotGit: string) => relink("/proc/self/environ", dotGit)],
    [
      "that is a pipe",
      (dotGit: string) => {
        fs.unlinkSync(dotGit);
        execFileSync("mkfifo", [dotGit]);
      },
    ],
  ] as const)("a .git file %s is none, and nobody waits for it", ([, prepare]) => {
    const root = tempFolder();
    makeRepository(root);
    const sub = makeFolder(root, "sub");
    fs.writeFileSync(path.join(sub, ".git"), "");
    prepare(path.join(sub, ".git"));
    expect(trustOf(sub, { projects: { [root]: { trust_level: "untrusted" } } })).toBe("untrusted");
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

function relink(target: string, file: string): void {
  fs.unlinkSync(file);
  fs.symlinkSync(target, file);
}

function makeRepository(folder: string): void {
  fs.writeFileSync(path.join(makeFolder(folder, ".git"), "HEAD"), "ref: refs/heads/main\n");
}

function pointTo(folder: string, gitdir: string): void {
  fs.writeFileSync(path.join(folder, ".git"), `gitdir: ${gitdir}\n`);
}

/** A repository and a worktree of it, as git leaves them. */
function makeWorktree(folder: string): { main: string; worktree: string } {
  const main = makeFolder(folder, "main");
  makeRepository(main);
  const worktree = makeFolder(folder, "topic");
  const gitDir = makeFolder(main, ".git/worktrees/topic");
  fs.writeFileSync(path.join(gitDir, "commondir"), "../..\n");
  fs.writeFileSync(path.join(gitDir, "gitdir"), `${path.join(worktree, ".git")}\n`);
  pointTo(worktree, gitDir);
  return { main, worktree };
}

/** A pretended worktree: its git folder is its own, and says that it belongs to another repository. */
function forge(folder: string, { gitdir, commondir, back = false }: { gitdir: string; commondir: string; back?: boolean }): void {
  const fake = makeFolder(folder, gitdir);
  fs.writeFileSync(path.join(fake, "commondir"), `${commondir}\n`);
  fs.writeFileSync(path.join(fake, "HEAD"), "ref: refs/heads/main\n");
  if (back) fs.writeFileSync(path.join(fake, "gitdir"), `${path.join(folder, ".git")}\n`);
  pointTo(folder, gitdir);
}

function git(cwd: string, ...args: readonly string[]): void {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd, env, stdio: "pipe" });
}
