import { availableParallelism } from "node:os";
import path from "node:path";
import type { CommandLimits } from "../exec/commandLimits.js";
import type { ApprovalPolicy, SandboxMode } from "../exec/policies.js";
import { LONGEST_TIMER_MS } from "../lib/promises.js";
import { userHome } from "../platform/userAccount.js";
import type { ThreadSettings } from "../threads/settings.js";
import type { StoredSettings } from "../threads/store.js";
import { checkConfig } from "./check.js";
import { ConfigFile } from "./configFile.js";
import { findProvider } from "./endpoints.js";
import { complainingAbout } from "./errors.js";
import { type HttpSettings, readHttpSettings } from "./httpSettings.js";
import { type LayeredSettings, Layering } from "./layering.js";
import { absolutePath, anchorPaths, type Override, type PathAnchor, recordedForm, treeOfCallConfig, treeOfOverrides } from "./layers.js";
import type { FoundProfile } from "./profiles.js";
import { recordedNotices } from "./recordedNotices.js";
import {
  DEFAULT_APPROVAL_MINUTES,
  DEFAULT_COMMAND_LIMITS,
  DEFAULT_IDLE_THREAD_MINUTES,
  DEFAULT_MAX_DEPTH,
  DEFAULT_NAMED_SESSIONS,
  DEFAULT_RESULT_TOKENS,
  DEFAULT_TASK_AFTER_SECONDS,
  DEFAULT_UNATTENDED_MINUTES,
  EVENT_MODES,
} from "./schema/server.js";
import type { ConfigTree } from "./schema/settingTypes.js";
import { threadSettings } from "./threadSettings.js";
import { choiceAt, flagAt, mergeTrees, numberAt, tableAt, withoutAbsent } from "./tree.js";

/** The settings with a flag or argument of their own. */
export interface NamedSettings {
  readonly model?: string;
  readonly profile?: string;
  readonly cwd?: string;
  readonly sandbox?: SandboxMode;
  readonly approvalPolicy?: ApprovalPolicy;
}

export interface NewThreadCall extends NamedSettings {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly baseInstructions?: string;
  readonly developerInstructions?: string;
  readonly compactPrompt?: string;
}

/** US dollars per million tokens. */
export interface ModelPrice {
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
}

interface ServerSettings {
  readonly idleThreadMs: number;
  /** How long a question waits for an answer. */
  readonly approvalTimeoutMs: number;
  readonly emptyApprovalForms: boolean;
  /** Which of Codex's events are sent to clients. */
  readonly events: (typeof EVENT_MODES)[number];
  /** The token limit of a result. */
  readonly resultTokens: number;
  /** The prices of models, by name. */
  readonly prices: Readonly<Record<string, ModelPrice>>;
  /** Programs with full access run in a namespace that ends with this server. */
  readonly containFullAccess: boolean;
  /** Network callers may continue threads that none of them started. */
  readonly shareUnownedThreads: boolean;
  /** The default for how long calls wait for their turns. */
  readonly waitMs: number | undefined;
  /** How long a turn without followers continues. */
  readonly unattendedTurnMs: number;
  /** How long a call lasts before it becomes a task, for clients that support tasks. */
  readonly taskAfterMs: number;
  /** How deeply servers may be nested in each other's turns. */
  readonly maxDepth: number;
  /** The resource limits of one command. */
  readonly commandLimits: CommandLimits;
  /** The limits of conversations with caller-chosen names. */
  readonly namedSessions: { readonly limit: number; readonly ttlMs: number };
  /** Codex may store its login in the system's keyring, which only Codex can read. */
  readonly loginIsInKeyring: boolean;
}

/**
 * Resolves defaults, config.toml, profile, project, command line and call into settings; later layers win. A changed file takes effect at
 * once.
 */
export interface SettingsResolver {
  /** Reports every error in config.toml and on the command line; returns warnings about harmless oddities. */
  checkAtStart(): readonly string[];
  serverSettings(): ServerSettings;
  /** For a listening server. */
  httpSettings(): HttpSettings;
  /** Returns the same object for the same call, while only config.toml could change the result and did not. */
  forNewThread(call: NewThreadCall): ThreadSettings;
  /** The settings from outside config.toml: profile, project, command line and call. Plain JSON. */
  stated(call: NewThreadCall): ConfigTree;
  /** A thread keeps its recorded settings; anything missing comes from the current configuration. */
  forStoredThread(stored: StoredSettings): ThreadSettings;
  /** The profiles with a file of their own, and their errors. */
  profiles(): readonly FoundProfile[];
}

interface ResolverOptions {
  readonly codexHome: string;
  readonly cliOverrides: readonly Override[];
  readonly cliNamed: NamedSettings;
  /** Unknown keys are errors. */
  readonly strict: boolean;
  /** Unreadable values in config.toml are left to the engine, which reads the file too. */
  readonly tolerant?: boolean;
  readonly env: Readonly<NodeJS.ProcessEnv>;
  readonly serverCwd: string;
  /** The server must behave like Codex 0.92.0, even for models or words that version did not know. */
  readonly asRecorded?: boolean;
  /**
   * Callers may not be the server's own user: values that look like secrets are removed from commands unless config.toml says otherwise.
   */
  readonly listening?: boolean;
}

/** Settings that name other files: profiles, trusted projects and their `.git` links, instructions. These files may change at any time. */
const NAMING_FILES = ["profile", "projects", "model_instructions_file", "experimental_compact_prompt_file"];

/** The fixed settings of a read-only thread, whatever else its record says. */
const LOOKING = { looksOnly: true, sandboxPolicy: { type: "read-only" }, approvalPolicy: "never" } as const;

export function createSettingsResolver(options: ResolverOptions): SettingsResolver {
  const { env, strict, serverCwd, cliNamed, listening, asRecorded } = options;
  const anchor = { folder: serverCwd, home: userHome(env) };
  const overrides = anchorPaths(treeOfOverrides(options.cliOverrides), anchor);
  const commandLine = mergeTrees(overrides, namedLayer(cliNamed));
  const baseCwd = path.resolve(serverCwd, cliNamed.cwd ?? "");
  const { codexHome, tolerant } = options;
  // Network callers are not the user who trusts folders.
  const file = new ConfigFile(path.join(codexHome, "config.toml"), { home: anchor.home, tolerant });
  const places = { codexHome, home: anchor.home };
  const layering = new Layering({ ...places, file, commandLine, strict, tolerant, withProjects: !listening, asRecorded });

  /** The previous call's settings: most calls have the same. */
  let latest: { readonly call: string; readonly layer: ConfigTree } | undefined;
  /** The previous thread's settings, while config.toml alone can change them. */
  let kept: { readonly call: string; readonly ofFile: ConfigTree; readonly settings: ThreadSettings } | undefined;

  function layersOfCall(call: NewThreadCall, key = JSON.stringify(call)): LayeredSettings {
    if (latest?.call !== key) latest = { call: key, layer: callLayer(call, anchor, { asRecorded: asRecorded && !listening }) };
    return layering.under(latest.layer, cwdOf(call));
  }

  const cwdOf = (call: NewThreadCall) => absolutePath(call.cwd ?? "", { folder: baseCwd, home: anchor.home });

  function forNewThread(call: NewThreadCall): ThreadSettings {
    const key = JSON.stringify(call);
    if (kept?.call === key && kept.ofFile === file.read()) return kept.settings;
    const { settings: said, ofFile, notices, callNotice } = layersOfCall(call, key);
    const resolved = threadSettings(said, { cwd: cwdOf(call), env, listening, asRecorded, baseInstructions: call.baseInstructions });
    const recorded = asRecorded ? { recordedNotices: recordedNotices(said, codexHome) } : callNotice !== undefined && { callNotice };
    const settings = { ...resolved, ...recorded, notices: [...notices, ...resolved.notices] };
    kept = NAMING_FILES.some((name) => Object.hasOwn(said, name)) ? undefined : { call: key, ofFile, settings };
    return settings;
  }

  return {
    forNewThread,

    stated: (call) => plainJson(layersOfCall(call).besideFile),

    profiles: () => layering.profiles(),

    forStoredThread(stored) {
      const { settings, notices } = layering.under(storedLayer(stored), stored.cwd);
      const providerExists = stored.providerId !== undefined && findProvider(stored.providerId, settings, env) !== undefined;
      const current = providerExists ? mergeTrees(settings, { model_provider: stored.providerId }) : settings;
      const resolved = threadSettings(current, {
        cwd: stored.cwd,
        env,
        listening,
        asRecorded,
        baseInstructions: stored.baseInstructions,
      });
      return {
        ...resolved,
        sandboxPolicy: stored.sandboxPolicy ?? resolved.sandboxPolicy,
        ...(stored.looksOnly && LOOKING),
        notices: [...notices, ...resolved.notices, ...noticesOfLostProvider(stored, resolved)],
      };
    },

    checkAtStart() {
      file.read();
      complainingAbout("error loading config: -c", () => checkConfig(overrides, { partial: true }));
      return complainingAbout("error loading config", () => forNewThread({})).notices;
    },

    httpSettings: () => readHttpSettings(tableAt(tableAt(layering.under({}).settings, "mcp_server"), "http")),

    serverSettings() {
      const all = layering.under({}).settings;
      const server = tableAt(all, "mcp_server");
      const minutes = (key: string, otherwise: number) => Math.min((numberAt(server, key) ?? otherwise) * 60_000, LONGEST_TIMER_MS);
      return {
        idleThreadMs: minutes("idle_thread_minutes", DEFAULT_IDLE_THREAD_MINUTES),
        approvalTimeoutMs: minutes("approval_timeout_minutes", DEFAULT_APPROVAL_MINUTES),
        emptyApprovalForms: flagAt(server, "empty_approval_forms") ?? false,
        events: choiceAt(server, "events", EVENT_MODES) ?? "auto",
        resultTokens: numberAt(server, "result_tokens") ?? DEFAULT_RESULT_TOKENS,
        prices: pricesIn(tableAt(server, "prices")),
        containFullAccess: flagAt(server, "contain_full_access") ?? true,
        shareUnownedThreads: flagAt(server, "share_unowned_threads") ?? false,
        waitMs: secondsAt(server, "wait_seconds"),
        unattendedTurnMs: minutes("unattended_turn_minutes", DEFAULT_UNATTENDED_MINUTES),
        taskAfterMs: secondsAt(server, "task_after_seconds") ?? DEFAULT_TASK_AFTER_SECONDS * 1_000,
        maxDepth: numberAt(server, "max_depth") ?? DEFAULT_MAX_DEPTH,
        commandLimits: commandLimits(tableAt(server, "commands")),
        namedSessions: namedSessions(tableAt(server, "codex_cli")),
        loginIsInKeyring: ["keyring", "auto"].includes(String(all["cli_auth_credentials_store"])),
      };
    },
  };
}

const HOUR_MS = 3_600_000;

function namedSessions(table: ConfigTree): ServerSettings["namedSessions"] {
  return {
    limit: numberAt(table, "max_sessions") ?? DEFAULT_NAMED_SESSIONS.max,
    ttlMs: (numberAt(table, "session_hours") ?? DEFAULT_NAMED_SESSIONS.hours) * HOUR_MS,
  };
}

function pricesIn(prices: ConfigTree): Readonly<Record<string, ModelPrice>> {
  const entries = Object.keys(prices).map((model) => {
    const price = tableAt(prices, model);
    const input = numberAt(price, "input") ?? 0;
    return [model, { input, cachedInput: numberAt(price, "cached_input") ?? input, output: numberAt(price, "output") ?? 0 }] as const;
  });
  return Object.fromEntries(entries);
}

function secondsAt(table: ConfigTree, key: string): number | undefined {
  const seconds = numberAt(table, key);
  return seconds === undefined ? undefined : seconds * 1_000;
}

const MIB = 1024 * 1024;

function commandLimits(commands: ConfigTree): CommandLimits {
  const bytes = (mebibytes: number | undefined) =>
    mebibytes === undefined ? undefined : Math.min(mebibytes * MIB, Number.MAX_SAFE_INTEGER);
  const { maxProcesses, perProcessor, threadsPerProcess, sharedMemoryMib } = DEFAULT_COMMAND_LIMITS;
  // Zero means unlimited.
  const processes = (numberAt(commands, "max_processes") ?? Math.max(maxProcesses, perProcessor * availableParallelism())) || undefined;
  return {
    processes,
    threads: (numberAt(commands, "max_threads") ?? threadsPerProcess * (processes ?? 0)) || undefined,
    sharedMemoryBytes: bytes(numberAt(commands, "shared_memory_mib") ?? sharedMemoryMib),
    fileBytes: bytes(numberAt(commands, "max_file_mib")),
    addressSpaceBytes: bytes(numberAt(commands, "max_address_space_mib")),
  };
}

/** TOML integers beyond 2^53 only mean "no limit" here; dates are written as text. */
function plainJson(tree: ConfigTree): ConfigTree {
  return JSON.parse(JSON.stringify(tree, (_key, value: unknown) => (typeof value === "bigint" ? Number(value) : value))) as ConfigTree;
}

function callLayer(call: NewThreadCall, anchor: PathAnchor, { asRecorded = false }: Pick<ResolverOptions, "asRecorded">): ConfigTree {
  const named = withoutAbsent({ developer_instructions: call.developerInstructions, compact_prompt: call.compactPrompt });
  const given = treeOfCallConfig(call.config ?? {}, { asRecorded });
  // Checked even if a named argument overrides it: the caller must learn of a misspelt key.
  checkConfig(given, { partial: true, asRecorded });
  const config = asRecorded ? recordedForm(given) : given;
  return mergeTrees(anchorPaths(config, anchor), namedLayer(call), named);
}

function namedLayer({ model, profile, sandbox, approvalPolicy }: NamedSettings): ConfigTree {
  return withoutAbsent({ model, profile, sandbox_mode: sandbox, approval_policy: approvalPolicy });
}

function storedLayer({ model, approvalPolicy, reasoningEffort, developerInstructions }: StoredSettings): ConfigTree {
  return withoutAbsent({
    model,
    approval_policy: approvalPolicy,
    model_reasoning_effort: reasoningEffort,
    developer_instructions: developerInstructions,
  });
}

function noticesOfLostProvider({ providerId }: StoredSettings, { provider }: ThreadSettings): readonly string[] {
  if (providerId === undefined || providerId === provider.id) return [];
  return [`model provider \`${providerId}\` of this thread is no longer configured; \`${provider.id}\` is used instead`];
}
