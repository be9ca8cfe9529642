import { describe, expect, it } from "vitest";
import { ConfigInvalid } from "./errors.js";
import { resolveFeatures } from "./features.js";
import { mcpServers } from "./mcpServers.js";
import { findProvider } from "./providers.js";
import { threadSettings } from "./threadSettings.js";

const OPENAI = ["OPENAI_API_KEY", "CODEX_API_KEY"];
const PLACE = { cwd: "/no/such/place", env: {}, baseInstructions: undefined };

describe("threadSettings", () => {
  it("has a default for everything", () => {
    expect(threadSettings({}, PLACE)).toEqual({
      cwd: "/no/such/place",
      model: "gpt-5.2-codex",
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

  it("takes every setting that is given", () => {
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

  it("knows which variables the configuration calls secret, whether or not what they are for is in use", () => {
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
  ])("with %j, listening: %s, what looks secret is kept from commands: %s", (policy, listening, hidesLikelySecrets) => {
    const { shellEnvironment } = threadSettings({ shell_environment_policy: policy }, { ...PLACE, listening });
    expect(shellEnvironment).toMatchObject({ hidesLikelySecrets });
  });

  it("refuses a provider that nobody configured", () => {
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

  it("puts what is stated above what follows from trust", () => {
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
