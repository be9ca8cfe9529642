import type { ApprovalPolicy, SandboxPolicy } from "../../../exec/policies.js";
import { type Fields, isFields } from "../../../lib/fields.js";
import type { TurnInput } from "../../../threads/events.js";
import type { LeftOutServer, ThreadSettings } from "../../../threads/settings.js";
import type { ThreadGuard } from "../guard/threadGuard.js";

type Params = Readonly<Record<string, unknown>>;

/** `thread/start`. Raw events need the experimental API, and must be left out without it. */
export function threadStartParams(settings: ThreadSettings, { rawEvents, guard }: { rawEvents: boolean; guard: ThreadGuard }): Params {
  return { ...threadParams(settings, guard), ...(rawEvents ? { experimentalRawEvents: true } : {}) };
}

/** `thread/resume`. Sandbox and approval policy are stated again: a thread loaded from disk may lack them. */
export function threadResumeParams(threadId: string, settings: ThreadSettings, guard: ThreadGuard): Params {
  return { threadId, excludeTurns: true, ...threadParams(settings, guard) };
}

/** The input of a turn. */
export function inputParams(threadId: string, { text, images = [] }: TurnInput): Params {
  const said = text === "" && images.length > 0 ? [] : [{ type: "text", text }];
  return { threadId, input: [...said, ...images.map((url) => ({ type: "image", url }))] };
}

/** `turn/start`. Every turn states its confinement: otherwise that of an earlier turn would remain in force. */
export function turnStartParams(threadId: string, input: TurnInput | undefined, settings: ThreadSettings, guard: ThreadGuard): Params {
  return { ...(input ? inputParams(threadId, input) : { input: [] }), ...settingsUpdateParams(threadId, settings, guard) };
}

/** `thread/settings/update`: sets the rights of a thread that was loaded without any. */
export function settingsUpdateParams(threadId: string, settings: ThreadSettings, guard: ThreadGuard): Params {
  return {
    threadId,
    cwd: settings.cwd,
    approvalPolicy: POLICIES[settings.approvalPolicy],
    approvalsReviewer: "user",
    ...confinementParams(settings.sandboxPolicy, guard),
    ...(settings.reasoningEffort === undefined ? {} : { effort: settings.reasoningEffort }),
    ...(settings.reasoningSummary === "auto" ? {} : { summary: settings.reasoningSummary }),
  };
}

/** The settings as sent to Codex. */
export function settingsInForce(settings: ThreadSettings): ThreadSettings {
  const approvalPolicy = POLICIES[settings.approvalPolicy];
  return approvalPolicy === settings.approvalPolicy ? settings : { ...settings, approvalPolicy };
}

/** Notices for the caller about settings that were replaced. */
export function settingsNotices(settings: ThreadSettings): readonly string[] {
  const { approvalPolicy, leftOutServers = [] } = settings;
  const sent = POLICIES[approvalPolicy];
  const leftOut = leftOutServers.map(({ warning }) => warning);
  return sent === approvalPolicy
    ? leftOut
    : [...leftOut, `approval policy ${approvalPolicy}: this Codex no longer has it; ${sent} is used, which asks at least as much`];
}

/**
 * Codex dropped `on-failure`. Under `on-request` nothing leaves the sandbox without a question either, and dangerous commands need approval
 * as well. `untrusted` is still accepted; a Codex without it refuses the thread, because no other policy asks as much.
 */
const POLICIES: Readonly<Record<ApprovalPolicy, ApprovalPolicy>> = {
  untrusted: "untrusted",
  "on-failure": "on-request",
  "on-request": "on-request",
  never: "never",
};

/**
 * A thread that starts with write access makes Codex trust its folder: Codex notes that in the user's config.toml, reads the project's own
 * configuration and starts the programs named there. So each thread is loaded without rights, and its turns get them.
 */
function threadParams(settings: ThreadSettings, { loadIn, profiles, config }: ThreadGuard): Params {
  const { baseInstructions, developerInstructions } = settings;
  return {
    cwd: loadIn,
    ...(settings.modelIsDefault ? {} : { model: settings.model }),
    modelProvider: settings.provider.id,
    approvalPolicy: POLICIES[settings.approvalPolicy],
    approvalsReviewer: "user",
    ...(profiles ? { permissions: profiles.reading } : { sandbox: "read-only" }),
    config: merged(configOf(settings, { withSandbox: !profiles }), config),
    ...(baseInstructions === undefined ? {} : { baseInstructions }),
    ...(developerInstructions === undefined ? {} : { developerInstructions }),
  };
}

/** These settings are not passed on: they have parameters of their own, are already part of such a parameter, or concern this server only. */
const NOT_PASSED_ON: ReadonlySet<string> = new Set([
  "approval_policy",
  "approvals_reviewer",
  "developer_instructions",
  "experimental_compact_prompt_file",
  "mcp_server",
  "model",
  "model_instructions_file",
  "model_provider",
  "profile",
  "profiles",
  "sandbox_mode",
  "sandbox_workspace_write",
]);

/** Keeps Codex from writing a skill's MCP dependencies into config.toml. */
const NOT_WANTED = { skill_mcp_dependency_install: false };

/** The feature flag removes sub-agents only from older models; newer ones need this setting. */
const WITHOUT_AGENTS = { agents: { enabled: false } };

/** Features that could change something outside the commands' sandbox. Codex cannot offer only their read-only part. */
const CHANGES_THINGS = {
  apps: false,
  plugins: false,
  remote_plugin: false,
  browser_use: false,
  browser_use_external: false,
  in_app_browser: false,
  computer_use: false,
  image_generation: false,
  memories: false,
};

/** The settings from outside config.toml, which Codex reads itself. */
function configOf(settings: ThreadSettings, { withSandbox }: { withSandbox: boolean }): Params {
  const { stated = {}, sandboxPolicy: sandbox, compactPrompt, leftOutServers = [], looksOnly = false } = settings;
  const rest = Object.entries(stated).filter(([key]) => !NOT_PASSED_ON.has(key));
  const { type, ...details } = sandbox;
  const hasNoAgents = settings.features["multi_agent"] === false;
  return {
    ...merged(Object.fromEntries(rest), hasNoAgents ? WITHOUT_AGENTS : {}),
    features: {
      ...NOT_WANTED,
      goals: settings.features["goals"] === true,
      ...(isFields(stated["features"]) ? stated["features"] : {}),
      ...(looksOnly && CHANGES_THINGS),
    },
    ...(leftOutServers.length === 0 ? {} : { mcp_servers: withoutServers(stated["mcp_servers"], leftOutServers) }),
    ...(compactPrompt === undefined ? {} : { compact_prompt: compactPrompt }),
    ...(withSandbox && type === "workspace-write" ? { sandbox_workspace_write: details } : {}),
  };
}

/** The entry of config.toml is kept; a setting on top disables it. */
function withoutServers(stated: unknown, servers: readonly LeftOutServer[]): Params {
  const entries = isFields(stated) ? stated : {};
  const entryOf = (name: string) => (Object.hasOwn(entries, name) && isFields(entries[name]) ? entries[name] : {});
  return { ...entries, ...Object.fromEntries(servers.map(({ name }) => [name, { ...entryOf(name), enabled: false }])) };
}

/** Merges tables recursively; other values are replaced by those of `above`. */
function merged(below: Fields, above: Fields): Fields {
  const both = Object.entries(above).map(([key, value]) => {
    const under = Object.hasOwn(below, key) ? below[key] : undefined;
    return [key, isFields(under) && isFields(value) ? merged(under, value) : value];
  });
  return { ...below, ...Object.fromEntries(both) };
}

/** A profile can express more than a policy: hidden files. Full access has neither. */
function confinementParams(policy: SandboxPolicy, { profiles }: ThreadGuard): Params {
  if (!profiles || policy.type === "danger-full-access") return { sandboxPolicy: sandboxPolicyParams(policy) };
  return { permissions: policy.type === "read-only" ? profiles.reading : profiles.working };
}

/** The policy as an object, for turns and single commands. */
export function sandboxPolicyParams(policy: SandboxPolicy): Params {
  switch (policy.type) {
    case "danger-full-access":
      return { type: "dangerFullAccess" };
    case "read-only":
      return { type: "readOnly", networkAccess: false };
    case "workspace-write":
      return {
        type: "workspaceWrite",
        writableRoots: policy.writable_roots ?? [],
        networkAccess: policy.network_access,
        excludeTmpdirEnvVar: policy.exclude_tmpdir_env_var,
        excludeSlashTmp: policy.exclude_slash_tmp,
      };
  }
}
