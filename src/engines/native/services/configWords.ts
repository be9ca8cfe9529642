import type { SandboxPolicy, ShellEnvironmentPolicy } from "../../../exec/policies.js";
import type { McpServerSettings, ModelProvider, ThreadSettings } from "../../../threads/settings.js";

/** Settings in config.toml's form, defaults filled in. Secrets are still included. */
export function configWords(settings: ThreadSettings): Record<string, unknown> {
  const { provider } = settings;
  return withoutAbsent({
    model: settings.model,
    model_provider: provider.id,
    model_providers: { [provider.id]: providerWords(provider) },
    model_reasoning_effort: settings.reasoningEffort,
    model_reasoning_summary: settings.reasoningSummary,
    model_verbosity: settings.verbosity,
    model_supports_reasoning_summaries: settings.supportsReasoningSummaries,
    model_context_window: settings.contextWindow,
    model_auto_compact_token_limit: settings.autoCompactTokenLimit,
    approval_policy: settings.approvalPolicy,
    ...sandboxWords(settings.sandboxPolicy),
    shell_environment_policy: environmentWords(settings.shellEnvironment),
    developer_instructions: settings.developerInstructions,
    compact_prompt: settings.compactPrompt,
    project_doc_max_bytes: settings.projectDocMaxBytes,
    project_doc_fallback_filenames: settings.projectDocFallbackFilenames,
    project_root_markers: settings.projectRootMarkers,
    show_raw_agent_reasoning: settings.showRawAgentReasoning,
    tool_output_token_limit: settings.toolOutputTokenLimit,
    web_search: settings.webSearch,
    features: settings.features,
    mcp_servers: Object.fromEntries(settings.mcpServers.map((server) => [server.name, serverWords(server)])),
  });
}

function providerWords(provider: ModelProvider): Record<string, unknown> {
  return withoutAbsent({
    name: provider.name,
    base_url: provider.baseUrl,
    wire_api: provider.wireApi,
    env_key: provider.envKey,
    env_key_instructions: provider.envKeyInstructions,
    experimental_bearer_token: provider.bearerToken,
    query_params: provider.queryParams,
    http_headers: provider.httpHeaders,
    env_http_headers: provider.envHttpHeaders,
    request_max_retries: provider.requestMaxRetries,
    stream_max_retries: provider.streamMaxRetries,
    stream_idle_timeout_ms: provider.streamIdleTimeoutMs,
    requires_openai_auth: provider.requiresOpenaiAuth,
  });
}

function sandboxWords(policy: SandboxPolicy): Record<string, unknown> {
  if (policy.type !== "workspace-write") return { sandbox_mode: policy.type };
  const { type, ...details } = policy;
  return { sandbox_mode: type, sandbox_workspace_write: { writable_roots: [], ...details } };
}

function environmentWords({ inherit, ignoreDefaultExcludes, exclude, set, includeOnly }: ShellEnvironmentPolicy): Record<string, unknown> {
  return { inherit, ignore_default_excludes: ignoreDefaultExcludes, exclude, set, include_only: includeOnly };
}

function serverWords({ transport, ...server }: McpServerSettings): Record<string, unknown> {
  return withoutAbsent({
    ...transportWords(transport),
    startup_timeout_sec: server.startupTimeoutMs / 1000,
    tool_timeout_sec: server.toolTimeoutMs / 1000,
    enabled_tools: server.enabledTools,
    disabled_tools: server.disabledTools,
  });
}

function transportWords(transport: McpServerSettings["transport"]): Record<string, unknown> {
  if (transport.kind === "program") {
    const { command, args, env, envVars, cwd } = transport;
    return { command, args, env, env_vars: envVars, cwd };
  }
  const { url, bearerTokenEnvVar, httpHeaders, envHttpHeaders } = transport;
  return { url, bearer_token_env_var: bearerTokenEnvVar, http_headers: httpHeaders, env_http_headers: envHttpHeaders };
}

function withoutAbsent(words: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(words).filter(([, value]) => value !== undefined));
}
