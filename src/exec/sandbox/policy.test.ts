import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SandboxPolicy } from "../policies.js";
import { allowsNetwork, mayWrite, writableRoots } from "./policy.js";

const POLICY = {
  type: "workspace-write",
  network_access: false,
  exclude_slash_tmp: true,
  exclude_tmpdir_env_var: true,
} as const satisfies SandboxPolicy;

let home: string;
let workspace: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(path.join(tmpdir(), "policy-")));
  workspace = path.join(home, "workspace");
  mkdirSync(workspace);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function rootsOf(policy: Partial<Extract<SandboxPolicy, { type: "workspace-write" }>> = {}, env: Record<string, string> = {}) {
  return writableRoots({ ...POLICY, ...policy }, { workspace, env });
}

const protectedIn = (root: string) => [".git", ".codex", ".agents"].map((name) => path.join(root, name));

describe("the roots of workspace-write", () => {
  it("include the thread's folder with three protected names, whether they exist or not", () => {
    expect(rootsOf()).toEqual([
      { given: workspace, root: workspace, links: [], protectedPaths: protectedIn(workspace), kept: [], temporary: false },
    ]);
  });

  it("include the configured ones, by real path; relative ones start at the thread's folder, missing ones are left out", () => {
    const real = path.join(home, "real");
    mkdirSync(real);
    symlinkSync(real, path.join(home, "link"));
    const roots = rootsOf({ writable_roots: [path.join(home, "link"), "../real", path.join(home, "missing")] });
    expect(roots.map(({ given, root, links }) => [given, root, links])).toEqual([
      [path.join(home, "link"), real, [path.join(home, "link")]],
      [workspace, workspace, []],
    ]);
  });

  it("include /tmp and $TMPDIR unless these are excluded", () => {
    const tmpDir = path.join(home, "tmp");
    mkdirSync(tmpDir);
    const rootNames = (policy: Parameters<typeof rootsOf>[0]) =>
      rootsOf(policy, { TMPDIR: tmpDir }).flatMap(({ root, temporary }) => (temporary ? [root] : []));
    expect([
      rootNames({ exclude_slash_tmp: false, exclude_tmpdir_env_var: false }),
      rootNames({ exclude_slash_tmp: false }),
      rootNames({ exclude_tmpdir_env_var: false }),
      rootNames({}),
    ]).toEqual([[realpathSync("/tmp"), tmpDir], [realpathSync("/tmp")], [tmpDir], []]);
  });

  it("protect the folders that a worktree's .git file leads to", () => {
    const main = path.join(home, "main/.git");
    const own = path.join(main, "worktrees/one");
    mkdirSync(own, { recursive: true });
    writeFileSync(path.join(own, "commondir"), "../..\n");
    writeFileSync(path.join(workspace, ".git"), `gitdir: ${own}\n`);
    expect(rootsOf()[0]?.protectedPaths).toEqual([...protectedIn(workspace), own, main]);
  });
});

it("a .git file that leads nowhere yet protects the first folder on the way", () => {
  writeFileSync(path.join(workspace, ".git"), "gitdir: not/there/yet\n");
  expect(rootsOf()[0]?.protectedPaths).toEqual([...protectedIn(workspace), path.join(workspace, "not")]);
});

describe("writable folders", () => {
  it("do not exist under read-only, and are all folders under full access", () => {
    const place = { workspace, env: {} };
    expect([
      mayWrite(writableRoots({ type: "read-only" }, place), workspace),
      mayWrite(writableRoots({ type: "danger-full-access" }, place), "/etc/passwd"),
    ]).toEqual([false, true]);
  });

  it("lie in a root and not in a protected path", () => {
    const roots = rootsOf();
    const verdicts = ["", "file", "a/.git/config", ".git", ".git/hooks/x", ".gitignore", ".codex/config.toml", ".agents"].map((file) => [
      file,
      mayWrite(roots, path.join(workspace, file)),
    ]);
    expect(Object.fromEntries(verdicts)).toEqual({
      "": true,
      file: true,
      "a/.git/config": true,
      ".git": false,
      ".git/hooks/x": false,
      ".gitignore": true,
      ".codex/config.toml": false,
      ".agents": false,
    });
    expect([mayWrite(roots, home), mayWrite(roots, `${workspace}-other/file`)]).toEqual([false, false]);
  });

  it("exclude protected paths also inside a wider root", () => {
    const roots = rootsOf({ writable_roots: [home] });
    expect([
      mayWrite(roots, path.join(workspace, ".git/config")),
      mayWrite(roots, path.join(home, ".git/config")),
      mayWrite(roots, path.join(home, "other/.git/config")),
    ]).toEqual([false, false, true]);
  });

  it("include a protected folder that is named as a root", () => {
    mkdirSync(path.join(workspace, ".git/lfs"), { recursive: true });
    const roots = rootsOf({ writable_roots: [path.join(workspace, ".git/lfs")] });
    expect([mayWrite(roots, path.join(workspace, ".git/lfs/x")), mayWrite(roots, path.join(workspace, ".git/config"))]).toEqual([
      true,
      false,
    ]);
  });
});

it("only full access has a network, and workspace-write if configured", () => {
  const policies: SandboxPolicy[] = [{ type: "read-only" }, POLICY, { ...POLICY, network_access: true }, { type: "danger-full-access" }];
  expect(policies.map(allowsNetwork)).toEqual([false, false, true, true]);
});
