import { statSync } from "node:fs";
import path from "node:path";
import { parseKeyPath } from "../config/layers.js";
import type { SettingsResolver } from "../config/resolve.js";
import type { SandboxMode } from "../exec/policies.js";
import { UsageError } from "../lib/errors.js";
import { resolveLinks } from "../platform/paths.js";
import type { Reach, TurnLimits } from "../threads/limits.js";
import type { Caller } from "./caller.js";
import { hasScope } from "./caller.js";
import { isForbidden, refusedKeys } from "./callKeys.js";
import { AboveCeiling } from "./errors.js";
import { turnLimits } from "./turnLimits.js";

/** `--max-sandbox`, `--allow-root` and `--allow-config`, as they were given. */
export interface CeilingFlags {
  readonly maxSandbox?: SandboxMode | undefined;
  readonly allowRoots?: readonly string[] | undefined;
  readonly allowConfig?: readonly string[] | undefined;
  /** `--read-root`: what every caller may read beside its own folders. */
  readonly readRoots?: readonly string[] | undefined;
  /** The folders that single callers were given, all of them. Asked anew for each turn: tokens change. */
  readonly givenRoots?: (() => readonly string[]) | undefined;
}

export interface CeilingSurroundings {
  readonly serverCwd: string;
  readonly codexHome: string;
  readonly settings: Pick<SettingsResolver, "forNewThread">;
}

/** What network callers may not go beyond. */
export interface CallerCeilings {
  limitsOf(caller: Caller): TurnLimits;
  /** Throws `AboveCeiling` when a call's `config` names what it may not. */
  checkConfig(config: Readonly<Record<string, unknown>>): void;
}

export interface StartCheck {
  readonly serverCwd: string;
  readonly loopback: boolean;
  /** Files of the server that callers must not read. */
  readonly secretFiles?: readonly string[];
}

/** Throws `UsageError` when the server must not start with these flags. */
export function checkCeilings(flags: CeilingFlags, { serverCwd, loopback, secretFiles = [] }: StartCheck): void {
  if (!loopback && !flags.allowRoots?.length)
    throw new UsageError("--allow-root is needed to listen beyond loopback: name the folders that callers may work in");
  const roots = allowedRoots(flags.allowRoots?.length ? flags.allowRoots : [serverCwd], { serverCwd, flag: "--allow-root" });
  for (const file of secretFiles) checkOutOfReach(path.resolve(serverCwd, file), roots);
  allowedRoots(flags.readRoots ?? [], { serverCwd, flag: "--read-root" });
  allowedKeys(flags.allowConfig ?? []);
}

/** Secrets are hidden together with their folder, so that they stay hidden when they are replaced. */
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
  const reachOf = (caller: Caller, roots: readonly string[]): Reach => {
    if (actsForTheUser(caller)) return { folders: undefined, workRoots: roots };
    const others = [...everybodys, ...(flags.givenRoots?.() ?? [])];
    return { folders: [...roots, ...readRoots], workRoots: roots, foreign: others.filter((folder) => !roots.includes(folder)) };
  };
  return {
    limitsOf(caller) {
      const roots = caller.roots === undefined ? everybodys : caller.roots;
      return turnLimits({
        maxSandbox: flags.maxSandbox ?? "workspace-write",
        roots,
        reach: reachOf(caller, roots),
        ownFiles: resolveLinks(codexHome) ?? codexHome,
        configured: () => settings.forNewThread({ sandbox: "workspace-write" }).sandboxPolicy,
      });
    },
    checkConfig(config) {
      const refused = refusedKeys(config, added);
      if (refused.length > 0) throw new AboveCeiling(complaintAbout(refused));
    },
  };
}

/** The server's own user, and whoever may do everything, read what the user may; others share the machine with them. */
function actsForTheUser(caller: Caller): boolean {
  return hasScope(caller, "operator") || (caller.principal === "local" && hasScope(caller, "manage"));
}

/** Real paths, found once: a root is a place, not a name that may lead elsewhere later. */
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
    ? "have it set in the server's config.toml"
    : `have the server started with ${names.map((name) => `--allow-config ${name}`).join(" ")}`;
  return `This server does not take ${keys} from the \`config\` of a call. Leave it out, or ${remedy}.`;
}
