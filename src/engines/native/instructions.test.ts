import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { settingsIn, tempHome } from "../../../test/support/threads/rollouts.js";
import type { ThreadSettings } from "../../threads/settings.js";
import { findUserInstructions, initialContext, type UserInstructions } from "./instructions.js";
import { message } from "./model/items.js";

function permissions(changes: Partial<ThreadSettings>): unknown {
  return initialContext(settingsIn("/repo", changes), { env: {} })[0]?.["content"];
}

describe("the beginning of a conversation", () => {
  it("consists of permissions, the caller's instructions, the project's instructions and the environment, in this order", () => {
    const context = initialContext(settingsIn("/repo", { developerInstructions: "Be kind." }), {
      userInstructions: "Use tabs.",
      env: { SHELL: "/bin/sh" },
    });
    expect(context.map(({ role }) => role)).toEqual(["developer", "developer", "user", "user"]);
    expect(context.slice(1)).toEqual([
      message("developer", "Be kind."),
      message("user", "# AGENTS.md instructions for /repo\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>"),
      message("user", "<environment_context>\n  <cwd>/repo</cwd>\n  <shell>sh</shell>\n</environment_context>"),
    ]);
  });

  it("names the shell that commands run in where SHELL is none", () => {
    const [, environment] = initialContext(settingsIn("/repo"), { env: { SHELL: "/usr/sbin/nologin" } });
    expect(JSON.stringify(environment)).toContain("<shell>bash</shell>");
  });

  it("has only permissions and environment without instructions", () => {
    expect(initialContext(settingsIn("/repo"), { env: {} })).toEqual([
      message("developer", expect.stringMatching(/^<permissions instructions>\n.*\n<\/permissions instructions>$/s)),
      message("user", "<environment_context>\n  <cwd>/repo</cwd>\n  <shell>bash</shell>\n</environment_context>"),
    ]);
  });
});

describe("the permissions that a model gets", () => {
  function told(pattern: RegExp): unknown {
    return [{ type: "input_text", text: expect.stringMatching(pattern) }];
  }

  it("name the sandbox", () => {
    expect(permissions({ sandboxPolicy: { type: "read-only" } })).toEqual(told(/`read-only`.*cannot write/));
    expect(permissions({ sandboxPolicy: { type: "danger-full-access" } })).toEqual(told(/`danger-full-access`.*not restricted/));
  });

  it.each([
    [true, /Network access is allowed/],
    [false, /no network access/],
  ])("name the folders that may be written, and the network: %s", (network_access, network) => {
    const sandboxPolicy = {
      type: "workspace-write",
      writable_roots: ["/data", "/cache"],
      network_access,
      exclude_tmpdir_env_var: false,
      exclude_slash_tmp: false,
    } as const;
    const text = permissions({ sandboxPolicy });
    expect(text).toEqual(told(/`workspace-write`.*`\/repo`, `\/data`, `\/cache`/));
    expect(text).toEqual(told(network));
  });

  it.each(["untrusted", "on-failure", "on-request", "never"] as const)("name the approval policy %s", (approvalPolicy) => {
    expect(permissions({ approvalPolicy })).toEqual(told(new RegExp(`Approval policy \`${approvalPolicy}\``)));
  });
});

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
async function foundIn(cwd: string, changes: Partial<ThreadSettings> = {}): Promise<string | undefined> {
  return (await find(cwd, changes)).text;
}

function find(cwd: string, changes: Partial<ThreadSettings> = {}): Promise<UserInstructions> {
  const folder = path.join(root, cwd);
  mkdirSync(folder, { recursive: true });
  const settings = settingsIn(folder, { projectDocMaxBytes: 32_768, projectRootMarkers: [".git"], ...changes });
  const hidden = path.join(root, "home/auth.json");
  return findUserInstructions(settings, { codexHome: path.join(root, "home"), mayRead: (file) => file !== hidden });
}

describe("the user's own instructions", () => {
  it("are AGENTS.md in CODEX_HOME, trimmed", async () => {
    write({ "home/AGENTS.md": "\n  Speak Latin. \n\n" });
    expect(await foundIn("repo")).toBe("Speak Latin.");
  });

  it("are AGENTS.override.md if it exists", async () => {
    write({ "home/AGENTS.md": "usual", "home/AGENTS.override.md": "today" });
    expect(await foundIn("repo")).toBe("today");
  });

  it("are the first file that is not blank", async () => {
    write({ "home/AGENTS.md": "usual", "home/AGENTS.override.md": " \n" });
    expect(await foundIn("repo")).toBe("usual");
  });

  it("are none when there is no file, or a blank one, or no CODEX_HOME", async () => {
    expect(await foundIn("repo")).toBeUndefined();
    write({ "home/AGENTS.md": "  " });
    expect(await foundIn("repo")).toBeUndefined();
  });

  it("come before the project's", async () => {
    write({ "home/AGENTS.md": "mine", "repo/AGENTS.md": "ours\n" });
    expect(await foundIn("repo")).toBe("mine\n\n--- project-doc ---\n\nours\n");
  });

  it("do not count toward the project's limit", async () => {
    write({ "home/AGENTS.md": "m".repeat(100), "repo/AGENTS.md": "ours" });
    expect(await foundIn("repo", { projectDocMaxBytes: 4 })).toBe(`${"m".repeat(100)}\n\n--- project-doc ---\n\nours`);
  });
});

describe("a project's instructions", () => {
  it("are those of every folder from the root down to the working directory", async () => {
    write({
      "AGENTS.md": "above",
      "repo/.git/HEAD": "",
      "repo/AGENTS.md": "root",
      "repo/a/AGENTS.md": "a",
      "repo/a/b/c/AGENTS.md": "c",
    });
    expect(await foundIn("repo/a/b/c")).toBe("root\n\na\n\nc");
    expect(await foundIn("repo/a")).toBe("root\n\na");
  });

  it("begin at a root whose .git is a file, as in a worktree", async () => {
    write({ "repo/.git": "gitdir: elsewhere", "repo/AGENTS.md": "root", "repo/a/AGENTS.md": "a" });
    expect(await foundIn("repo/a")).toBe("root\n\na");
  });

  it("begin at the nearest root", async () => {
    write({ "repo/.git/HEAD": "", "repo/AGENTS.md": "outer", "repo/sub/.git": "gitdir: x", "repo/sub/AGENTS.md": "inner" });
    expect(await foundIn("repo/sub")).toBe("inner");
  });

  it("are those of the working directory alone when there is no root above it", async () => {
    write({ "repo/AGENTS.md": "root", "repo/a/AGENTS.md": "a" });
    expect(await foundIn("repo/a", { projectRootMarkers: [".no-such-marker"] })).toBe("a");
    expect(await foundIn("repo/a", { projectRootMarkers: [] })).toBe("a");
  });

  it("start at the root markers of the configuration", async () => {
    write({ "repo/WORKSPACE": "", "repo/AGENTS.md": "root", "repo/a/.git/HEAD": "", "repo/a/AGENTS.md": "a" });
    expect(await foundIn("repo/a", { projectRootMarkers: ["WORKSPACE"] })).toBe("root\n\na");
  });

  it("are one file a folder: the override, AGENTS.md, then the configured names in order", async () => {
    const projectDocFallbackFilenames = ["CLAUDE.md", "README.md"];
    write({ "repo/.git/HEAD": "", "repo/AGENTS.override.md": "override", "repo/AGENTS.md": "usual", "repo/CLAUDE.md": "other" });
    write({ "repo/a/AGENTS.md": "a", "repo/a/CLAUDE.md": "other" });
    write({ "repo/a/b/README.md": "readme", "repo/a/b/CLAUDE.md": "fallback" });
    write({ "repo/a/b/c/README.md": "last" });
    expect(await foundIn("repo/a/b/c", { projectDocFallbackFilenames })).toBe("override\n\na\n\nfallback\n\nlast");
    expect(await foundIn("repo/a/b/c")).toBe("override\n\na");
  });

  it("are not read from folders of that name, but through links that stay in the project", async () => {
    write({ "repo/.git/HEAD": "", "repo/AGENTS.override.md/file": "", "repo/docs/rules.md": "linked", "repo/a/x": "" });
    symlinkSync("docs/rules.md", path.join(root, "repo/AGENTS.md"));
    symlinkSync("../AGENTS.md", path.join(root, "repo/a/AGENTS.md"));
    expect(await find("repo/a")).toEqual({ text: "linked\n\nlinked", warnings: [] });
  });

  it("are found where the working directory is a link", async () => {
    write({ "repo/.git/HEAD": "", "repo/AGENTS.md": "root", "elsewhere/AGENTS.md": "there" });
    symlinkSync(path.join(root, "repo"), path.join(root, "alias"));
    expect(await find("alias")).toEqual({ text: "root", warnings: [] });
    symlinkSync(path.join(root, "elsewhere"), path.join(root, "repo/linked"));
    expect(await find("repo/linked")).toEqual({ text: "root\n\nthere", warnings: [] });
  });

  it("do not begin at an empty .git, which the sandbox may have put there", async () => {
    write({ "repo/.git/HEAD": "", "repo/AGENTS.md": "root", "repo/a/.git/.in-use-by-1": "", "repo/a/AGENTS.md": "a" });
    expect(await foundIn("repo/a")).toBe("root\n\na");
  });

  it("skip a blank file, and the other files of its folder too", async () => {
    write({ "repo/.git/HEAD": "", "repo/AGENTS.override.md": "\n", "repo/AGENTS.md": "hidden", "repo/a/AGENTS.md": "a" });
    expect(await foundIn("repo/a")).toBe("a");
  });

  it("are cut where the limit is reached, counted in bytes over all files", async () => {
    write({ "repo/.git/HEAD": "", "repo/AGENTS.md": "12345", "repo/a/AGENTS.md": "abcdef", "repo/a/b/AGENTS.md": "never" });
    expect(await foundIn("repo/a/b", { projectDocMaxBytes: 8 })).toBe("12345\n\nabc");
    expect(await foundIn("repo/a/b", { projectDocMaxBytes: 5 })).toBe("12345");
    expect(await foundIn("repo/a/b", { projectDocMaxBytes: 0 })).toBeUndefined();
  });

  it.each([
    [1, "a"],
    [2, "a"],
    [3, "aé"],
    [4, "aé"],
    [5, "aé"],
    [6, "aé"],
    [7, "aé🎉"],
  ])("are not cut inside a character: at %i bytes", async (limit, text) => {
    write({ "repo/AGENTS.md": "aé🎉z" });
    expect(await foundIn("repo", { projectDocMaxBytes: limit })).toBe(text);
  });
});

describe("a repository's links lead to nothing but itself:", () => {
  it.for([
    ["the server's key", (): string => path.join(root, "home/auth.json")],
    ["a file outside", (): string => path.join(root, "outside/secret")],
    ["a file above", (): string => "../outside/secret"],
    ["the server's environment", (): string => "/proc/self/environ"],
    ["a file without an end", (): string => "/proc/self/pagemap"],
    ["a device", (): string => "/dev/zero"],
    ["the server's files by way of /proc", (): string => `/proc/self/cwd/../../../..${path.join(root, "outside/secret")}`],
  ] as const)("%s", async ([, target]) => {
    write({ "repo/.git/HEAD": "", "repo/CLAUDE.md": "honest", "home/auth.json": "KEY", "outside/secret": "KEY" });
    symlinkSync(target(), path.join(root, "repo/AGENTS.md"));
    const { text, warnings } = await find("repo", { projectDocFallbackFilenames: ["CLAUDE.md"] });
    expect(text).toBe("honest");
    expect(warnings).toEqual([expect.stringContaining(`${path.join(root, "repo/AGENTS.md")} was left out: it `)]);
  });

  it("not by a linked folder, nor by a configured name with `..`", async () => {
    write({ "repo/.git/HEAD": "", "outside/secret": "KEY", "repo/x": "" });
    symlinkSync(path.join(root, "outside"), path.join(root, "repo/docs"));
    symlinkSync("docs/secret", path.join(root, "repo/AGENTS.md"));
    const projectDocFallbackFilenames = ["../outside/secret", "docs/secret", path.join("..", "home/auth.json")];
    expect(await foundIn("repo", { projectDocFallbackFilenames })).toBeUndefined();
  });

  it("the user's own links may lead anywhere but to a secret", async () => {
    write({ "home/auth.json": "KEY", "dotfiles/agents.md": "mine", "repo/x": "" });
    symlinkSync("../dotfiles/agents.md", path.join(root, "home/AGENTS.md"));
    symlinkSync("auth.json", path.join(root, "home/AGENTS.override.md"));
    expect(await foundIn("repo")).toBe("mine");
  });
});

describe("instructions cost no more than their limit:", () => {
  it.for([
    ["two sparse gigabytes", 32_768, 32_768],
    ["two sparse gigabytes and a caller's limit beyond", 2 ** 33, 1024 * 1024],
  ] as const)("%s", async ([, projectDocMaxBytes, length]) => {
    write({ "repo/AGENTS.md": "begin" });
    truncateSync(path.join(root, "repo/AGENTS.md"), 2 ** 31);
    const text = await foundIn("repo", { projectDocMaxBytes });
    expect([text?.slice(0, 5), text?.length]).toEqual(["begin", length]);
  });

  it("a pipe does not block", async () => {
    write({ "repo/x": "" });
    execFileSync("mkfifo", [path.join(root, "repo/AGENTS.md")]);
    expect((await find("repo")).warnings).toEqual([`${path.join(root, "repo/AGENTS.md")} was left out: it is not a regular file`]);
  });
});
