import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { runToEnd } from "./support/processes/runToEnd.js";

const SCRIPT = path.resolve("scripts/release.mjs");
const CHANGELOG = "# Changelog\n\n## Unreleased\n\n### Fixed\n\n- A fault.\n\n## 0.0.9 - 2026-01-01\n\n- The beginning.\n";

interface Project {
  readonly folder: string;
  readonly git: (...args: readonly string[]) => string;
  readonly release: (version: string) => ReturnType<typeof runToEnd>;
}

/** A repository whose checks and tests end at once. */
function project({ changelog = CHANGELOG, check = "true" } = {}): Project {
  const folder = mkdtempSync(path.join(tmpdir(), "release-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const identity = {
    GIT_AUTHOR_NAME: "a",
    GIT_AUTHOR_EMAIL: "a@example.org",
    GIT_COMMITTER_NAME: "a",
    GIT_COMMITTER_EMAIL: "a@example.org",
  };
  const env = { ...process.env, ...identity, GIT_CONFIG_GLOBAL: "/dev/null" };
  const git = (...args: readonly string[]) => execFileSync("git", args, { cwd: folder, env, encoding: "utf8" }).trim();
  writeFileSync(path.join(folder, "CHANGELOG.md"), changelog);
  writeFileSync(path.join(folder, "package.json"), JSON.stringify({ name: "x", version: "0.1.0", scripts: { check, test: "true" } }));
  git("init", "--quiet", "--initial-branch", "main");
  git("add", ".");
  git("commit", "--quiet", "--message", "Begin");
  return { folder, git, release: (version) => runToEnd([process.execPath, SCRIPT, version], { cwd: folder, env, timeoutMs: 60_000 }) };
}

describe("a release", () => {
  it.each(["0.1.0", "1.2.3", "1.2.3-beta.1"])("%s is committed and tagged, with its section of the changelog", async (version) => {
    const { folder, git, release } = project();
    const { code, stderr } = await release(version);
    expect(code, stderr).toBe(0);
    const today = new Date().toISOString().slice(0, 10);
    expect(readFileSync(path.join(folder, "CHANGELOG.md"), "utf8")).toBe(
      CHANGELOG.replace("## Unreleased\n", `## Unreleased\n\n## ${version} - ${today}\n`),
    );
    expect(JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"))).toMatchObject({ version });
    expect([git("log", "-1", "--format=%s"), git("describe", "--exact-match"), git("status", "--porcelain")]).toEqual([
      `Release ${version}`,
      `v${version}`,
      "",
    ]);
  });

  it.each<[string, string, Parameters<typeof project>[0], string]>([
    ["something that is not a version", "next", {}, "name a version"],
    ["a changelog without entries", "1.2.3", { changelog: "# Changelog\n\n## Unreleased\n\n## 0.0.9\n" }, "no entries"],
    ["a changelog without the section", "1.2.3", { changelog: "# Changelog\n" }, "no section"],
  ])("is refused for %s, and nothing changes", async (_, version, options, why) => {
    const { git, release } = project(options);
    const { code, stderr } = await release(version);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(why) });
    expect([git("status", "--porcelain"), git("tag", "--list")]).toEqual(["", ""]);
  });

  it("is refused on another branch, with changes, and for a version that exists", async () => {
    const { folder, git, release } = project();
    git("tag", "v1.0.0");
    const existing = await release("1.0.0");
    git("checkout", "--quiet", "-b", "other");
    const branch = await release("1.2.3");
    writeFileSync(path.join(folder, "new.txt"), "");
    const changed = await release("1.2.3");
    expect([existing, branch, changed].map(({ stderr }) => stderr.trim())).toEqual([
      "No release: v1.0.0 exists already",
      "No release: releases are made on main",
      "No release: there are uncommitted changes",
    ]);
  });

  it("stops at a check that fails, and nothing changes", async () => {
    const { git, release } = project({ check: "false" });
    expect((await release("1.2.3")).code).not.toBe(0);
    expect([git("status", "--porcelain"), git("tag", "--list")]).toEqual(["", ""]);
  });
});
