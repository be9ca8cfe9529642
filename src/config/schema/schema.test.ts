import { describe, expect, it } from "vitest";
import { checkConfig } from "../check.js";
import { withValueAt } from "../tree.js";
import { CONFIG_GROUPS } from "./schema.js";

const CODEX_KEYS = `
  model review_model model_provider model_context_window model_auto_compact_token_limit model_reasoning_effort
  model_reasoning_summary model_verbosity model_supports_reasoning_summaries model_personality approval_policy sandbox_mode
  sandbox_workspace_write.writable_roots sandbox_workspace_write.network_access sandbox_workspace_write.exclude_tmpdir_env_var
  sandbox_workspace_write.exclude_slash_tmp shell_environment_policy.inherit shell_environment_policy.ignore_default_excludes
  shell_environment_policy.exclude shell_environment_policy.include_only shell_environment_policy.set
  shell_environment_policy.experimental_use_profile profile notify instructions developer_instructions model_instructions_file
  compact_prompt experimental_compact_prompt_file project_doc_max_bytes project_doc_fallback_filenames project_root_markers
  tool_output_token_limit web_search tools.web_search tools.web_search_request tools.view_image history.persistence
  history.max_bytes projects.x.trust_level hide_agent_reasoning show_raw_agent_reasoning chatgpt_base_url
  cli_auth_credentials_store mcp_oauth_credentials_store mcp_oauth_callback_port forced_login_method
  forced_chatgpt_workspace_id agents.max_threads ghost_snapshot.x otel.x analytics.x feedback.x tui.x notice.x file_opener
  check_for_update_on_startup disable_paste_burst oss_provider
  model_providers.x.name model_providers.x.base_url model_providers.x.env_key model_providers.x.env_key_instructions
  model_providers.x.experimental_bearer_token model_providers.x.wire_api model_providers.x.query_params
  model_providers.x.http_headers model_providers.x.env_http_headers model_providers.x.request_max_retries
  model_providers.x.stream_max_retries model_providers.x.stream_idle_timeout_ms model_providers.x.requires_openai_auth
  profiles.x.model profiles.x.model_provider profiles.x.approval_policy profiles.x.sandbox_mode profiles.x.model_reasoning_effort
  profiles.x.model_reasoning_summary profiles.x.model_verbosity profiles.x.model_personality profiles.x.chatgpt_base_url
  profiles.x.model_instructions_file profiles.x.experimental_compact_prompt_file profiles.x.include_apply_patch_tool
  profiles.x.experimental_use_unified_exec_tool profiles.x.experimental_use_freeform_apply_patch profiles.x.tools_web_search
  profiles.x.tools_view_image profiles.x.web_search profiles.x.analytics profiles.x.features.undo profiles.x.oss_provider
  mcp_servers.x.command mcp_servers.x.args mcp_servers.x.env mcp_servers.x.env_vars mcp_servers.x.cwd mcp_servers.x.url
  mcp_servers.x.bearer_token_env_var mcp_servers.x.http_headers mcp_servers.x.env_http_headers mcp_servers.x.bearer_token
  mcp_servers.x.enabled mcp_servers.x.startup_timeout_sec mcp_servers.x.startup_timeout_ms mcp_servers.x.tool_timeout_sec
  mcp_servers.x.enabled_tools mcp_servers.x.disabled_tools mcp_servers.x.scopes`;

describe("the schema", () => {
  it.each(CODEX_KEYS.trim().split(/\s+/))("knows %s of Codex's config.toml", (key) => {
    expect(unknownKeysWith(key)).toEqual([]);
  });

  it("has each key in one group only", () => {
    const keys = CONFIG_GROUPS.flatMap((group) => Object.keys(group.settings));
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
  });
});

// No value fits every type, so a known key is one that is either accepted or refused by name.
function unknownKeysWith(key: string): string[] {
  try {
    return checkConfig(withValueAt({}, key.split("."), "x"), { partial: true }).unknownKeys;
  } catch (error) {
    expect(String(error)).toContain(`in \`${key}\``);
    return [];
  }
}
