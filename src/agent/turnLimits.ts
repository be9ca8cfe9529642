import { readlinkSync } from "node:fs";
import path from "node:path";
import { SANDBOX_MODES, type SandboxMode, type SandboxPolicy } from "../exec/policies.js";
import { executedPart } from "../exec/sandbox/guardedNames.js";
import { foldersBetween, isInside, resolveLinks } from "../platform/paths.js";
import type { Reach, TurnLimits } from "../threads/limits.js";
import type { ThreadSettings } from "../threads/settings.js";
import { AboveCeiling } from "./errors.js";

type WorkspaceWrite = Extract<SandboxPolicy, { type: "workspace-write" }>;

/** The limits of network callers' turns. */
export interface Ceilings {
  readonly maxSandbox: SandboxMode;
  /** The folders in which threads may work: real paths. */
  readonly roots: readonly string[];
  /** The real path of CODEX_HOME. A caller that could write there would set the rules of the next thread. */
  readonly ownFiles: string;
  readonly reach: Reach;
  /**
   * The policy that the configuration gives `workspace-write` threads. Further folders and network access need a check, because a caller
   * requested them.
   */
  readonly configured: () => SandboxPolicy;
}

export function turnLimits(ceilings: Ceilings): TurnLimits {
  const { maxSandbox } = ceilings;
  return {
    check({ cwd, sandboxPolicy }) {
      checkMode(sandboxPolicy, maxSandbox);
      checkFolder("the working directory", cwd, ceilings);
      // Full access includes the network and every folder, CODEX_HOME too.
      if (maxSandbox === "danger-full-access") return;
      checkKeepsOff(cwd, ceilings);
      checkOrdinary("the working directory", cwd, ceilings);
      if (sandboxPolicy.type === "workspace-write") checkExtras(sandboxPolicy, ceilings);
    },
    reach: ceilings.reach,
    confinement: maxSandbox === "danger-full-access" ? undefined : { sandbox: maxSandbox, reason: noFurtherThan(maxSandbox) },
  };
}

function checkMode({ type }: ThreadSettings["sandboxPolicy"], maxSandbox: SandboxMode): void {
  if (SANDBOX_MODES.indexOf(type) <= SANDBOX_MODES.indexOf(maxSandbox)) return;
  throw new AboveCeiling(
    `The sandbox ${type} is above the ceiling of this server, ${maxSandbox}. ` +
      `Ask for ${maxSandbox}, or restart the server with --max-sandbox ${type}.`,
  );
}

function checkFolder(what: string, folder: string, { roots }: Pick<Ceilings, "roots">): void {
  const real = resolveLinks(folder);
  if (real !== undefined && roots.some((root) => isInside(real, root))) return;
  const place = placeBehindOwnLinks(folder, roots);
  const elsewhere = place === folder ? "" : ` (it leads to ${place})`;
  throw new AboveCeiling(
    `${folder}${elsewhere} cannot be ${what}: this server allows only ${roots.join(", ")} and below. ` +
      "Choose one of these, or restart the server with --allow-root for another one.",
  );
}

const LONGEST_CHAIN = 40;

/**
 * Where the caller's own links lead. What lies outside its folders is not looked at: a caller must not learn where other links lead, such
 * as those in `/proc`, or what exists.
 */
function placeBehindOwnLinks(folder: string, roots: readonly string[]): string {
  let place = folder;
  for (let hops = 0; hops < LONGEST_CHAIN; hops++) {
    const at = path.resolve(place);
    const root = roots.find((own) => isInside(at, own));
    const link = root === undefined ? undefined : [...foldersBetween(root, at), at].map(linkAt).find((found) => found !== undefined);
    if (!link) return place;
    place = path.resolve(path.dirname(link.at), link.target, path.relative(link.at, at));
  }
  return place;
}

function linkAt(at: string): { readonly at: string; readonly target: string } | undefined {
  try {
    return { at, target: readlinkSync(at) };
  } catch {
    return undefined;
  }
}

/** The sandbox protects only a `.codex` directly in the folder it opens. */
function checkKeepsOff(folder: string, { ownFiles }: Pick<Ceilings, "ownFiles">): void {
  const real = resolveLinks(folder) ?? folder;
  const exposed = isInside(ownFiles, real) && ownFiles !== path.join(real, ".codex");
  if (!exposed && !isInside(real, ownFiles)) return;
  throw new AboveCeiling(
    `${folder} cannot be opened to commands: this server keeps its own files in ${ownFiles}. ` +
      "Choose another folder, or restart the server with another CODEX_HOME.",
  );
}

function checkOrdinary(what: string, folder: string, { roots }: Pick<Ceilings, "roots">): void {
  const real = resolveLinks(folder) ?? folder;
  const root = roots.filter((place) => isInside(real, place)).sort((a, b) => b.length - a.length)[0] ?? "/";
  const special = executedPart(root, real);
  if (special === undefined) return;
  throw new AboveCeiling(
    `${folder} cannot be ${what}: what is in ${special} decides what other programs run. Choose the project's folder.`,
  );
}

/** A thread continues with its stored settings, which may exceed today's configuration. */
function checkExtras(policy: WorkspaceWrite, ceilings: Ceilings): void {
  const roots = policy.writable_roots ?? [];
  if (roots.length === 0 && !policy.network_access) return;
  const configured = ceilings.configured();
  const given = configured.type === "workspace-write" ? configured : undefined;
  for (const root of roots) {
    if (given?.writable_roots?.includes(root)) continue;
    checkFolder(OPENED, root, ceilings);
    checkKeepsOff(root, ceilings);
    checkOrdinary(OPENED, root, ceilings);
  }
  if (policy.network_access && given?.network_access !== true)
    throw new AboveCeiling(
      "Network access for commands is above the ceiling of this server. " +
        "Set sandbox_workspace_write.network_access in config.toml, or restart the server with --max-sandbox danger-full-access.",
    );
}

const OPENED = "a folder that commands may write";

function noFurtherThan(maxSandbox: SandboxMode): string {
  return (
    `this would leave the sandbox, and no approval reaches beyond the ceiling of this server (--max-sandbox ${maxSandbox}); ` +
    "find a way inside the sandbox"
  );
}
