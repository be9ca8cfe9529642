import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { tempHome } from "../../../test/support/threads/rollouts.js";
import { readGitCheckout } from "./gitFiles.js";

const ANYTHING = () => true;
const ENV = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };

function git(cwd: string, ...args: string[]): string {
  return execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
    cwd,
    env: ENV,
    encoding: "utf8",
    stdio: "pipe",
  }).trim();
}

/** A repository with one commit on `main`. */
function repository(folder: string): string {
  git(folder, "init", "--quiet", "--initial-branch=main");
  git(folder, "commit", "--quiet", "--allow-empty", "--message=first");
  return git(folder, "rev-parse", "HEAD");
}

describe("a checkout is recognised by its files, as by git", () => {
  it("from a folder deep inside, on a branch, with a remote", () => {
    using home = tempHome();
    const commit_hash = repository(home.path);
    git(home.path, "remote", "add", "upstream", "https://example.com/other.git");
    git(home.path, "remote", "add", "origin", "git@example.com:team/repo.git");
    git(home.path, "switch", "--quiet", "--create", "feature/one");
    mkdirSync(path.join(home.path, "a/b"), { recursive: true });
    expect(readGitCheckout(path.join(home.path, "a/b"), ANYTHING)).toEqual({
      commit_hash,
      branch: "feature/one",
      repository_url: "git@example.com:team/repo.git",
    });
  });

  it("with packed refs", () => {
    using home = tempHome();
    const commit_hash = repository(home.path);
    git(home.path, "pack-refs", "--all");
    expect(readGitCheckout(home.path, ANYTHING)).toEqual({ commit_hash, branch: "main" });
  });

  it("detached: no branch", () => {
    using home = tempHome();
    const commit_hash = repository(home.path);
    git(home.path, "checkout", "--quiet", "--detach");
    expect(readGitCheckout(home.path, ANYTHING)).toEqual({ commit_hash });
  });

  it("in a linked worktree", () => {
    using home = tempHome();
    mkdirSync(path.join(home.path, "main"));
    const commit_hash = repository(path.join(home.path, "main"));
    git(path.join(home.path, "main"), "remote", "add", "origin", "https://example.com/repo.git");
    git(path.join(home.path, "main"), "worktree", "add", "--quiet", "-b", "side", "../side");
    expect(readGitCheckout(path.join(home.path, "side"), ANYTHING)).toEqual({
      commit_hash,
      branch: "side",
      repository_url: "https://example.com/repo.git",
    });
  });

  it("in a submodule", () => {
    using home = tempHome();
    const [part, whole] = [path.join(home.path, "part"), path.join(home.path, "whole")];
    for (const folder of [part, whole]) mkdirSync(folder);
    const commit_hash = repository(part);
    repository(whole);
    git(whole, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", part, "inner");
    expect(readGitCheckout(path.join(whole, "inner"), ANYTHING)).toEqual({ commit_hash, branch: "main", repository_url: part });
  });

  it("below a folder whose path has a link in it", () => {
    using home = tempHome();
    mkdirSync(path.join(home.path, "real"));
    const commit_hash = repository(path.join(home.path, "real"));
    symlinkSync("real", path.join(home.path, "link"));
    expect(readGitCheckout(path.join(home.path, "link"), ANYTHING)).toEqual({ commit_hash, branch: "main" });
  });
});

describe("nothing is reported of a foreign repository", () => {
  /** A repository with a remote, and a folder that claims to belong to it. */
  function neighbours(home: string): { readonly other: string; readonly evil: string } {
    const [other, evil] = [path.join(home, "private"), path.join(home, "evil")];
    for (const folder of [other, evil]) mkdirSync(folder);
    repository(other);
    git(other, "remote", "add", "origin", "https://example.com/private.git");
    return { other, evil };
  }

  it("when a .git file points to it", () => {
    using home = tempHome();
    const { other, evil } = neighbours(home.path);
    writeFileSync(path.join(evil, ".git"), `gitdir: ${path.join(other, ".git")}\n`);
    expect(readGitCheckout(evil, ANYTHING)).toBeUndefined();
  });

  it("when .git is a link to it", () => {
    using home = tempHome();
    const { other, evil } = neighbours(home.path);
    symlinkSync(path.join(other, ".git"), path.join(evil, ".git"));
    expect(readGitCheckout(evil, ANYTHING)).toBeUndefined();
  });

  it.each(["HEAD", "config", "packed-refs", "refs"])("when %s is a link into it", (name) => {
    using home = tempHome();
    const { other, evil } = neighbours(home.path);
    git(other, "pack-refs", "--all", "--no-prune");
    mkdirSync(path.join(evil, ".git"));
    if (name !== "HEAD") writeFileSync(path.join(evil, ".git/HEAD"), "ref: refs/heads/main\n");
    symlinkSync(path.join(other, ".git", name), path.join(evil, ".git", name));
    expect(readGitCheckout(evil, ANYTHING)).toBeUndefined();
  });

  it("when its files may not be read", () => {
    using home = tempHome();
    const root = path.join(home.path, "root");
    mkdirSync(root);
    const commit_hash = repository(home.path);
    expect(readGitCheckout(root, ANYTHING)).toEqual({ commit_hash, branch: "main" });
    expect(readGitCheckout(root, (file) => path.basename(file) === "config")).toBeUndefined();
    expect(readGitCheckout(root, () => false)).toBeUndefined();
  });
});

describe("nothing is reported", () => {
  it("before the first commit of a repository without a remote", () => {
    using home = tempHome();
    git(home.path, "init", "--quiet");
    expect(readGitCheckout(home.path, ANYTHING)).toBeUndefined();
  });

  it("outside a repository", () => {
    using home = tempHome();
    expect(readGitCheckout(home.path, ANYTHING)).toBeUndefined();
  });

  it.each([
    ["a .git file that points nowhere", "gitdir: /nowhere/at/all\n"],
    ["a .git file with other words", "hello\n"],
  ])("with %s", (_, content) => {
    using home = tempHome();
    writeFileSync(path.join(home.path, ".git"), content);
    expect(readGitCheckout(home.path, ANYTHING)).toBeUndefined();
  });

  it.each(["ref: refs/heads/../../secret", "ref: /etc/passwd", "ref: refs/heads/.invalid", "garbage", ""])("with the HEAD %j", (head) => {
    using home = tempHome();
    repository(home.path);
    writeFileSync(path.join(home.path, ".git/secret"), `${"a".repeat(40)}\n`);
    writeFileSync(path.join(home.path, ".git/HEAD"), `${head}\n`);
    expect(readGitCheckout(home.path, ANYTHING)).toBeUndefined();
  });

  it("of a repository that a pretended worktree names as its own", () => {
    using home = tempHome();
    mkdirSync(path.join(home.path, "private"));
    repository(path.join(home.path, "private"));
    git(path.join(home.path, "private"), "remote", "add", "origin", "https://example.com/private.git");
    mkdirSync(path.join(home.path, "evil/.fake"), { recursive: true });
    writeFileSync(path.join(home.path, "evil/.git"), "gitdir: .fake\n");
    writeFileSync(path.join(home.path, "evil/.fake/HEAD"), "ref: refs/heads/main\n");
    writeFileSync(path.join(home.path, "evil/.fake/commondir"), `${path.join(home.path, "private/.git")}\n`);
    expect(readGitCheckout(path.join(home.path, "evil"), ANYTHING)).toBeUndefined();
  });

  it.runIf(process.platform === "linux")("with files that never end, or are the server's own", () => {
    using home = tempHome();
    mkdirSync(path.join(home.path, ".git"));
    symlinkSync("/proc/self/pagemap", path.join(home.path, ".git/HEAD"));
    symlinkSync("/proc/self/environ", path.join(home.path, ".git/config"));
    writeFileSync(path.join(home.path, ".git/packed-refs"), "");
    truncateSync(path.join(home.path, ".git/packed-refs"), 2 ** 31);
    expect(readGitCheckout(home.path, ANYTHING)).toBeUndefined();
  });

  it("with a pipe where HEAD should be", () => {
    using home = tempHome();
    mkdirSync(path.join(home.path, ".git"));
    execFileSync("mkfifo", [path.join(home.path, ".git/HEAD")]);
    expect(readGitCheckout(home.path, ANYTHING)).toBeUndefined();
  });
});

it.each([
  ["https://ghp_secret@example.com/a/b.git", "https://example.com/a/b.git"],
  ["https://user:secret@example.com:8443/a/b.git", "https://example.com:8443/a/b.git"],
  ["HTTPS://user:se@cret@example.com/a@b.git", "HTTPS://example.com/a@b.git"],
  ["ssh://git:secret@example.com/a.git", "ssh://git@example.com/a.git"],
  ["ssh://git@example.com:22/a.git", "ssh://git@example.com:22/a.git"],
  ["user:secret@example.com:a.git", "user@example.com:a.git"],
  ["git@example.com:a/b.git", "git@example.com:a/b.git"],
  ["/srv/git/a.git", "/srv/git/a.git"],
])("the remote %s is written as %s", (url, written) => {
  using home = tempHome();
  mkdirSync(path.join(home.path, ".git"));
  writeFileSync(path.join(home.path, ".git/HEAD"), "ref: refs/heads/main\n");
  appendFileSync(path.join(home.path, ".git/config"), `[core]\n\tbare = false\n[remote "origin"]\n\turl = ${url}\n`);
  expect(readGitCheckout(home.path, ANYTHING)).toEqual({ repository_url: written });
});
