import { statSync } from "node:fs";
import path from "node:path";
import { parseKeyPath, treeOfCallConfig } from "../config/layers.js";
import type { SettingsResolver } from "../config/resolve.js";
import { CONFIG_SCHEMA } from "../config/schema/schema.js";
import type { ConfigTree, ConfigType } from "../config/schema/settingTypes.js";
import { isTree } from "../config/tree.js";
import type { SandboxMode } from "../exec/policies.js";
import { UsageError } from "../lib/errors.js";
import { resolveLinks } from "../platform/paths.js";
import type { Reach, TurnLimits } from "../threads/limits.js";
import { type Caller, hasScope } from "./caller.js";
import { AboveCeiling } from "./errors.js";
import { turnLimits } from "./turnLimits.js";

/** The values of `--max-sandbox`, `--allow-root` and `--allow-config`. */
export interface CeilingFlags {
  readonly maxSandbox?: SandboxMode | undefined;
  readonly allowRoots?: readonly string[] | undefined;
  readonly allowConfig?: readonly string[] | undefined;
  /** `--read-root`: folders that every caller may read in addition to its own. */
  readonly readRoots?: readonly string[] | undefined;
  /** All folders that single tokens allow. Read again for each turn, because tokens change. */
  readonly givenRoots?: (() => readonly string[]) | undefined;
}

export interface CeilingSurroundings {
  readonly serverCwd: string;
  readonly codexHome: string;
  readonly settings: Pick<SettingsResolver, "forNewThread">;
}

/** The limits of network callers. */
export interface CallerCeilings {
  limitsOf(caller: Caller): TurnLimits;
  /** Throws `AboveCeiling` if a call's `config` sets a key that it may not. */
  checkConfig(config: Readonly<Record<string, unknown>>): void;
}

export interface StartCheck {
  readonly serverCwd: string;
  readonly loopback: boolean;
  /** Files of the server that callers must not read. */
  readonly secretFiles?: readonly string[];
}

/** Throws `UsageError` if the server must not start with these flags. */
export function checkCeilings(flags: CeilingFlags, { serverCwd, loopback, secretFiles = [] }: StartCheck): void {
  if (!loopback && !flags.allowRoots?.length)
    throw new UsageError("--allow-root is needed to listen beyond loopback: name the folders that callers may work in");
  const roots = allowedRoots(flags.allowRoots?.length ? flags.allowRoots : [serverCwd], { serverCwd, flag: "--allow-root" });
  for (const file of secretFiles) checkOutOfReach(path.resolve(serverCwd, file), roots);
  allowedRoots(flags.readRoots ?? [], { serverCwd, flag: "--read-root" });
  allowedKeys(flags.allowConfig ?? []);
}

/** The folder of a secret file is hidden as a whole, so that a replaced file stays hidden too. */
function checkOutOfReach(file: string, roots: readonly string[]): void {
  const folders = [path.dirname(file), path.dirname(resolveLinks(file) ?? file)].map((folder) => resolveLinks(folder) ?? folder);
  if (!roots.some((root) => folders.includes(root))) return;
  throw new UsageError(`${file} is in a folder that callers work in: keep it in a folder of its own, which is then hidden from them`);
}

export function openCeilings(flags: CeilingFlags, { serverCwd, codexHome, settings }: CeilingSurroundings): CallerCeilings {
  const given = flags.allowRoots?.length ? flags.allowRoots : [settings.forNewThread({}).cwd];
  const everybodys = allowedRoots(given, { serverCwd, flag: "--allow-root" });
  const readRoots = allowedRoots(flags.readRoots ?? [], { serverCwd, flag: "--read-root" });
  const added = allowedKeys(flags.allowConfig ?? []);
  const { maxSandbox = "workspace-write" } = flags;
  const configured = () => settings.forNewThread({ sandbox: "workspace-write" }).sandboxPolicy;
  const opensElsewhere = (folder: string) => {
    if (maxSandbox === "danger-full-access") return true;
    const policy = configured();
    return policy.type === "workspace-write" && policy.writable_roots?.includes(folder) === true;
  };
  const reachOf = (caller: Caller, roots: readonly string[]): Reach => {
    if (actsForTheUser(caller)) return { folders: undefined, workRoots: roots, opensElsewhere };
    const others = [...everybodys, ...(flags.givenRoots?.() ?? [])];
    const foreign = others.filter((folder) => !roots.includes(folder));
    return { folders: [...roots, ...readRoots], workRoots: roots, opensElsewhere, foreign };
  };
  return {
    limitsOf(caller) {
      const roots = caller.roots === undefined ? everybodys : caller.roots;
      return turnLimits({
        maxSandbox,
        roots,
        reach: reachOf(caller, roots),
        ownFiles: resolveLinks(codexHome) ?? codexHome,
        configured,
      });
    },
    checkConfig(config) {
      const refused = refusedKeys(config, added);
      if (refused.length > 0) throw new AboveCeiling(complaintAbout(refused));
    },
  };
}

/** The server's own user and operators may read everything that the user may. Other callers only share the machine. */
function actsForTheUser(caller: Caller): boolean {
  return hasScope(caller, "operator") || (caller.principal === "local" && hasScope(caller, "manage"));
}

/** Real paths, resolved once: a link that changes later must not move a root. */
function allowedRoots(given: readonly string[], { serverCwd, flag }: { serverCwd: string; flag: string }): string[] {
  return given.map((root) => {
    const real = realFolder(path.resolve(serverCwd, root));
    if (real === undefined) throw new UsageError(`${flag} ${root}: there is no such folder`);
    return real;
  });
}

function realFolder(folder: string): string | undefined {
  const real = resolveLinks(folder);
  return real !== undefined && statSync(real, { throwIfNoEntry: false })?.isDirectory() ? real : undefined;
}

function allowedKeys(given: readonly string[]): string[][] {
  return given.map((key) => {
    const keyPath = parseKeyPath(key.trim());
    if (keyPath.some((part) => part === "")) throw new UsageError(`--allow-config needs a key of config.toml; got '${key}'`);
    if (isForbidden(keyPath))
      throw new UsageError(
        `--allow-config ${key} cannot be used: callers never name programs, URLs, headers, keys, files or the rules they are held to`,
      );
    return keyPath;
  });
}

function complaintAbout(refused: readonly (readonly string[])[]): string {
  const names = refused.map((key) => key.join("."));
  const keys = names.map((name) => `\`${name}\``).join(", ");
  const remedy = refused.some(isForbidden)
    ? "set it in the server's config.toml"
    : `restart the server with ${names.map((name) => `--allow-config ${name}`).join(" ")}`;
  return `This server does not take ${keys} from the \`config\` of a call. Leave it out, or ${remedy}.`;
}

type KeyPath = readonly string[];

/** The keys that a network call's `config` may always set: model options, and settings that have a tool argument anyway. */
const ALLOWED: readonly KeyPath[] = [
  ["model"],
  ["model_reasoning_effort"],
  ["model_reasoning_summary"],
  ["model_verbosity"],
  ["model_supports_reasoning_summaries"],
  ["model_context_window"],
  ["model_auto_compact_token_limit"],
  ["model_personality"],
  ["hide_agent_reasoning"],
  ["show_raw_agent_reasoning"],
  ["project_doc_max_bytes"],
  ["tool_output_token_limit"],
  // The settings that result from these are checked.
  ["profile"],
  ["approval_policy"],
  ["sandbox_mode"],
  ["developer_instructions"],
  ["compact_prompt"],
];

/** Keys that network callers may never set: they name a program, URL, header, key or file, or they define the rules themselves. */
const FORBIDDEN: readonly KeyPath[] = [
  ["mcp_servers"],
  ["mcp_server"],
  ["model_providers"],
  ["notify"],
  ["shell_environment_policy"],
  ["sandbox_workspace_write"],
  ["profiles"],
  ["projects"],
  ["project_doc_fallback_filenames"],
  ["project_root_markers"],
  // A caller must not turn off the rules that bind it.
  ["features", "exec_policy"],
  ["approvals_reviewer"],
  ["auto_review"],
  ["default_permissions"],
  ["permissions"],
  ["hooks"],
  ["plugins"],
  ["marketplaces"],
  ["skills"],
  ["apps"],
  ["otel"],
  ["model_catalog_json"],
  ["js_repl_node_module_dirs"],
  ["experimental_thread_store"],
];

/** Keys of any Codex version whose name shows that they hold such a value. */
const TELLING_NAME =
  /(?:^|_)(?:url|endpoint|file|filename|path|dir|home|command|program|header|env|env_var|secret|api_key|bearer_token)s?$/;

/** The keys of a call's `config` that it may not set. `added` holds the keys that the operator allows in addition. */
export function refusedKeys(config: Readonly<Record<string, unknown>>, added: readonly KeyPath[]): KeyPath[] {
  const allowed = [...ALLOWED, ...added];
  return leavesOf(treeOfCallConfig(config)).filter((keyPath) => isForbidden(keyPath) || !allowed.some((key) => isAtOrBelow(keyPath, key)));
}

/** Whether no flag can make this key available to network callers. */
export function isForbidden(keyPath: KeyPath): boolean {
  return FORBIDDEN.some((family) => isAtOrBelow(keyPath, family)) || keyPath.some((part) => TELLING_NAME.test(part)) || namesFile(keyPath);
}

function isAtOrBelow(keyPath: KeyPath, key: KeyPath): boolean {
  return key.every((part, at) => keyPath[at] === part);
}

/** Every key path that ends in a value. An empty table counts as a value, because it overrides too. */
function leavesOf(tree: ConfigTree, above: KeyPath = []): KeyPath[] {
  return Object.entries(tree).flatMap(([key, value]) => {
    const keyPath = [...above, key];
    return isTree(value) && Object.keys(value).length > 0 ? leavesOf(value, keyPath) : [keyPath];
  });
}

function namesFile(keyPath: KeyPath): boolean {
  let type: ConfigType | undefined = CONFIG_SCHEMA;
  for (const part of keyPath) type = typeBelow(type, part);
  return type?.kind === "path" || (type?.kind === "list" && type.of.kind === "path");
}

function typeBelow(type: ConfigType | undefined, key: string): ConfigType | undefined {
  if (type?.kind === "map") return type.of;
  if (type?.kind !== "table" || !Object.hasOwn(type.fields, key)) return undefined;
  return type.fields[key]?.type;
}
