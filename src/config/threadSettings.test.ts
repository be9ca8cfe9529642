import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findProvider, mcpServers } from "./endpoints.js";
import { ConfigInvalid } from "./errors.js";
import { readInstructionFile, resolveFeatures, threadSettings, trustOf } from "./threadSettings.js";

const OPENAI = ["OPENAI_API_KEY", "CODEX_API_KEY"];
const PLACE = { cwd: "/no/such/place", env: {}, baseInstructions: undefined };

describe("threadSettings", () => {
  it("has a default for everything", () => {
    expect(threadSettings({}, PLACE)).toEqual({
      cwd: "/no/such/place",
      model: "gpt-6.1-sol",
      modelIsOurs: "default",
      provider: findProvider("openai", {}, {}),
      approvalPolicy: "on-request",
      sandboxPolicy: { type: "read-only" },
      reasoningSummary: "auto",
      projectDocMaxBytes: 32_768,
      projectDocFallbackFilenames: [],
      projectRootMarkers: [".git"],
      showRawAgentReasoning: false,
      mcpServers: [],
      shellEnvironment: {
        inherit: "all",
        ignoreDefaultExcludes: true,
        exclude: [],
        set: {},
        includeOnly: [],
        secrets: OPENAI,
        hidesLikelySecrets: false,
      },
      features: resolveFeatures({}),
      notices: [],
    });
  });

  it("has every given setting", () => {
    const settings = {
      model: "m",
      model_provider: "mine",
      model_providers: { mine: { name: "Mine" } },
      approval_policy: "never",
      sandbox_mode: "danger-full-access",
      model_reasoning_effort: "high",
      model_reasoning_summary: "none",
      model_verbosity: "low",
      model_supports_reasoning_summaries: true,
      model_context_window: 1000,
      model_auto_compact_token_limit: 900,
      developer_instructions: "develop",
      compact_prompt: " shorten ",
      project_doc_max_bytes: 0,
      project_doc_fallback_filenames: ["README.md"],
      project_root_markers: [],
      hide_agent_reasoning: true,
      show_raw_agent_reasoning: true,
      mcp_servers: { docs: { command: "docs-mcp" } },
      shell_environment_policy: {
        inherit: "core",
        ignore_default_excludes: false,
        exclude: ["AWS_*"],
        set: { CI: "1" },
        include_only: ["PATH"],
      },
      tool_output_token_limit: 500,
      web_search: "live",
      features: { undo: true },
    };
    expect(threadSettings(settings, { ...PLACE, baseInstructions: "base" })).toEqual({
      cwd: "/no/such/place",
      model: "m",
      provider: findProvider("mine", settings, {}),
      approvalPolicy: "never",
      sandboxPolicy: { type: "danger-full-access" },
      reasoningEffort: "high",
      reasoningSummary: "none",
      verbosity: "low",
      supportsReasoningSummaries: true,
      contextWindow: 1000,
      autoCompactTokenLimit: 900,
      baseInstructions: "base",
      developerInstructions: "develop",
      compactPrompt: "shorten",
      projectDocMaxBytes: 0,
      projectDocFallbackFilenames: ["README.md"],
      projectRootMarkers: [],
      showRawAgentReasoning: true,
      mcpServers: mcpServers(settings),
      shellEnvironment: {
        inherit: "core",
        ignoreDefaultExcludes: false,
        exclude: ["AWS_*"],
        set: { CI: "1" },
        includeOnly: ["PATH"],
        secrets: OPENAI,
        hidesLikelySecrets: false,
      },
      toolOutputTokenLimit: 500,
      webSearch: "live",
      features: resolveFeatures(settings),
      notices: [],
    });
  });

  it("knows the variables that the configuration names as secret, whether they are in use or not", () => {
    const settings = {
      model_providers: {
        mine: { name: "Mine", env_key: "MINE" },
        other: { name: "Other", env_key: "OTHER", env_http_headers: { "x-team": "OTHER_TEAM" } },
      },
      mcp_servers: {
        web: { url: "http://127.0.0.1:9", bearer_token_env_var: "WEB", env_http_headers: { "x-api": "WEB_API" } },
        off: { enabled: false, command: "x", env_vars: ["DISPLAY", "OFF_TOKEN"] },
      },
    };
    expect(threadSettings(settings, PLACE).shellEnvironment.secrets).toEqual([
      ...OPENAI,
      "MINE",
      "OTHER",
      "OTHER_TEAM",
      "WEB",
      "WEB_API",
      "OFF_TOKEN",
    ]);
  });

  it.each([
    [{}, true, true],
    [{ ignore_default_excludes: false }, true, true],
    [{ ignore_default_excludes: true }, true, false],
    [{}, false, false],
    [{ ignore_default_excludes: false }, false, false],
  ])("with %j, listening: %s, what looks like a secret is withheld from commands: %s", (policy, listening, hidesLikelySecrets) => {
    const { shellEnvironment } = threadSettings({ shell_environment_policy: policy }, { ...PLACE, listening });
    expect(shellEnvironment).toMatchObject({ hidesLikelySecrets });
  });

  it("refuses a provider that is not configured", () => {
    expect(() => threadSettings({ model_provider: "nobody" }, PLACE)).toThrow(new ConfigInvalid("Model provider `nobody` not found"));
  });

  it.each([
    ["trusted", "on-request"],
    ["untrusted", "untrusted"],
  ])("lets commands write in a project marked %s, asking by %s", (trust_level, approvalPolicy) => {
    const projects = { "/no/such/place": { trust_level } };
    expect(threadSettings({ projects }, PLACE)).toMatchObject({
      approvalPolicy,
      sandboxPolicy: { type: "workspace-write", network_access: false, exclude_tmpdir_env_var: false, exclude_slash_tmp: false },
    });
  });

  it("prefers explicit settings to those that follow from trust", () => {
    const settings = { projects: { "/no/such/place": { trust_level: "untrusted" } }, approval_policy: "never", sandbox_mode: "read-only" };
    expect(threadSettings(settings, PLACE)).toMatchObject({ approvalPolicy: "never", sandboxPolicy: { type: "read-only" } });
  });

  it("gives workspace-write its details", () => {
    const sandbox_workspace_write = {
      writable_roots: ["/srv"],
      network_access: true,
      exclude_tmpdir_env_var: true,
      exclude_slash_tmp: true,
    };
    expect(threadSettings({ sandbox_mode: "workspace-write", sandbox_workspace_write }, PLACE).sandboxPolicy).toStrictEqual({
      type: "workspace-write",
      ...sandbox_workspace_write,
    });
    expect(
      threadSettings({ sandbox_mode: "workspace-write", sandbox_workspace_write: { writable_roots: [] } }, PLACE).sandboxPolicy,
    ).toStrictEqual({
      type: "workspace-write",
      network_access: false,
      exclude_tmpdir_env_var: false,
      exclude_slash_tmp: false,
    });
  });
});

const UNCONFIGURED = {
  shell_tool: true,
  exec_policy: true,
  unified_exec: false,
  apply_patch_freeform: false,
  shell_snapshot: false,
  web_search_request: false,
  web_search_cached: false,
  child_agents_md: false,
  collab: false,
  collaboration_modes: false,
  connectors: false,
  elevated_windows_sandbox: false,
  enable_request_compression: false,
  experimental_windows_sandbox: false,
  powershell_utf8: process.platform === "win32",
  remote_compaction: true,
  remote_models: true,
  responses_websockets: false,
  steer: false,
  undo: false,
  multi_agent: true,
  goals: false,
};

describe("resolveFeatures", () => {
  it("has Codex's defaults", () => {
    expect(resolveFeatures({})).toEqual(UNCONFIGURED);
  });

  it("switches known features and ignores unknown ones", () => {
    expect(resolveFeatures({ features: { shell_tool: false, undo: true, bogus: true } })).toEqual({
      ...UNCONFIGURED,
      shell_tool: false,
      undo: true,
    });
  });

  it.each([
    [{ tools: { web_search: true } }, { web_search_request: true }],
    [{ tools: { web_search_request: true } }, { web_search_request: true }],
    [{ experimental_use_unified_exec_tool: true }, { unified_exec: true }],
    [{ include_apply_patch_tool: true }, { apply_patch_freeform: true }],
    [{ experimental_use_freeform_apply_patch: true }, { apply_patch_freeform: true }],
    [{ features: { experimental_use_unified_exec_tool: true } }, { unified_exec: true }],
    [{ features: { include_apply_patch_tool: true } }, { apply_patch_freeform: true }],
    [{ features: { web_search: true } }, { web_search_request: true }],
    [{ include_apply_patch_tool: true, features: { apply_patch_freeform: false } }, {}],
  ])("reads the older switches in %j", (settings, changes) => {
    expect(resolveFeatures(settings)).toEqual({ ...UNCONFIGURED, ...changes });
  });
});

describe("trustOf", () => {
  it("is undefined for unlisted folders, whether they exist or not", () => {
    const folder = tempFolder();
    expect(trustOf(folder, {})).toBeUndefined();
    expect(trustOf(folder, { projects: { "/elsewhere": { trust_level: "trusted" } } })).toBeUndefined();
    expect(trustOf("/no/such/folder", { projects: { "/elsewhere": { trust_level: "trusted" } } })).toBeUndefined();
  });

  it("is that of the folder itself, which need not exist", () => {
    expect(trustOf("/no/such/folder", { projects: { "/no/such/folder": { trust_level: "untrusted" } } })).toBe("untrusted");
  });

  it("does not follow from an entry without a level, nor from a parent that is no repository", () => {
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

describe("a folder that pretends to be a worktree of a trusted repository is not trusted", () => {
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

describe("distrust also applies to folders below", () => {
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
  ] as const)("a .git file %s does not count, and the server does not wait for it", ([, prepare]) => {
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

/** A repository and one of its worktrees, as git creates them. */
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

/** A forged worktree: its git folder is its own, but claims to belong to another repository. */
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

it("the text of an instruction file is trimmed", () => {
  expect(readInstructionFile(fileWith("\n Be brief.\n\nBe kind.\n"), "model instructions file")).toBe("Be brief.\n\nBe kind.");
});

it("an empty instruction file is refused by name", () => {
  const file = fileWith(" \n");
  expect(() => readInstructionFile(file, "model instructions file")).toThrow(
    new ConfigInvalid(`model instructions file is empty: ${file}`),
  );
});

it("an unreadable instruction file is refused by name", () => {
  expect(() => readInstructionFile("/no/such/file", "compact prompt file")).toThrow(
    expect.objectContaining({
      code: "config_invalid",
      message: "failed to read compact prompt file /no/such/file: No such file or directory (os error 2)",
    }),
  );
});

function fileWith(content: string): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "instructions-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true }));
  const file = path.join(folder, "base.md");
  fs.writeFileSync(file, content);
  return file;
}
