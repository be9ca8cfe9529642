import { APPROVAL_POLICIES, SANDBOX_MODES, type SandboxPolicy, type ShellEnvironmentPolicy } from "../exec/policies.js";
import { type ModelProvider, REASONING_EFFORTS, REASONING_SUMMARIES, type ThreadSettings, VERBOSITIES } from "../threads/settings.js";
import type { Environment } from "./codexHome.js";
import { ConfigInvalid } from "./errors.js";
import { resolveFeatures } from "./features.js";
import { readInstructionFile } from "./instructionFile.js";
import { mcpServers } from "./mcpServers.js";
import { findProvider, providerNotices } from "./providers.js";
import { secretNames } from "./secretNames.js";
import { type ConfigTree, choiceAt, flagAt, numberAt, tableAt, textAt, textMapAt, textsAt } from "./tree.js";
import { type TrustLevel, trustOf } from "./trust.js";

const DEFAULT_MODEL = "gpt-5.2-codex";
const DEFAULT_PROVIDER = "openai";
const DEFAULT_PROJECT_DOC_BYTES = 32_768;

interface ThreadPlace {
  readonly cwd: string;
  readonly env: Environment;
  /** Given outside the settings; then no instructions file is read. */
  readonly baseInstructions: string | undefined;
  /** Whoever calls need not be the user. */
  readonly listening?: boolean | undefined;
}

/** What a thread in this place runs with, from settings that were checked and laid over each other. */
export function threadSettings(settings: ConfigTree, place: ThreadPlace): ThreadSettings {
  const trust = trustOf(place.cwd, settings);
  return {
    cwd: place.cwd,
    model: textAt(settings, "model") ?? DEFAULT_MODEL,
    provider: configuredProvider(settings, place.env),
    approvalPolicy: choiceAt(settings, "approval_policy", APPROVAL_POLICIES) ?? (trust === "untrusted" ? "untrusted" : "on-request"),
    sandboxPolicy: sandboxPolicy(settings, trust),
    reasoningEffort: choiceAt(settings, "model_reasoning_effort", REASONING_EFFORTS),
    reasoningSummary: choiceAt(settings, "model_reasoning_summary", REASONING_SUMMARIES) ?? "auto",
    verbosity: choiceAt(settings, "model_verbosity", VERBOSITIES),
    supportsReasoningSummaries: flagAt(settings, "model_supports_reasoning_summaries"),
    contextWindow: numberAt(settings, "model_context_window"),
    autoCompactTokenLimit: numberAt(settings, "model_auto_compact_token_limit"),
    baseInstructions: place.baseInstructions ?? textOfFile(settings, "model_instructions_file", "model instructions file"),
    developerInstructions: textAt(settings, "developer_instructions"),
    compactPrompt: compactPrompt(settings),
    projectDocMaxBytes: numberAt(settings, "project_doc_max_bytes") ?? DEFAULT_PROJECT_DOC_BYTES,
    projectDocFallbackFilenames: textsAt(settings, "project_doc_fallback_filenames") ?? [],
    projectRootMarkers: textsAt(settings, "project_root_markers") ?? [".git"],
    showRawAgentReasoning: flagAt(settings, "show_raw_agent_reasoning") ?? false,
    mcpServers: mcpServers(settings),
    shellEnvironment: shellEnvironment(settings, place),
    toolOutputTokenLimit: numberAt(settings, "tool_output_token_limit"),
    webSearch: choiceAt(settings, "web_search", ["disabled", "cached", "live"]),
    features: resolveFeatures(settings),
    notices: providerNotices(settings),
  };
}

function configuredProvider(settings: ConfigTree, env: Environment): ModelProvider {
  const id = textAt(settings, "model_provider") ?? DEFAULT_PROVIDER;
  const provider = findProvider(id, settings, env);
  if (provider === undefined) throw new ConfigInvalid(`Model provider \`${id}\` not found`);
  return provider;
}

function sandboxPolicy(settings: ConfigTree, trust: TrustLevel | undefined): SandboxPolicy {
  const mode = choiceAt(settings, "sandbox_mode", SANDBOX_MODES) ?? (trust === undefined ? "read-only" : "workspace-write");
  if (mode !== "workspace-write") return { type: mode };
  const details = tableAt(settings, "sandbox_workspace_write");
  const writableRoots = textsAt(details, "writable_roots") ?? [];
  return {
    type: mode,
    ...(writableRoots.length > 0 && { writable_roots: writableRoots }),
    network_access: flagAt(details, "network_access") ?? false,
    exclude_tmpdir_env_var: flagAt(details, "exclude_tmpdir_env_var") ?? false,
    exclude_slash_tmp: flagAt(details, "exclude_slash_tmp") ?? false,
  };
}

function shellEnvironment(settings: ConfigTree, { listening = false }: Pick<ThreadPlace, "listening">): ShellEnvironmentPolicy {
  const policy = tableAt(settings, "shell_environment_policy");
  const ignoreDefaultExcludes = flagAt(policy, "ignore_default_excludes");
  return {
    inherit: choiceAt(policy, "inherit", ["all", "core", "none"]) ?? "all",
    ignoreDefaultExcludes: ignoreDefaultExcludes ?? true,
    exclude: textsAt(policy, "exclude") ?? [],
    set: textMapAt(policy, "set"),
    includeOnly: textsAt(policy, "include_only") ?? [],
    secrets: secretNames(settings),
    hidesLikelySecrets: listening && ignoreDefaultExcludes !== true,
  };
}

function compactPrompt(settings: ConfigTree): string | undefined {
  const written = textAt(settings, "compact_prompt")?.trim();
  return written || textOfFile(settings, "experimental_compact_prompt_file", "compact prompt file");
}

function textOfFile(settings: ConfigTree, key: string, purpose: string): string | undefined {
  const file = textAt(settings, key);
  return file === undefined ? undefined : readInstructionFile(file, purpose);
}
