import * as z from "zod/mini";
import { NoRemoteDiff } from "../../agent/remoteDiff.js";
import { RPC, RpcError } from "../../jsonrpc/errors.js";
import { type Fields, isFields } from "../../lib/fields.js";
import { defineMethod } from "../surface/method.js";
import { asRefusal, failing } from "../surface/refusals.js";
import { optional, SandboxPolicyShape, Words } from "../surface/shapes.js";

export const gitDiffToRemote = defineMethod({
  name: "gitDiffToRemote",
  scope: "manage",
  params: z.object({ cwd: Words }),
  about:
    "The changes in a folder's working tree that its remote does not have: committed, uncommitted and untracked. The tree is compared with the nearest commit that a remote is " +
    "known to have; nothing is fetched. git runs in a read-only sandbox, within the folders of the caller, and starts no program that the repository's configuration names.",
  answers: "`sha`, the commit of the remote, and `diff`.",
  errors: [
    '`-32600` `failed to compute git diff to remote for cwd: "{cwd}"`, with the reason in `data.reason`: no repository, a bare one, no remote, a branch without a pushed ancestor, a diff above the output limit',
  ],
  example: [
    { id: 10, method: "gitDiffToRemote", params: { cwd: "/repo" } },
    { id: 10, result: { sha: "9f2c…", diff: "diff --git a/x b/x\n…" } },
  ],
  async call({ cwd }, { agent, ask }) {
    try {
      return await agent.server.diffToRemote(ask, cwd);
    } catch (error) {
      const refusal = asRefusal(error);
      const isFailure = error instanceof NoRemoteDiff || (refusal instanceof RpcError && refusal.code === RPC.internalError);
      if (!isFailure) throw refusal;
      const reason = refusal instanceof RpcError ? refusal.message : "";
      throw new RpcError(RPC.invalidRequest, `failed to compute git diff to remote for cwd: ${JSON.stringify(cwd)}`, {
        code: "no_remote_diff",
        reason,
      });
    }
  },
});

const TIMEOUT = { usual: 10_000, most: 3_600_000 };

export const execOneOffCommand = defineMethod({
  name: "execOneOffCommand",
  scope: "call",
  params: z.object({
    command: z.array(z.string()),
    timeoutMs: optional(z.int().check(z.gte(1), z.lte(TIMEOUT.most))),
    cwd: optional(Words),
    sandboxPolicy: optional(SandboxPolicyShape),
  }),
  about:
    "Runs one command outside any conversation, in the requested or configured sandbox, and never without it. `command` is the program and its arguments, not a shell command line. " +
    "Its timeout is `timeoutMs` (default 10,000, at most an hour); then it is ended with everything it started. For network callers, the ceilings of the server apply.",
  answers: "`exitCode`, `stdout`, `stderr`, for a failed command too.",
  errors: [
    "`-32600` `command must not be empty`",
    "`-32600` above a ceiling",
    "`-32603` `exec failed: sandbox error: command timed out`",
    "`-32603` `exec failed: …`: it could not be started",
  ],
  example: [
    {
      id: 11,
      method: "execOneOffCommand",
      params: { command: ["echo", "hi"], timeoutMs: 5_000, cwd: "/repo", sandboxPolicy: { mode: "danger-full-access" } },
    },
    { id: 11, result: { exitCode: 0, stdout: "hi\n", stderr: "" } },
  ],
  async call({ command, timeoutMs = TIMEOUT.usual, cwd, sandboxPolicy }, { agent, ask }) {
    if (!command[0]) throw new RpcError(RPC.invalidRequest, "command must not be empty");
    const { exitCode, stdout, stderr, timedOut } = await failing(
      "exec failed",
      agent.server.run(ask, { argv: command, timeoutMs, cwd, sandboxPolicy }),
    );
    if (timedOut) throw new RpcError(RPC.internalError, "exec failed: sandbox error: command timed out", { code: "timed_out" });
    return { exitCode, stdout, stderr };
  },
});

export const getUserSavedConfig = defineMethod({
  name: "getUserSavedConfig",
  scope: "manage",
  params: z.object({}),
  about:
    "The content of `config.toml` in CODEX_HOME, without profiles, flags and defaults applied. Keys, tokens and headers in it are never shown.",
  answers:
    "`config` with `approvalPolicy`, `sandboxMode`, `model`, `modelReasoningEffort`, `modelReasoningSummary`, `modelVerbosity`, `profile`, `sandboxSettings` and `tools` if they are set, and " +
    "`profiles`, whose unset fields are null.",
  errors: [
    "`-32603` `failed to load config.toml: …`: with line and column",
    "`-32603` `failed to parse config.toml: …`: a value of the wrong type",
  ],
  example: [
    { id: 12, method: "getUserSavedConfig" },
    {
      id: 12,
      result: {
        config: {
          approvalPolicy: "on-request",
          model: "gpt-6.1-sol",
          profile: "fast",
          profiles: {
            fast: {
              model: "gpt-6-luna",
              modelProvider: null,
              approvalPolicy: null,
              modelReasoningEffort: "low",
              modelReasoningSummary: null,
              modelVerbosity: null,
              chatgptBaseUrl: null,
            },
          },
        },
      },
    },
  ],
  async call(_, { agent, ask }) {
    return { config: savedConfig(await failing("failed to load config.toml", agent.server.savedConfig(ask))) };
  },
});

const TEXT = "a string";
const FLAG = "a boolean";
const KINDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  [TEXT]: (value) => typeof value === "string",
  [FLAG]: (value) => typeof value === "boolean",
};

/** Throws if the value has another type. */
function valueIn(table: Fields, key: string, kind: typeof TEXT | typeof FLAG): unknown {
  const value = Object.hasOwn(table, key) ? table[key] : undefined;
  if (value !== undefined && !KINDS[kind]?.(value))
    throw new RpcError(RPC.internalError, `failed to parse config.toml: \`${key}\` must be ${kind}`);
  return value;
}

function tableIn(table: Fields, key: string): Fields | undefined {
  const value = Object.hasOwn(table, key) ? table[key] : undefined;
  if (value !== undefined && !isFields(value))
    throw new RpcError(RPC.internalError, `failed to parse config.toml: \`${key}\` must be a table`);
  return value;
}

const PROFILE_FIELDS = {
  model: "model",
  modelProvider: "model_provider",
  approvalPolicy: "approval_policy",
  modelReasoningEffort: "model_reasoning_effort",
  modelReasoningSummary: "model_reasoning_summary",
  modelVerbosity: "model_verbosity",
  chatgptBaseUrl: "chatgpt_base_url",
};
const FIELDS = {
  approvalPolicy: "approval_policy",
  sandboxMode: "sandbox_mode",
  model: "model",
  modelReasoningEffort: "model_reasoning_effort",
  modelReasoningSummary: "model_reasoning_summary",
  modelVerbosity: "model_verbosity",
  profile: "profile",
};

function savedConfig(tree: Fields): Fields {
  const texts = Object.entries(FIELDS).map(([name, key]) => [name, valueIn(tree, key, TEXT)] as const);
  const sandbox = tableIn(tree, "sandbox_workspace_write");
  const tools = tableIn(tree, "tools");
  const profiles = Object.entries(tableIn(tree, "profiles") ?? {}).filter((entry): entry is [string, Fields] => isFields(entry[1]));
  return {
    ...onlySet(texts),
    ...(sandbox && { sandboxSettings: sandboxSettings(sandbox) }),
    ...(tools && {
      tools: onlySet([
        ["webSearch", valueIn(tools, "web_search", FLAG)],
        ["viewImage", valueIn(tools, "view_image", FLAG)],
      ]),
    }),
    profiles: Object.fromEntries(
      profiles.map(([name, profile]) => [
        name,
        Object.fromEntries(Object.entries(PROFILE_FIELDS).map(([field, key]) => [field, valueIn(profile, key, TEXT) ?? null])),
      ]),
    ),
  };
}

function sandboxSettings(sandbox: Fields): Fields {
  const roots = sandbox["writable_roots"];
  return {
    writableRoots: Array.isArray(roots) ? roots.filter((root) => typeof root === "string") : [],
    networkAccess: valueIn(sandbox, "network_access", FLAG) ?? false,
    excludeTmpdirEnvVar: valueIn(sandbox, "exclude_tmpdir_env_var", FLAG) ?? false,
    excludeSlashTmp: valueIn(sandbox, "exclude_slash_tmp", FLAG) ?? false,
  };
}

function onlySet(entries: readonly (readonly [string, unknown])[]): Fields {
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

export const setDefaultModel = defineMethod({
  name: "setDefaultModel",
  scope: "manage",
  params: z.object({ model: optional(Words), reasoningEffort: optional(Words) }),
  about:
    "Writes the default model and its effort into `config.toml`; an absent or null value is removed. If a profile is active, by the command line or by `profile` in the file, the values are written for that " +
    "profile. Comments, order and concurrent changes by others are preserved. Running conversations are not changed.",
  answers: "`{}`",
  errors: [
    "`-32603` `failed to persist overrides: …`: the file cannot be read or written, is not valid TOML, or has the profile as a single value",
  ],
  example: [
    { id: 13, method: "setDefaultModel", params: { model: "gpt-6-luna", reasoningEffort: "high" } },
    { id: 13, result: {} },
  ],
  async call({ model, reasoningEffort }, { agent, ask }) {
    await failing("failed to persist overrides", agent.server.setDefaultModel(ask, { model, effort: reasoningEffort }));
    return {};
  },
});

export const getUserAgent = defineMethod({
  name: "getUserAgent",
  scope: "call",
  params: z.object({}),
  about: "The user agent of this server: product, system, terminal and, after `initialize`, the client of this session.",
  answers: "`userAgent`",
  errors: [],
  example: [
    { id: 14, method: "getUserAgent" },
    { id: 14, result: { userAgent: "codex_mcpd/0.1.0 (Linux 6.1; x86_64) xterm-256color (probe; 0.1)" } },
  ],
  async call(_, { client }) {
    return { userAgent: client.userAgent };
  },
});
