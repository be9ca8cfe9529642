import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { settingsIn, tempHome } from "../../../test/support/rollouts.js";
import type { ThreadSettings } from "../../threads/model.js";
import { findUserInstructions } from "./agentsMd.js";

let root: string;

beforeEach(() => {
  const folder = tempHome();
  root = folder.path;
  onTestFinished(() => folder[Symbol.dispose]());
});

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(root, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

/** Instructions for a thread in `cwd`, with `home` as CODEX_HOME. */
function foundIn(cwd: string, changes: Partial<ThreadSettings> = {}): string | undefined {
  const folder = path.join(root, cwd);
  mkdirSync(folder, { recursive: true });
  const settings = settingsIn(folder, { projectDocMaxBytes: 32_768, projectRootMarkers: [".git"], ...changes });
  return findUserInstructions(settings, path.join(root, "home"));
}

describe("the user's own instructions", () => {
  it("are AGENTS.md in CODEX_HOME, trimmed", () => {
    write({ "home/AGENTS.md": "\n  Speak Latin. \n\n" });
    expect(foundIn("repo")).toBe("Speak Latin.");
  });

  it("are AGENTS.override.md where there is one", () => {
    write({ "home/AGENTS.md": "usual", "home/AGENTS.override.md": "today" });
    expect(foundIn("repo")).toBe("today");
  });

  it("are the first file that says something", () => {
    write({ "home/AGENTS.md": "usual", "home/AGENTS.override.md": " \n" });
    expect(foundIn("repo")).toBe("usual");
  });

  it("are none when there is no file, or a blank one, or no CODEX_HOME", () => {
    expect(foundIn("repo")).toBeUndefined();
    write({ "home/AGENTS.md": "  " });
    expect(foundIn("repo")).toBeUndefined();
  });

  it("come before the project's", () => {
    write({ "home/AGENTS.md": "mine", "repo/AGENTS.md": "ours\n" });
    expect(foundIn("repo")).toBe("mine\n\n--- project-doc ---\n\nours\n");
  });

  it("do not count toward the project's limit", () => {
    write({ "home/AGENTS.md": "m".repeat(100), "repo/AGENTS.md": "ours" });
    expect(foundIn("repo", { projectDocMaxBytes: 4 })).toBe(`${"m".repeat(100)}\n\n--- project-doc ---\n\nours`);
  });
});

describe("a project's instructions", () => {
  it("are those of every folder from the root down to the working directory", () => {
    write({
      "AGENTS.md": "above",
      "repo/.git/HEAD": "",
      "repo/AGENTS.md": "root",
      "repo/a/AGENTS.md": "a",
      "repo/a/b/c/AGENTS.md": "c",
    });
    expect(foundIn("repo/a/b/c")).toBe("root\n\na\n\nc");
    expect(foundIn("repo/a")).toBe("root\n\na");
  });

  it("begin at a root whose .git is a file, as in a worktree", () => {
    write({ "repo/.git": "gitdir: elsewhere", "repo/AGENTS.md": "root", "repo/a/AGENTS.md": "a" });
    expect(foundIn("repo/a")).toBe("root\n\na");
  });

  it("begin at the nearest root", () => {
    write({ "repo/.git/HEAD": "", "repo/AGENTS.md": "outer", "repo/sub/.git": "gitdir: x", "repo/sub/AGENTS.md": "inner" });
    expect(foundIn("repo/sub")).toBe("inner");
  });

  it("are those of the working directory alone when there is no root above it", () => {
    write({ "repo/AGENTS.md": "root", "repo/a/AGENTS.md": "a" });
    expect(foundIn("repo/a", { projectRootMarkers: [".no-such-marker"] })).toBe("a");
    expect(foundIn("repo/a", { projectRootMarkers: [] })).toBe("a");
  });

  it("begin at whatever marks a root in the configuration", () => {
    write({ "repo/WORKSPACE": "", "repo/AGENTS.md": "root", "repo/a/.git/HEAD": "", "repo/a/AGENTS.md": "a" });
    expect(foundIn("repo/a", { projectRootMarkers: ["WORKSPACE"] })).toBe("root\n\na");
  });

  it("are one file a folder: the override, AGENTS.md, then the configured names in order", () => {
    const projectDocFallbackFilenames = ["CLAUDE.md", "README.md"];
    write({ "repo/.git/HEAD": "", "repo/AGENTS.override.md": "override", "repo/AGENTS.md": "usual", "repo/CLAUDE.md": "other" });
    write({ "repo/a/AGENTS.md": "a", "repo/a/CLAUDE.md": "other" });
    write({ "repo/a/b/README.md": "readme", "repo/a/b/CLAUDE.md": "fallback" });
    write({ "repo/a/b/c/README.md": "last" });
    expect(foundIn("repo/a/b/c", { projectDocFallbackFilenames })).toBe("override\n\na\n\nfallback\n\nlast");
    expect(foundIn("repo/a/b/c")).toBe("override\n\na");
  });

  it("are not looked for in folders of that name, but behind links", () => {
    write({ "repo/AGENTS.override.md/file": "", "shared/rules.md": "linked" });
    symlinkSync(path.join(root, "shared/rules.md"), path.join(root, "repo/AGENTS.md"));
    expect(foundIn("repo")).toBe("linked");
  });

  it("leave out blank files, which take the place of their folder's others", () => {
    write({ "repo/.git/HEAD": "", "repo/AGENTS.override.md": "\n", "repo/AGENTS.md": "hidden", "repo/a/AGENTS.md": "a" });
    expect(foundIn("repo/a")).toBe("a");
  });

  it("are cut where the limit is reached, counted in bytes over all files", () => {
    write({ "repo/.git/HEAD": "", "repo/AGENTS.md": "12345", "repo/a/AGENTS.md": "abcdef", "repo/a/b/AGENTS.md": "never" });
    expect(foundIn("repo/a/b", { projectDocMaxBytes: 8 })).toBe("12345\n\nabc");
    expect(foundIn("repo/a/b", { projectDocMaxBytes: 5 })).toBe("12345");
    expect(foundIn("repo/a/b", { projectDocMaxBytes: 0 })).toBeUndefined();
  });

  it.each([
    [1, "a"],
    [2, "a"],
    [3, "aé"],
    [4, "aé"],
    [5, "aé"],
    [6, "aé"],
    [7, "aé🎉"],
  ])("are not cut inside a character: at %i bytes", (limit, text) => {
    write({ "repo/AGENTS.md": "aé🎉z" });
    expect(foundIn("repo", { projectDocMaxBytes: limit })).toBe(text);
  });
});
