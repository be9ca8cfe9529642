import { describe, expect, it } from "vitest";
import { settingsIn } from "../../../../test/support/threads/rollouts.js";
import { APPROVAL_POLICIES } from "../../../exec/policies.js";
import type { ThreadGuard } from "../guard/threadGuard.js";
import { settingsNotices, threadResumeParams, threadStartParams, turnStartParams } from "./settings.js";

const WRITABLE = {
  type: "workspace-write",
  writable_roots: ["/more"],
  network_access: true,
  exclude_tmpdir_env_var: false,
  exclude_slash_tmp: true,
} as const;

const FEATURES = { goals: false, skill_mcp_dependency_install: false };

function guardIn(loadIn: string, more: Partial<ThreadGuard> = {}): ThreadGuard {
  return { reach: undefined, loadIn, config: {}, withoutGit: false, release: () => {}, ...more };
}

const GUARDED = guardIn("/", {
  config: { features: { more: true }, permissions: { r: {}, w: {} } },
  profiles: { reading: "r", working: "w" },
});

describe("a thread", () => {
  it("starts without rights, with the resolved settings, and Codex's own config.toml for the rest", () => {
    const settings = settingsIn("/ws", {
      sandboxPolicy: WRITABLE,
      baseInstructions: "be brief",
      developerInstructions: "no tabs",
      compactPrompt: "sum up",
      stated: {
        model: "m",
        profile: "fast",
        sandbox_mode: "read-only",
        sandbox_workspace_write: { network_access: false },
        model_verbosity: "low",
        tools: { web_search: true },
        features: { multi_agent: true },
        mcp_server: { wait_seconds: 30 },
      },
    });
    expect(threadStartParams(settings, { rawEvents: true, guard: guardIn("/ws") })).toEqual({
      cwd: "/ws",
      model: "gpt-6.1-sol",
      modelProvider: "openai",
      approvalPolicy: "on-request",
      approvalsReviewer: "user",
      sandbox: "read-only",
      config: {
        model_verbosity: "low",
        tools: { web_search: true },
        features: { ...FEATURES, multi_agent: true },
        compact_prompt: "sum up",
        sandbox_workspace_write: {
          writable_roots: ["/more"],
          network_access: true,
          exclude_tmpdir_env_var: false,
          exclude_slash_tmp: true,
        },
      },
      baseInstructions: "be brief",
      developerInstructions: "no tabs",
      experimentalRawEvents: true,
    });
  });

  it.each([
    [{ multi_agent: false }, { agents: { max_depth: 1, enabled: false } }],
    [
      { multi_agent: true, goals: true },
      { agents: { max_depth: 1 }, features: { ...FEATURES, goals: true } },
    ],
  ])("has sub-agents and goals as its features %j say", (features, config) => {
    const settings = settingsIn("/ws", { features, stated: { agents: { max_depth: 1 } } });
    expect(threadStartParams(settings, { rawEvents: false, guard: guardIn("/ws") })["config"]).toEqual({ features: FEATURES, ...config });
  });

  it("without a named model gets Codex's own", () => {
    expect(threadStartParams(settingsIn("/ws", { modelIsDefault: true }), { rawEvents: false, guard: guardIn("/ws") })).toEqual({
      cwd: "/ws",
      modelProvider: "openai",
      approvalPolicy: "on-request",
      approvalsReviewer: "user",
      sandbox: "read-only",
      config: { features: FEATURES },
    });
  });

  it("is resumed with its confinement stated again, and without its history", () => {
    const settings = settingsIn("/ws", { approvalPolicy: "never", sandboxPolicy: { type: "danger-full-access" } });
    expect(threadResumeParams("t1", settings, guardIn("/ws"))).toEqual({
      threadId: "t1",
      excludeTurns: true,
      cwd: "/ws",
      model: "gpt-6.1-sol",
      modelProvider: "openai",
      approvalPolicy: "never",
      approvalsReviewer: "user",
      sandbox: "read-only",
      config: { features: FEATURES },
    });
  });
});

it("a guarded thread is loaded elsewhere, and says a profile instead of a sandbox", () => {
  const settings = settingsIn("/ws", { sandboxPolicy: WRITABLE });
  expect(threadStartParams(settings, { rawEvents: false, guard: GUARDED })).toEqual({
    cwd: "/",
    model: "gpt-6.1-sol",
    modelProvider: "openai",
    approvalPolicy: "on-request",
    approvalsReviewer: "user",
    permissions: "r",
    config: { features: { ...FEATURES, more: true }, permissions: { r: {}, w: {} } },
  });
  const turns = [{ type: "read-only" } as const, WRITABLE, { type: "danger-full-access" } as const].map((sandboxPolicy) => {
    const { cwd, permissions, sandboxPolicy: policy } = turnStartParams("t1", undefined, { ...settings, sandboxPolicy }, GUARDED);
    return [cwd, permissions ?? policy];
  });
  expect(turns).toEqual([
    ["/ws", "r"],
    ["/ws", "w"],
    ["/ws", { type: "dangerFullAccess" }],
  ]);
});

describe("a turn", () => {
  it("states its confinement each time", () => {
    const settings = settingsIn("/ws", { sandboxPolicy: WRITABLE, reasoningEffort: "low", reasoningSummary: "detailed" });
    expect(turnStartParams("t1", { text: "go" }, settings, guardIn("/ws"))).toEqual({
      threadId: "t1",
      input: [{ type: "text", text: "go" }],
      cwd: "/ws",
      approvalPolicy: "on-request",
      approvalsReviewer: "user",
      sandboxPolicy: {
        type: "workspaceWrite",
        writableRoots: ["/more"],
        networkAccess: true,
        excludeTmpdirEnvVar: false,
        excludeSlashTmp: true,
      },
      effort: "low",
      summary: "detailed",
    });
  });

  it.each([
    [{ type: "read-only" } as const, { type: "readOnly", networkAccess: false }],
    [{ type: "danger-full-access" } as const, { type: "dangerFullAccess" }],
    [
      { type: "workspace-write", network_access: false, exclude_tmpdir_env_var: true, exclude_slash_tmp: false } as const,
      { type: "workspaceWrite", writableRoots: [], networkAccess: false, excludeTmpdirEnvVar: true, excludeSlashTmp: false },
    ],
  ])("is confined as Codex words it: %j", (sandboxPolicy, said) => {
    expect(turnStartParams("t1", { text: "" }, settingsIn("/ws", { sandboxPolicy }), guardIn("/ws"))["sandboxPolicy"]).toEqual(said);
  });
});

it("a policy that Codex no longer has is replaced by one that asks at least as often, with a notice", () => {
  const told = APPROVAL_POLICIES.map((approvalPolicy) => {
    const settings = settingsIn("/ws", { approvalPolicy });
    return [turnStartParams("t1", { text: "" }, settings, guardIn("/ws"))["approvalPolicy"], ...settingsNotices(settings)];
  });
  expect(told).toEqual([
    ["untrusted"],
    ["on-request", "approval policy on-failure: this Codex no longer has it; on-request is used, which asks at least as much"],
    ["on-request"],
    ["never"],
  ]);
});

it("an MCP server that is this server is turned off for the thread, whatever its other settings, with a notice", () => {
  const settings = settingsIn("/ws", {
    leftOutServers: ["codex", "us.too"].map((name) => ({ name, warning: `left out MCP server ${name}` })),
    stated: { mcp_servers: { codex: { command: "codex-mcp-server" }, docs: { command: "docs" } } },
  });
  const servers = { codex: { command: "codex-mcp-server", enabled: false }, "us.too": { enabled: false }, docs: { command: "docs" } };
  for (const params of [threadStartParams(settings, { rawEvents: false, guard: GUARDED }), threadResumeParams("t1", settings, GUARDED)])
    expect(params["config"]).toMatchObject({ mcp_servers: servers });
  expect(settingsNotices(settings)).toEqual([
    expect.stringContaining("left out MCP server codex"),
    expect.stringContaining("left out MCP server us.too"),
  ]);
});
