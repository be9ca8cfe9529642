import { expect, it } from "vitest";
import { settingsIn } from "../../../../test/support/threads/rollouts.js";
import type { ThreadSettings } from "../../../threads/settings.js";
import { configWords } from "./configWords.js";

it("the settings of a thread have the form of config.toml, without those that are not set", () => {
  expect(configWords(settingsIn("/repo"))).toEqual({
    model: "gpt-6.1-sol",
    model_provider: "openai",
    model_providers: {
      openai: {
        name: "OpenAI",
        base_url: "http://127.0.0.1:9/v1",
        wire_api: "responses",
        query_params: {},
        http_headers: {},
        env_http_headers: {},
        request_max_retries: 0,
        stream_max_retries: 0,
        stream_idle_timeout_ms: 1000,
        requires_openai_auth: false,
      },
    },
    model_reasoning_summary: "auto",
    approval_policy: "on-request",
    sandbox_mode: "read-only",
    shell_environment_policy: { inherit: "all", ignore_default_excludes: true, exclude: [], set: {}, include_only: [] },
    project_doc_max_bytes: 0,
    project_doc_fallback_filenames: [],
    project_root_markers: [],
    show_raw_agent_reasoning: false,
    features: {},
    mcp_servers: {},
  });
});

it("every setting has its name in config.toml", () => {
  const server = { startupTimeoutMs: 10_000, toolTimeoutMs: 1500, disabledTools: ["b"] };
  const everything: Partial<ThreadSettings> = {
    reasoningEffort: "high",
    verbosity: "low",
    supportsReasoningSummaries: true,
    contextWindow: 1,
    autoCompactTokenLimit: 2,
    developerInstructions: "be brief",
    compactPrompt: "sum up",
    toolOutputTokenLimit: 3,
    webSearch: "live",
    features: { unified_exec: true },
    sandboxPolicy: {
      type: "workspace-write",
      writable_roots: ["/x"],
      network_access: true,
      exclude_tmpdir_env_var: false,
      exclude_slash_tmp: true,
    },
    mcpServers: [
      {
        ...server,
        name: "local",
        enabledTools: ["a"],
        transport: { kind: "program", command: "p", args: ["-x"], env: { A: "1" }, envVars: ["B"], cwd: "/c" },
      },
      {
        ...server,
        name: "remote",
        transport: { kind: "http", url: "http://h", bearerTokenEnvVar: "T", httpHeaders: { a: "b" }, envHttpHeaders: { c: "D" } },
      },
    ],
  };
  expect(configWords(settingsIn("/repo", everything))).toMatchObject({
    model_reasoning_effort: "high",
    model_verbosity: "low",
    model_supports_reasoning_summaries: true,
    model_context_window: 1,
    model_auto_compact_token_limit: 2,
    developer_instructions: "be brief",
    compact_prompt: "sum up",
    tool_output_token_limit: 3,
    web_search: "live",
    features: { unified_exec: true },
    sandbox_mode: "workspace-write",
    sandbox_workspace_write: { writable_roots: ["/x"], network_access: true, exclude_tmpdir_env_var: false, exclude_slash_tmp: true },
    mcp_servers: {
      local: {
        command: "p",
        args: ["-x"],
        env: { A: "1" },
        env_vars: ["B"],
        cwd: "/c",
        startup_timeout_sec: 10,
        tool_timeout_sec: 1.5,
        enabled_tools: ["a"],
        disabled_tools: ["b"],
      },
      remote: {
        url: "http://h",
        bearer_token_env_var: "T",
        http_headers: { a: "b" },
        env_http_headers: { c: "D" },
        startup_timeout_sec: 10,
        tool_timeout_sec: 1.5,
        disabled_tools: ["b"],
      },
    },
  });
});
