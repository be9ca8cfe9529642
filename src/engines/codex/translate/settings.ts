import { isFields } from "../../../lib/fields.js";
import { type ApprovalPolicy, leftOutWarnings, type SandboxPolicy, type ThreadSettings, type TurnInput } from "../../../threads/model.js";

type Params = Readonly<Record<string, unknown>>;

/** `thread/start`. Raw events need the experimental API; without it they have to be left out. */
export function threadStartParams(settings: ThreadSettings, { rawEvents }: { readonly rawEvents: boolean }): Params {
  return { ...threadParams(settings), ...(rawEvents ? { experimentalRawEvents: true } : {}) };
}

/** `thread/resume`. Sandbox and approval policy are said again: a thread that is loaded from disk may come back without them. */
export function threadResumeParams(threadId: string, settings: ThreadSettings): Params {
  return { threadId, excludeTurns: true, ...threadParams(settings) };
}

/** `turn/start` of a further turn: what was said with an earlier one still holds. */
export function nextTurnParams(threadId: string, { text }: TurnInput): Params {
  return { threadId, input: [{ type: "text", text }] };
}

/** `turn/start` of the first turn since the thread was loaded. */
export function turnStartParams(threadId: string, input: TurnInput, settings: ThreadSettings): Params {
  return { ...nextTurnParams(threadId, input), ...settingsUpdateParams(threadId, settings) };
}

/** `thread/settings/update`. What confines a thread is said again: one that was loaded already ignores what its resume said. */
export function settingsUpdateParams(threadId: string, settings: ThreadSettings): Params {
  return {
    threadId,
    cwd: settings.cwd,
    approvalPolicy: POLICIES[settings.approvalPolicy],
    approvalsReviewer: "user",
    sandboxPolicy: sandboxPolicyParams(settings.sandboxPolicy),
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
  const { approvalPolicy } = settings;
  const sent = POLICIES[approvalPolicy];
  const leftOut = leftOutWarnings(settings);
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

function threadParams(settings: ThreadSettings): Params {
  const { baseInstructions, developerInstructions } = settings;
  return {
    cwd: settings.cwd,
    ...(settings.modelIsDefault ? {} : { model: settings.model }),
    modelProvider: settings.provider.id,
    approvalPolicy: POLICIES[settings.approvalPolicy],
    approvalsReviewer: "user",
    sandbox: settings.sandboxPolicy.type,
    config: configOf(settings),
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

/**
 * What works on after the turn that began it: agents of the agent, whose questions nobody would see and no interruption reaches, and
 * goals, for which Codex begins turns on its own.
 */
const OUTLIVING_TURNS = { multi_agent: false, goals: false };

/** What was said beside config.toml, which Codex reads itself. */
function configOf({ stated = {}, sandboxPolicy: sandbox, compactPrompt, leftOutServers = [] }: ThreadSettings): Params {
  const rest = Object.entries(stated).filter(([key]) => !SAID_ELSEWHERE.has(key));
  const { type, ...details } = sandbox;
  return {
    ...Object.fromEntries(rest),
    features: { ...OUTLIVING_TURNS, ...(isFields(stated["features"]) ? stated["features"] : {}) },
    ...(leftOutServers.length === 0 ? {} : { mcp_servers: withoutServers(stated["mcp_servers"], leftOutServers) }),
    ...(compactPrompt === undefined ? {} : { compact_prompt: compactPrompt }),
    ...(type === "workspace-write" ? { sandbox_workspace_write: details } : {}),
  };
}

/** What an entry says in config.toml stays; that it is not used is laid over it. */
function withoutServers(stated: unknown, names: readonly string[]): Params {
  const entries = isFields(stated) ? stated : {};
  const entryOf = (name: string) => (Object.hasOwn(entries, name) && isFields(entries[name]) ? entries[name] : {});
  return { ...entries, ...Object.fromEntries(names.map((name) => [name, { ...entryOf(name), enabled: false }])) };
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
