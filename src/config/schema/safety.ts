import { APPROVAL_POLICIES, SANDBOX_MODES } from "../../exec/policies.js";
import { active, choice, filePath, flag, inert, listOf, mapOf, type SettingGroup, table, text } from "./settingTypes.js";

export const TRUST_LEVELS = ["trusted", "untrusted"] as const;

export const SAFETY_GROUP: SettingGroup = {
  title: "Approvals, sandbox and trust",
  settings: {
    approval_policy: active(
      choice(APPROVAL_POLICIES),
      "When approval is requested before a command runs.",
      "`on-request`; `untrusted` in a project marked untrusted",
    ),
    sandbox_mode: active(
      choice(SANDBOX_MODES),
      "What commands may read and write.",
      "`workspace-write` in a project with a trust level, else `read-only`",
    ),
    sandbox_workspace_write: active(
      table({
        writable_roots: active(listOf(filePath), "More folders that may be written in `workspace-write`.", "`[]`"),
        network_access: active(flag, "Lets commands reach the network in `workspace-write`.", "`false`"),
        exclude_tmpdir_env_var: active(flag, "Forbids writing to `$TMPDIR`.", "`false`"),
        exclude_slash_tmp: active(flag, "Forbids writing to `/tmp`.", "`false`"),
      }),
      "Details of `workspace-write`.",
    ),
    projects: active(
      mapOf(
        "<folder>",
        table({
          trust_level: active(
            choice(TRUST_LEVELS),
            "Sets the defaults of `approval_policy` and `sandbox_mode` for threads in this folder.",
          ),
        }),
      ),
      "Folders by absolute path. A thread's own folder is looked up first, then the git repository that contains it.",
    ),
    shell_environment_policy: active(
      table({
        inherit: active(choice(["core", "all", "none"]), "Which of the server's variables commands inherit.", "`all`"),
        ignore_default_excludes: active(
          flag,
          "Keeps variables named like `*KEY*`, `*SECRET*` or `*TOKEN*`. On a listening server, unless it is `true`, commands get no variable that looks like a secret, including passwords, credentials, and URLs that contain a password.",
          "`true`; `false` on a listening server",
        ),
        exclude: active(listOf(text), "Variables to remove; `*` and `?` are wildcards, case is ignored.", "`[]`"),
        set: active(mapOf("<name>", text), "Variables to add.", "`{}`"),
        include_only: active(listOf(text), "If given, only matching variables stay.", "`[]`"),
        experimental_use_profile: inert(flag, "Commands of a login shell get its environment anyway.", "`false`"),
      }),
      "The environment of commands. Keys of the provider in use and the server's token are never in it; variables that `model_providers` and `mcp_servers` name as secret, `OTEL_*HEADERS` and `CODEX_MCP_*` only when `set` or `include_only` names them.",
    ),
  },
};
