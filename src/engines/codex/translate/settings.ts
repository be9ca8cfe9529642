import type { ApprovalPolicy, SandboxPolicy } from "../../../exec/policies.js";
import { type Fields, isFields } from "../../../lib/fields.js";
import type { TurnInput } from "../../../threads/events.js";
import type { LeftOutServer, ThreadSettings } from "../../../threads/settings.js";
import type { ThreadGuard } from "../guard/threadGuard.js";

type Params = Readonly<Record<string, unknown>>;

/** `thread/start`. Raw events need the experimental API; without it they have to be left out. */
export function threadStartParams(settings: ThreadSettings, { rawEvents, guard }: { rawEvents: boolean; guard: ThreadGuard }): Params {
  return { ...threadParams(settings, guard), ...(rawEvents ? { experimentalRawEvents: true } : {}) };
}

/** `thread/resume`. Sandbox and approval policy are said again: a thread that is loaded from disk may come back without them. */
export function threadResumeParams(threadId: string, settings: ThreadSettings, guard: ThreadGuard): Params {
  return { threadId, excludeTurns: true, ...threadParams(settings, guard) };
}

/** What a turn is given to consider. */
export function inputParams(threadId: string, { text, images = [] }: TurnInput): Params {
  const said = text === "" && images.length > 0 ? [] : [{ type: "text", text }];
  return { threadId, input: [...said, ...images.map((url) => ({ type: "image", url }))] };
}

/** `turn/start`. Every turn says how it is confined: what an earlier one said would hold until something else changes it. */
export function turnStartParams(threadId: string, input: TurnInput | undefined, settings: ThreadSettings, guard: ThreadGuard): Params {
  return { ...(input ? inputParams(threadId, input) : { input: [] }), ...settingsUpdateParams(threadId, settings, guard) };
}

/** `thread/settings/update`: how a thread that was loaded without rights works from now on. */
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

/** The settings as Codex was told them. */
export function settingsInForce(settings: ThreadSettings): ThreadSettings {
  const approvalPolicy = POLICIES[settings.approvalPolicy];
  return approvalPolicy === settings.approvalPolicy ? settings : { ...settings, approvalPolicy };
}

/** What Codex was told instead of what was asked for, worth telling the caller. */
export function settingsNotices(settings: ThreadSettings): readonly string[] {
  const { approvalPolicy, leftOutServers = [] } = settings;
  const sent = POLICIES[approvalPolicy];
  const leftOut = leftOutServers.map(({ warning }) => warning);
  return sent === approvalPolicy
    ? leftOut
    : [...leftOut, `approval policy ${approvalPolicy}: this Codex no longer has it; ${sent} is used, which asks at least as much`];
}

/**
 * Codex dropped `on-failure`. Under `on-request` too nothing leaves the sandbox unasked, and commands judged dangerous are asked about
 * besides. `untrusted` is still taken; where it no longer is, Codex refuses the thread, since nothing else asks as much.
 */
const POLICIES: Readonly<Record<ApprovalPolicy, ApprovalPolicy>> = {
  untrusted: "untrusted",
  "on-failure": "on-request",
  "on-request": "on-request",
  never: "never",
};

/**
 * A thread that begins with the right to write makes Codex trust its folder: it notes so in the user's config.toml, reads the
 * project's own configuration and starts the programs that stand there. So each is loaded without rights, and its turns get them.
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

/** Said by parameters of their own, or by what they led to. */
const SAID_ELSEWHERE: ReadonlySet<string> = new Set([
  "approval_policy",
  "approvals_reviewer",
  "developer_instructions",
  "experimental_compact_prompt_file",
  "model",
  "model_instructions_file",
  "model_provider",
  "profile",
  "profiles",
  "sandbox_mode",
  "sandbox_workspace_write",
]);

/** Nothing that a folder's skills name is written into config.toml. */
const NOT_WANTED = { skill_mcp_dependency_install: false };

/** The feature alone takes sub-agents from older models only; newer ones bring them along. */
const WITHOUT_AGENTS = { agents: { enabled: false } };

/** What could change something outside the sandbox of commands. Codex cannot offer the reading part of it alone. */
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

/** What was said beside config.toml, which Codex reads itself. */
function configOf(settings: ThreadSettings, { withSandbox }: { withSandbox: boolean }): Params {
  const { stated = {}, sandboxPolicy: sandbox, compactPrompt, leftOutServers = [], looksOnly = false } = settings;
  const rest = Object.entries(stated).filter(([key]) => !SAID_ELSEWHERE.has(key));
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

/** What an entry says in config.toml stays; that it is not used is laid over it. */
function withoutServers(stated: unknown, servers: readonly LeftOutServer[]): Params {
  const entries = isFields(stated) ? stated : {};
  const entryOf = (name: string) => (Object.hasOwn(entries, name) && isFields(entries[name]) ? entries[name] : {});
  return { ...entries, ...Object.fromEntries(servers.map(({ name }) => [name, { ...entryOf(name), enabled: false }])) };
}

/** Tables are laid over each other; of two other values the second counts. */
function merged(below: Fields, above: Fields): Fields {
  const both = Object.entries(above).map(([key, value]) => {
    const under = Object.hasOwn(below, key) ? below[key] : undefined;
    return [key, isFields(under) && isFields(value) ? merged(under, value) : value];
  });
  return { ...below, ...Object.fromEntries(both) };
}

/** A profile says more than a policy can: what is hidden. Full access has neither. */
function confinementParams(policy: SandboxPolicy, { profiles }: ThreadGuard): Params {
  if (!profiles || policy.type === "danger-full-access") return { sandboxPolicy: sandboxPolicyParams(policy) };
  return { permissions: policy.type === "read-only" ? profiles.reading : profiles.working };
}

/** The policy as an object, which turns and single commands are given. */
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
