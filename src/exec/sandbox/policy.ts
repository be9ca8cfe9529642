import { lstatSync } from "node:fs";
import path from "node:path";
import { smallFileIfAny } from "../../lib/files/smallFile.js";
import { type FollowedPath, followLinks, isBelow, isInside, isThere, resolvedAsFarAsPossible } from "../../platform/paths.js";
import { RootRefused } from "../errors.js";
import type { SandboxPolicy } from "../policies.js";

/** Names that a command must not change in any writable folder: they determine what later runs outside the sandbox. */
export const PROTECTED_NAMES = [".git", ".codex", ".agents"] as const;

export interface WritableRoot {
  /** As configured; `root` is its real path. */
  readonly given: string;
  readonly root: string;
  /** The links on that path. */
  readonly links: readonly string[];
  /** Real paths that stay read-only, whether they exist or not. Those of a worktree may lie outside the root. */
  readonly protectedPaths: readonly string[];
  /** Further read-only paths, which exist. */
  readonly kept: readonly string[];
  /** `/tmp` and `$TMPDIR` are included for convenience; the other roots were requested. */
  readonly temporary: boolean;
}

export interface Place {
  /** The thread's folder. Not the folder a command starts in: the model chooses that one. */
  readonly workspace: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Real paths that stay read-only wherever a root contains them. They exist, and none is a link. */
  readonly kept?: readonly string[];
  /** False: the thread has its own /tmp, not the machine's. */
  readonly sharesTmp?: boolean;
}

/** The folders that a policy lets commands write, by real path, without duplicates. A configured folder that does not exist is left out. */
export function writableRoots(policy: SandboxPolicy, place: Place): WritableRoot[] {
  switch (policy.type) {
    case "read-only":
      return [];
    case "danger-full-access":
      return [{ given: "/", root: "/", links: [], protectedPaths: [], kept: [], temporary: false }];
    case "workspace-write":
      return unique(namedFolders(policy, place).flatMap((named) => resolveRoot(named, place.kept ?? [])));
  }
}

/** The real paths of these folders alone. */
export function writableFolders(policy: SandboxPolicy, place: Place): string[] {
  switch (policy.type) {
    case "read-only":
      return [];
    case "danger-full-access":
      return ["/"];
    case "workspace-write":
      return realFolders(namedFolders(policy, place).map(({ given }) => given));
  }
}

/** The real paths of the folders that a policy opens on request outside of the thread's folder, without those inside another one. */
export function furtherFolders(policy: SandboxPolicy, workspace: string): string[] {
  if (policy.type !== "workspace-write") return [];
  const roots = realFolders((policy.writable_roots ?? []).map((root) => path.resolve(workspace, root)));
  const further = roots.filter((root) => !isInside(root, workspace));
  return further.filter((root) => !further.some((other) => isBelow(root, other)));
}

/** The longest root or protected path above a path decides; a folder that is both was requested, so it is writable. */
export function mayWrite(roots: readonly WritableRoot[], realPath: string): boolean {
  const allowed = longestAround(
    realPath,
    roots.map(({ root }) => root),
  );
  const forbidden = longestAround(
    realPath,
    roots.flatMap(({ protectedPaths, kept }) => [...protectedPaths, ...kept]),
  );
  return allowed !== undefined && (forbidden === undefined || allowed.length >= forbidden.length);
}

export function allowsNetwork(policy: SandboxPolicy): boolean {
  return policy.type === "danger-full-access" || (policy.type === "workspace-write" && policy.network_access);
}

/** As they were requested, the thread's folder last, and then the temporary ones. */
function namedFolders(policy: WorkspaceWrite, { workspace, env, sharesTmp = true }: Place): NamedFolder[] {
  const requested = [...(policy.writable_roots ?? []).map((root) => path.resolve(workspace, root)), path.resolve(workspace)];
  const convenient = sharesTmp ? temporaryFolders(policy, env) : [];
  return [...requested.map((given) => ({ given, temporary: false })), ...convenient.map((given) => ({ given, temporary: true }))];
}

type WorkspaceWrite = Extract<SandboxPolicy, { type: "workspace-write" }>;
type NamedFolder = Pick<WritableRoot, "given" | "temporary">;

function temporaryFolders(policy: WorkspaceWrite, env: Place["env"]): string[] {
  const fromEnv = policy.exclude_tmpdir_env_var ? undefined : env["TMPDIR"];
  return [
    ...(policy.exclude_slash_tmp ? [] : ["/tmp"]),
    ...(fromEnv !== undefined && path.isAbsolute(fromEnv) ? [path.resolve(fromEnv)] : []),
  ];
}

function realFolder(given: string): FollowedPath | undefined {
  const found = followLinks(given);
  return found && isFolder(found.real) ? found : undefined;
}

function realFolders(given: readonly string[]): string[] {
  return [...new Set(given.flatMap((folder) => realFolder(folder)?.real ?? []))];
}

function resolveRoot({ given, temporary }: NamedFolder, kept: readonly string[]): WritableRoot[] {
  const found = realFolder(given);
  if (!found) return [];
  const keptInside = kept.filter((file) => isBelow(file, found.real));
  return [{ given, root: found.real, links: found.links, protectedPaths: protectedPathsIn(found.real), kept: keptInside, temporary }];
}

function protectedPathsIn(root: string): string[] {
  return [...PROTECTED_NAMES.map((name) => path.join(root, name)), ...gitFoldersBehind(path.join(root, ".git"))];
}

const LARGEST_GIT_POINTER = { maxBytes: 4096 };

/** In worktrees and submodules `.git` is a file that names the folder; hooks and configuration may be in yet another one. */
export function gitFoldersBehind(dotGit: string): string[] {
  const target = /^gitdir: (.+)$/m.exec(smallFileIfAny(dotGit, LARGEST_GIT_POINTER) ?? "")?.[1];
  if (target === undefined) return [];
  const own = resolvedAsFarAsPossible(path.resolve(path.dirname(dotGit), target));
  const common = smallFileIfAny(path.join(own, "commondir"), LARGEST_GIT_POINTER)?.trim();
  return [own, ...(common ? [resolvedAsFarAsPossible(path.resolve(own, common))] : [])].map(firstMissingOf);
}

/** The first missing component of a path; the path itself when it exists. */
function firstMissingOf(file: string): string {
  const parent = path.dirname(file);
  return isThere(file) || isThere(parent) ? file : firstMissingOf(parent);
}

function isFolder(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** A folder that is both requested and temporary counts as requested. */
function unique(roots: readonly WritableRoot[]): WritableRoot[] {
  return roots.filter(({ root }, at) => roots.findIndex((other) => other.root === root) === at);
}

function longestAround(realPath: string, folders: readonly string[]): string | undefined {
  return folders
    .filter((folder) => isInside(realPath, folder))
    .reduce<string | undefined>((best, folder) => (best !== undefined && best.length >= folder.length ? best : folder), undefined);
}

/** Folders that everyone may write, whatever the policy. */
const SHARED_TEMPORARY_FOLDERS = ["/tmp", "/var/tmp"];

/**
 * The roots that mounts can enforce. Mounts follow links, which excludes two kinds: a root reached through a link that a command could have
 * created (it would choose what the next command may write), and a root in which a protected name is a link (nothing can be mounted over
 * the link itself, so a command could replace it). A temporary folder is then skipped; a requested one is an error.
 */
export function enforceableRoots(roots: readonly WritableRoot[]): WritableRoot[] {
  const changeable = [...roots.map(({ root }) => root), ...SHARED_TEMPORARY_FOLDERS];
  return roots.filter((root) => {
    const obstacle = obstacleIn(root, changeable);
    if (obstacle !== undefined && !root.temporary) throw new RootRefused(`The command was not run: ${obstacle}`);
    return obstacle === undefined;
  });
}

function obstacleIn({ given, links, protectedPaths }: WritableRoot, changeable: readonly string[]): string | undefined {
  const passed = links.find((link) => changeable.some((folder) => isBelow(link, folder)));
  if (passed !== undefined)
    return `${given} is reached through the link ${passed}, which commands may change. Name the real folder instead.`;
  const linked = protectedPaths.find((file) => lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink());
  if (linked !== undefined)
    return `${linked} is a link, and the sandbox cannot keep a command from replacing it. Put the real folder there (or a file with \`gitdir: …\` for .git), or use danger-full-access.`;
  return undefined;
}
