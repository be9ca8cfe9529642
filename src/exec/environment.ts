import { isLikelySecret } from "../lib/likelySecret.js";
import type { ShellEnvironmentPolicy } from "./policies.js";

export const DEFAULT_ENVIRONMENT_POLICY: ShellEnvironmentPolicy = {
  inherit: "all",
  ignoreDefaultExcludes: true,
  exclude: [],
  set: {},
  includeOnly: [],
};

export type CommandEnvironment = Readonly<Record<string, string>>;

export interface EnvironmentAdditions {
  /** Variables that are removed from every command, whatever the policy says: the keys of the model providers in use. */
  readonly secrets: readonly string[];
  /** The policy's network access; it also applies to a command that was approved to run outside the sandbox. */
  readonly network: boolean;
  readonly sandbox: "bubblewrap" | "seatbelt" | "none";
  /** For `exec_command`, whose output a model reads: colours and pagers only confuse it. */
  readonly plainOutput?: boolean;
}

const CORE = new Set(["HOME", "LOGNAME", "PATH", "SHELL", "USER", "USERNAME", "TMPDIR", "TEMP", "TMP"]);
const DEFAULT_EXCLUDES = ["*KEY*", "*SECRET*", "*TOKEN*"];
/** The server's own access token. */
const ALWAYS_SECRET = ["CODEX_MCP_TOKEN"];
/** The server's own settings, including headers for its telemetry collector. */
const OURS = /^(?:CODEX_MCP_.*|OTEL_.*HEADERS)$/i;
/** What programs of a turn need to know: the callback address, and that they run inside a turn. */
const FOR_COMMANDS = new Set(["CODEX_MCP_CALLBACK_URI", "CODEX_MCP_INSIDE"]);

/** The complete environment of a command. As in Codex, variables set explicitly must match `include_only` too. */
export function commandEnvironment(
  policy: ShellEnvironmentPolicy,
  serverEnv: Readonly<Record<string, string | undefined>>,
  additions: EnvironmentAdditions,
): CommandEnvironment {
  const excluded = matcher([...(policy.ignoreDefaultExcludes ? [] : DEFAULT_EXCLUDES), ...policy.exclude]);
  const included = policy.includeOnly.length === 0 ? () => true : matcher(policy.includeOnly);
  const keptBack = keptBackBy(policy);
  const inherited = Object.entries(serverEnv).filter(
    ([name, value]) => isInherited(name, policy.inherit) && !excluded(name) && !keptBack(name, value),
  );
  const chosen = [...inherited, ...Object.entries(policy.set)].filter(([name]) => included(name));
  return { ...withoutSecrets(Object.fromEntries(chosen), additions.secrets), ...additionsFor(additions) };
}

/** Filters the environment that a login shell produced: a profile may export the very secrets that were removed before. */
export function afterLogin(policy: ShellEnvironmentPolicy, login: CommandEnvironment, secrets: readonly string[]): CommandEnvironment {
  const keptBack = keptBackBy(policy);
  const given = Object.entries(login).filter(([name, value]) => Object.hasOwn(policy.set, name) || !keptBack(name, value));
  return withoutSecrets(Object.fromEntries(given), secrets);
}

/** The names of all variables removed from commands, for an engine that passes its own environment minus names it is given. */
export function keptBackVariables(policy: ShellEnvironmentPolicy, serverEnv: Readonly<Record<string, string | undefined>>): string[] {
  const keptBack = keptBackBy(policy);
  return Object.entries(serverEnv).flatMap(([name, value]) => (ALWAYS_SECRET.includes(name) || keptBack(name, value) ? [name] : []));
}

/**
 * What commands do not get unless the user includes it by name: the configuration's secrets, our own settings and, where other users may be
 * active, everything that looks like a secret.
 */
function keptBackBy({ secrets = [], hidesLikelySecrets = false, includeOnly }: ShellEnvironmentPolicy) {
  const secret = new Set(secrets);
  const wanted = matcher(includeOnly.filter((pattern) => !/^[*?]*$/.test(pattern)));
  return (name: string, value: string | undefined): boolean => {
    if (FOR_COMMANDS.has(name)) return false;
    return (secret.has(name) || OURS.test(name) || (hidesLikelySecrets && isLikelySecret(name, value))) && !wanted(name);
  };
}

/** The environment without secrets, and without values that cannot be passed to a program. */
export function withoutSecrets(env: Readonly<Record<string, string | undefined>>, secrets: readonly string[]): CommandEnvironment {
  const secret = new Set([...secrets, ...ALWAYS_SECRET]);
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => !secret.has(entry[0]) && isPossible(entry)));
}

function isInherited(name: string, inherit: ShellEnvironmentPolicy["inherit"]): boolean {
  return inherit === "all" || (inherit === "core" && CORE.has(name.toUpperCase()));
}

function isPossible([name, value]: readonly [string, string | undefined]): boolean {
  return name !== "" && !name.includes("=") && !name.includes("\0") && value !== undefined && !value.includes("\0");
}

function additionsFor({ network, sandbox, plainOutput }: EnvironmentAdditions): CommandEnvironment {
  return {
    ...(network ? {} : { CODEX_SANDBOX_NETWORK_DISABLED: "1" }),
    ...(sandbox === "seatbelt" ? { CODEX_SANDBOX: "seatbelt" } : {}),
    ...(plainOutput ? PLAIN_OUTPUT : {}),
  };
}

const PLAIN_OUTPUT: CommandEnvironment = {
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

/** `*` matches any text and `?` any one character, ignoring case. */
function matcher(patterns: readonly string[]): (name: string) => boolean {
  const expressions = patterns.map((pattern) => {
    const escaped = pattern.replaceAll(/[.+^${}()|[\]\\]/g, "\\$&");
    return new RegExp(`^${escaped.replaceAll("*", ".*").replaceAll("?", ".")}$`, "is");
  });
  return (name) => expressions.some((expression) => expression.test(name));
}
