/** What commands may do, and when approval is requested: set per thread, enforced by the sandbox. */

export const APPROVAL_POLICIES = ["untrusted", "on-failure", "on-request", "never"] as const;
export type ApprovalPolicy = (typeof APPROVAL_POLICIES)[number];

export const SANDBOX_MODES = ["read-only", "workspace-write", "danger-full-access"] as const;
export type SandboxMode = (typeof SANDBOX_MODES)[number];

/** In Codex's format for events and rollouts. */
export type SandboxPolicy =
  | { readonly type: "read-only" }
  | { readonly type: "danger-full-access" }
  | {
      readonly type: "workspace-write";
      readonly writable_roots?: readonly string[];
      readonly network_access: boolean;
      readonly exclude_tmpdir_env_var: boolean;
      readonly exclude_slash_tmp: boolean;
    };

/** `shell_environment_policy` of config.toml, defaults filled in. */
export interface ShellEnvironmentPolicy {
  readonly inherit: "all" | "core" | "none";
  readonly ignoreDefaultExcludes: boolean;
  readonly exclude: readonly string[];
  readonly set: Readonly<Record<string, string>>;
  readonly includeOnly: readonly string[];
  /** Variables that the configuration itself marks as secret. */
  readonly secrets?: readonly string[];
  /** Everything that looks like a secret is removed from commands: the caller may not be the server's own user. */
  readonly hidesLikelySecrets?: boolean;
}
