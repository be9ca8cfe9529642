import { APPROVAL_POLICIES, SANDBOX_MODES, type SandboxPolicy } from "../../../exec/policies.js";
import { type Fields, isFields, oneOf, textOrNothing } from "../../../lib/fields.js";
import { REASONING_EFFORTS } from "../../../threads/settings.js";
import type { StoredSettings } from "../../../threads/store.js";
import type { TokenUsage, TokenUsageInfo } from "../../../threads/usage.js";

export type SessionStart = { readonly threadId: string } & Pick<StoredSettings, "cwd" | "providerId" | "baseInstructions">;

/** The folder may be another one than at the thread's start. */
export type TurnSettings = Omit<StoredSettings, keyof SessionStart> & { readonly cwd?: string };

/** A `session_meta` payload; undefined without the fields that make it one. */
export function parseSessionMeta(meta: Fields): SessionStart | undefined {
  const { id, cwd, base_instructions: base } = meta;
  if (typeof id !== "string" || typeof cwd !== "string") return undefined;
  return withoutAbsent({
    threadId: id,
    cwd,
    providerId: textOrNothing(meta["model_provider"]),
    baseInstructions: isFields(base) ? textOrNothing(base["text"]) : undefined,
  });
}

/** A `turn_context` payload; undefined without a model. Values from other versions of Codex that we do not know are left out. */
export function parseTurnContext(context: Fields): TurnSettings | undefined {
  const { model } = context;
  if (typeof model !== "string") return undefined;
  return withoutAbsent({
    cwd: textOrNothing(context["cwd"]),
    model,
    approvalPolicy: oneOf(APPROVAL_POLICIES, context["approval_policy"]),
    sandboxPolicy: parseSandboxPolicy(context["sandbox_policy"]),
    reasoningEffort: oneOf(REASONING_EFFORTS, context["effort"]),
    developerInstructions: textOrNothing(context["developer_instructions"]),
  });
}

/** The `info` of a `token_count` event. */
export function parseUsage(info: unknown): TokenUsageInfo | undefined {
  if (!isFields(info)) return undefined;
  const total = parseTokens(info["total_token_usage"]);
  const last = parseTokens(info["last_token_usage"]);
  const contextWindow = info["model_context_window"];
  if (!total || !last) return undefined;
  return {
    total_token_usage: total,
    last_token_usage: last,
    model_context_window: typeof contextWindow === "number" ? contextWindow : null,
  };
}

function parseSandboxPolicy(policy: unknown): SandboxPolicy | undefined {
  if (!isFields(policy)) return undefined;
  // Rollouts of late 2025 name the mode `mode`; ignoring it could resume a thread with more rights than it had.
  const type = oneOf(SANDBOX_MODES, policy["type"] ?? policy["mode"]);
  if (type !== "workspace-write") return type && { type };
  const roots = policy["writable_roots"];
  return withoutAbsent({
    type,
    writable_roots: Array.isArray(roots) ? roots.filter((root) => typeof root === "string") : undefined,
    network_access: policy["network_access"] === true,
    exclude_tmpdir_env_var: policy["exclude_tmpdir_env_var"] === true,
    exclude_slash_tmp: policy["exclude_slash_tmp"] === true,
  });
}

function parseTokens(usage: unknown): TokenUsage | undefined {
  if (!isFields(usage)) return undefined;
  const count = (key: keyof TokenUsage) => (typeof usage[key] === "number" ? usage[key] : 0);
  return {
    input_tokens: count("input_tokens"),
    cached_input_tokens: count("cached_input_tokens"),
    output_tokens: count("output_tokens"),
    reasoning_output_tokens: count("reasoning_output_tokens"),
    total_tokens: count("total_tokens"),
  };
}

/** A key without a value would hide a default when settings are laid over each other. */
function withoutAbsent<T extends object>(value: T): T {
  // Only keys whose value is undefined go, and those are optional in T.
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as T;
}
