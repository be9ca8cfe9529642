import path from "node:path";
import { systemReason } from "../exec/patch/errors.js";
import { APPROVAL_POLICIES, SANDBOX_MODES, type SandboxPolicy, type ShellEnvironmentPolicy } from "../exec/policies.js";
import { alternatives } from "../lib/complaints.js";
import { describe } from "../lib/errors.js";
import { gitFoldersOf } from "../lib/files/gitFiles.js";
import { ReadRefused } from "../lib/files/readRefused.js";
import { readSmallFile } from "../lib/files/smallFile.js";
import { isLikelySecret } from "../lib/likelySecret.js";
import { DEFAULT_MODEL, type ModelProvider, REASONING_SUMMARIES, type ThreadSettings, VERBOSITIES } from "../threads/settings.js";
import { findProvider, mcpServers, providerNotices } from "./endpoints.js";
import { ConfigInvalid } from "./errors.js";
import { FEATURE_DEFAULTS, LEGACY_FEATURES, RECORDED_EFFORTS } from "./schema/agent.js";
import { TRUST_LEVELS } from "./schema/safety.js";
import type { ConfigTree } from "./schema/settingTypes.js";
import { choiceAt, flagAt, numberAt, tableAt, textAt, textMapAt, textsAt } from "./tree.js";

/** Stands for the newest general model on offer. */
const LATEST_MODEL = "latest";
const DEFAULT_PROVIDER = "openai";
const DEFAULT_PROJECT_DOC_BYTES = 32_768;

interface ThreadPlace {
  readonly cwd: string;
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** Given outside the settings; then no instructions file is read. */
  readonly baseInstructions: string | undefined;
  /** The caller may not be the server's own user. */
  readonly listening?: boolean | undefined;
  /** Values unknown to Codex 0.92.0 are treated as it treated them. */
  readonly asRecorded?: boolean | undefined;
}

/** The settings of a thread in this place, from checked and merged settings. */
export function threadSettings(settings: ConfigTree, place: ThreadPlace): ThreadSettings {
  const trust = trustOf(place.cwd, settings);
  return {
    cwd: place.cwd,
    ...namedModel(settings),
    provider: configuredProvider(settings, place.env),
    approvalPolicy: choiceAt(settings, "approval_policy", APPROVAL_POLICIES) ?? (trust === "untrusted" ? "untrusted" : "on-request"),
    sandboxPolicy: sandboxPolicy(settings, trust),
    ...(place.asRecorded && { asRecorded: true }),
    reasoningEffort: effortOf(settings, place),
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
    notify: textsAt(settings, "notify"),
    webSearch: choiceAt(settings, "web_search", ["disabled", "cached", "live"]),
    features: resolveFeatures(settings),
    notices: providerNotices(settings),
  };
}

/** With `latest` the name is our choice too, until the provider's list provides a better one. */
function namedModel(settings: ConfigTree): Pick<ThreadSettings, "model" | "modelIsOurs"> {
  const model = textAt(settings, "model");
  if (model === undefined) return { model: DEFAULT_MODEL, modelIsOurs: "default" };
  return model === LATEST_MODEL ? { model: DEFAULT_MODEL, modelIsOurs: "latest" } : { model };
}

/** The engine validates the effort, because it knows the model. */
function effortOf(settings: ConfigTree, { asRecorded = false }: ThreadPlace): string | undefined {
  const effort = textAt(settings, "model_reasoning_effort");
  if (effort === undefined || !asRecorded || Object.values(RECORDED_EFFORTS).flat().includes(effort)) return effort;
  const place = ["model_reasoning_effort"];
  const words = alternatives(RECORDED_EFFORTS.named);
  throw new ConfigInvalid(`unknown variant \`${effort}\`, expected ${words}\nin \`${place.join(".")}\`\n`, { place });
}

function configuredProvider(settings: ConfigTree, env: Readonly<NodeJS.ProcessEnv>): ModelProvider {
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
  return written || textOfFile(settings, "experimental_compact_prompt_file", "experimental compact prompt file");
}

function textOfFile(settings: ConfigTree, key: string, purpose: string): string | undefined {
  const file = textAt(settings, key);
  return file === undefined ? undefined : readInstructionFile(file, purpose);
}

/** Every known feature, on or off: from its default, an older switch, or its key under `features`; the last one given wins. */
export function resolveFeatures(settings: ConfigTree): Record<string, boolean> {
  const features = tableAt(settings, "features");
  const legacy = legacySwitches(settings);
  return Object.fromEntries(
    Object.entries(FEATURE_DEFAULTS).map(([name, byDefault]) => [name, flagAt(features, name) ?? legacy[name] ?? byDefault]),
  );
}

function legacySwitches(settings: ConfigTree): Record<string, boolean | undefined> {
  const tools = tableAt(settings, "tools");
  const switches: Record<string, boolean | undefined> = {
    web_search_request: flagAt(tools, "web_search") ?? flagAt(tools, "web_search_request"),
  };
  const features = tableAt(settings, "features");
  for (const [key, feature] of Object.entries(LEGACY_FEATURES)) switches[feature] ??= flagAt(features, key) ?? flagAt(settings, key);
  switches["web_search_request"] ??= flagAt(features, "web_search");
  return switches;
}

export type TrustLevel = (typeof TRUST_LEVELS)[number];

/**
 * The trust level in `projects` for a folder: its own, or that of the git repository it belongs to. A repository inside another one is a
 * separate project and needs its own trust. Distrust of the outer one applies to it too, because the outer one's author can create inner
 * ones.
 *
 * Synchronous, because settings are resolved without waiting; it only reads git's pointer files of at most 4 KiB.
 */
export function trustOf(folder: string, settings: ConfigTree): TrustLevel | undefined {
  const projects = tableAt(settings, "projects");
  if (Object.keys(projects).length === 0) return undefined;
  const own = trustEntry(projects, folder);
  if (own !== undefined) return own;
  const [nearest, ...outer] = repositoriesAround(folder).map((repository) => trustEntry(projects, repository));
  return nearest ?? (outer.includes("untrusted") ? "untrusted" : undefined);
}

function trustEntry(projects: ConfigTree, folder: string): TrustLevel | undefined {
  return choiceAt(tableAt(projects, folder), "trust_level", TRUST_LEVELS);
}

/**
 * The folders of the main checkouts, innermost first: a linked worktree belongs to the repository it was made from, a submodule to itself.
 */
function repositoriesAround(folder: string): string[] {
  const found: string[] = [];
  for (let checkout = folder; ; checkout = path.dirname(checkout)) {
    const git = gitFoldersOf(checkout);
    if (git) found.push(git.own === git.common ? checkout : path.dirname(git.common));
    if (checkout === path.dirname(checkout)) return found;
  }
}

/** The keys of the built-in provider. */
const OPENAI_KEYS = ["OPENAI_API_KEY", "CODEX_API_KEY"];

/**
 * Variables that the configuration marks as secret: keys of all providers, in use or not, and those given to MCP servers, enabled or not.
 */
export function secretNames(settings: ConfigTree): string[] {
  const names = [
    ...OPENAI_KEYS,
    ...tablesIn(settings, "model_providers").flatMap(ofProvider),
    ...tablesIn(settings, "mcp_servers").flatMap(ofServer),
  ];
  return [...new Set(names)];
}

function ofProvider(entry: ConfigTree): string[] {
  return [textAt(entry, "env_key") ?? [], Object.values(textMapAt(entry, "env_http_headers"))].flat();
}

/** A variable passed on to a server need not be secret, for example DISPLAY. */
function ofServer(entry: ConfigTree): string[] {
  const passedOn = (textsAt(entry, "env_vars") ?? []).filter((name) => isLikelySecret(name));
  return [textAt(entry, "bearer_token_env_var") ?? [], Object.values(textMapAt(entry, "env_http_headers")), passedOn].flat();
}

function tablesIn(settings: ConfigTree, key: string): ConfigTree[] {
  const tables = tableAt(settings, key);
  return Object.keys(tables).map((name) => tableAt(tables, name));
}

/** Far more than any model accepts. */
const LARGEST = { maxBytes: 1024 * 1024 };

/** The text of a file that a setting names. `purpose` begins the error message: "model instructions file is empty: …". */
export function readInstructionFile(file: string, purpose: string): string {
  const content = readText(file, purpose).trim();
  if (content === "") throw new ConfigInvalid(`${purpose} is empty: ${file}`);
  return content;
}

function readText(file: string, purpose: string): string {
  try {
    return readSmallFile(file, LARGEST);
  } catch (error) {
    const why = error instanceof ReadRefused ? describe(error) : systemReason(error);
    throw new ConfigInvalid(`failed to read ${purpose} ${file}: ${why}`, { cause: error });
  }
}
