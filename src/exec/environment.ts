import type { ShellEnvironmentPolicy } from "../threads/model.js";

export const DEFAULT_ENVIRONMENT_POLICY: ShellEnvironmentPolicy = {
  inherit: "all",
  ignoreDefaultExcludes: true,
  exclude: [],
  set: {},
  includeOnly: [],
};

export type Environment = Readonly<Record<string, string>>;

export interface EnvironmentAdditions {
  /** Names of variables that no command gets, whatever the policy says: the keys of the model providers in use. */
  readonly secrets: readonly string[];
  /** What the policy says of the network, also when a command was approved to run outside it. */
  readonly network: boolean;
  readonly sandbox: "bubblewrap" | "seatbelt" | "none";
  /** `exec_command` output is read by a model, which colours and pagers only confuse. */
  readonly plainOutput?: boolean;
}

const CORE = new Set(["HOME", "LOGNAME", "PATH", "SHELL", "USER", "USERNAME", "TMPDIR", "TEMP", "TMP"]);
const DEFAULT_EXCLUDES = ["*KEY*", "*SECRET*", "*TOKEN*"];
/** The server's own password. */
const ALWAYS_SECRET = ["CODEX_MCP_TOKEN"];

/** The whole environment of a command. Values that were set by hand pass `include_only` as well, as they do in Codex. */
export function commandEnvironment(
  policy: ShellEnvironmentPolicy,
  serverEnv: Readonly<Record<string, string | undefined>>,
  additions: EnvironmentAdditions,
): Environment {
  const excluded = matcher([...(policy.ignoreDefaultExcludes ? [] : DEFAULT_EXCLUDES), ...policy.exclude]);
  const included = policy.includeOnly.length === 0 ? () => true : matcher(policy.includeOnly);
  const inherited = Object.entries(serverEnv).filter(([name]) => isInherited(name, policy.inherit) && !excluded(name));
  const chosen = [...inherited, ...Object.entries(policy.set)].filter(([name]) => included(name));
  return { ...withoutSecrets(Object.fromEntries(chosen), additions.secrets), ...additionsFor(additions) };
}

/** Also drops what no program can be given. */
export function withoutSecrets(env: Readonly<Record<string, string | undefined>>, secrets: readonly string[]): Environment {
  const secret = new Set([...secrets, ...ALWAYS_SECRET]);
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => !secret.has(entry[0]) && isPossible(entry)));
}

function isInherited(name: string, inherit: ShellEnvironmentPolicy["inherit"]): boolean {
  return inherit === "all" || (inherit === "core" && CORE.has(name.toUpperCase()));
}

function isPossible([name, value]: readonly [string, string | undefined]): boolean {
  return name !== "" && !name.includes("=") && !name.includes("\0") && value !== undefined && !value.includes("\0");
}

function additionsFor({ network, sandbox, plainOutput }: EnvironmentAdditions): Environment {
  return {
    ...(network ? {} : { CODEX_SANDBOX_NETWORK_DISABLED: "1" }),
    ...(sandbox === "seatbelt" ? { CODEX_SANDBOX: "seatbelt" } : {}),
    ...(plainOutput ? PLAIN_OUTPUT : {}),
  };
}

const PLAIN_OUTPUT: Environment = {
  NO_COLOR: "1",
  TERM: "dumb",
  LANG: "C.UTF-8",
  LC_CTYPE: "C.UTF-8",
  LC_ALL: "C.UTF-8",
  COLORTERM: "",
  PAGER: "cat",
  GIT_PAGER: "cat",
  GH_PAGER: "cat",
  CODEX_CI: "1",
};

/** `*` and `?` match anything and any one character; case does not count. */
function matcher(patterns: readonly string[]): (name: string) => boolean {
  const expressions = patterns.map((pattern) => {
    const escaped = pattern.replaceAll(/[.+^${}()|[\]\\]/g, "\\$&");
    return new RegExp(`^${escaped.replaceAll("*", ".*").replaceAll("?", ".")}$`, "is");
  });
  return (name) => expressions.some((expression) => expression.test(name));
}
