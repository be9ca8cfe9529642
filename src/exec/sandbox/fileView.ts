import { join, relative } from "node:path";
import { foldersBetween, followLinks, isBelow, isInside, isThere, resolvedAsFarAsPossible } from "../../platform/paths.js";
import { RootRefused } from "../errors.js";
import { SYSTEM_FOLDERS } from "../outside/outsidePrograms.js";
import type { SandboxPolicy } from "../policies.js";
import { closedTo } from "./closedFolders.js";
import { executedPart } from "./guardedNames.js";
import { type CallerView, type HiddenPlace, isVisible, outermostHidden, sealAround, type VisibleFiles } from "./hiddenPlaces.js";
import { enforceableRoots, mayWrite, type WritableRoot, writableRoots } from "./policy.js";

/** A command that is to run in a sandbox, without what the sandbox adds to it. */
export interface ConfinedCommand {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** A command on a terminal must keep it; a new session would detach it. */
  readonly terminal?: boolean;
  /** As inside the sandbox program of Codex 0.92.0, a write into a pipe that nobody reads fails, and does not end the program. */
  readonly ignoresBrokenPipes?: boolean | undefined;
}

/** Where the threads of a network caller may work; anywhere for other callers. */
export interface WorkPlaces {
  /** Real paths of the folders that must contain the workspace and all folders that the policy opens on request. */
  readonly workRoots?: readonly string[] | undefined;
  /** Whether a folder elsewhere, as the policy names it, may be opened too. Absent: none. */
  readonly opensElsewhere?: ((given: string) => boolean) | undefined;
}

/** What a sandboxed command may do. */
export interface Confinement extends WorkPlaces {
  readonly policy: SandboxPolicy;
  /** The real path of the thread's folder at the time the thread was opened. */
  readonly workspace: string;
  /** The server's own environment determines `$TMPDIR`. */
  readonly serverEnv: Readonly<Record<string, string | undefined>>;
  /** What no command may even read. */
  readonly hidden: readonly HiddenPlace[];
  /** Real paths that no command may write, whichever root contains them: the server's own programs. */
  readonly ownPrograms: readonly string[];
  /**
   * Real paths in the thread's folder that stay read-only, because other programs execute their content. A root among them cannot be opened
   * to commands.
   */
  readonly guarded: readonly string[];
  /** The narrower view of a network caller; absent for the server's own user. */
  readonly caller?: CallerView | undefined;
}

/** One policy for everything that touches files for a thread: its commands, its patches, and the server's reads. */
export interface FileView extends VisibleFiles {
  readonly roots: readonly WritableRoot[];
}

/** Throws `RootRefused` where mounts cannot enforce the policy. */
export function fileView(confinement: Confinement): FileView {
  const { guarded, ownPrograms } = confinement;
  const roots = rootsOf(confinement, [...systemFolders(), ...ownPrograms, ...guarded]);
  for (const root of requestedOf(roots, confinement)) {
    const objection = objectionTo(root, confinement);
    if (objection !== undefined) throw new RootRefused(`The command was not run: ${root.given} ${objection}.`);
  }
  const enforceable = enforceableRoots(roots);
  checkWorkspace(confinement);
  const open = enforceable.filter((root) => isOpenable(root, confinement));
  return { roots: open, ...visibleFiles(confinement, open) };
}

/** Whether a file may be read for the thread, by its real path. Also works where no command could run. */
export function mayReadFor(confinement: Confinement): (realPath: string) => boolean {
  const roots = rootsOf(confinement, []);
  const foreign = requestedOf(roots, confinement).filter((root) => objectionTo(root, confinement) !== undefined);
  const files = visibleFiles(
    confinement,
    roots.filter((root) => !foreign.includes(root)),
  );
  return (realPath) => isVisible(files, realPath);
}

/**
 * The path, outside the sandbox, of the folder that a command finds as its working folder. Undefined for a folder that the command may not
 * see, whether it exists or not: otherwise errors would reveal the names of hidden folders.
 */
export function folderSeenFor(confinement: Confinement, cwd: string): string | undefined {
  const { policy, workspace, caller } = confinement;
  if (policy.type === "danger-full-access") return cwd;
  const real = resolvedAsFarAsPossible(cwd);
  if (real === workspace || GENERATED.some((folder) => isInside(real, folder)) || mayReadFor(confinement)(real)) return real;
  return caller && isInside(real, TMP) ? inOwnTmp(real, caller.tmp()) : undefined;
}

const TMP = "/tmp";
/** Every command has folders of its own at these paths. The names in ours reveal nothing. */
const GENERATED = ["/dev", "/sys"];

/** The path, outside the sandbox, of a file in a caller's own /tmp. Undefined for a link out of it: for the commands it leads elsewhere. */
function inOwnTmp(file: string, tmp: string): string | undefined {
  const real = resolvedAsFarAsPossible(join(tmp, relative(TMP, file)));
  return isInside(real, tmp) ? real : undefined;
}

/** Whether a patch may write a file, by its real path. */
export function mayWriteFor(confinement: Confinement): (realPath: string) => boolean {
  try {
    const view = fileView(confinement);
    return (realPath) => mayWrite(view.roots, realPath) && isVisible(view, realPath);
  } catch (error) {
    // Where no command would run, nothing may be written without approval either.
    if (error instanceof RootRefused) return () => false;
    throw error;
  }
}

/** Checks the very path that is mounted: a link put in its place meanwhile has no effect. */
function checkWorkspace({ policy, workspace, workRoots, hidden }: Confinement): void {
  if (policy.type === "danger-full-access") return;
  const refuse = (why: string): never => {
    throw new RootRefused(`The command was not run: ${workspace} ${why}`);
  };
  if (followLinks(workspace)?.real !== workspace)
    refuse("does not exist, or is reached through a link that commands can change. Name the real folder.");
  if (workRoots && !workRoots.some((root) => isInside(workspace, root))) refuse(`is not in a folder that this caller may work in.`);
  const seal = sealAround(hidden, workspace);
  if (seal)
    refuse(`cannot be opened to commands, because ${seal.folder} belongs to this server. Use another folder, or danger-full-access.`);
}

function rootsOf({ policy, workspace, serverEnv, caller }: Confinement, kept: readonly string[]): WritableRoot[] {
  return writableRoots(policy, { workspace, env: serverEnv, kept, sharesTmp: caller === undefined });
}

/** The roots that a request or the configuration named. */
function requestedOf(roots: readonly WritableRoot[], { policy, workspace }: Confinement): WritableRoot[] {
  return policy.type === "workspace-write" ? roots.filter(({ root, temporary }) => !temporary && root !== workspace) : [];
}

/**
 * Why a folder that a network caller requested cannot be opened to commands. A link on its path may have been changed since the request was
 * checked; here the very folder is checked that is mounted.
 */
export function objectionTo(
  { given, root }: Pick<WritableRoot, "given" | "root">,
  { workRoots, opensElsewhere }: WorkPlaces,
): string | undefined {
  if (!workRoots || opensElsewhere?.(given)) return undefined;
  const around = workRoots.filter((folder) => isInside(root, folder)).sort((one, other) => other.length - one.length)[0];
  if (around === undefined) return "is not in a folder that this caller may work in";
  const special = executedPart(around, root);
  return special === undefined ? undefined : `lies in ${special}, which decides what other programs run`;
}

function visibleFiles({ policy, workspace, hidden, caller }: Confinement, roots: readonly WritableRoot[]): VisibleFiles {
  if (policy.type === "danger-full-access") return { hidden: [], shown: [] };
  const asked = roots.filter(({ temporary }) => !temporary).map(({ root }) => root);
  const writable = roots.map(({ root }) => root);
  return {
    hidden: [...hidden, ...(caller?.hidden ?? [])].map((place) => wholeIfWritable(place, writable)),
    shown: [workspace, ...asked].filter((folder) => !sealAround(hidden, folder)).concat(caller?.shown ?? []),
  };
}

/**
 * Hides the whole folder if it is writable: a command that can write the folder around a secret could replace the entries that are put back
 * beside it.
 */
function wholeIfWritable(place: HiddenPlace, writable: readonly string[]): HiddenPlace {
  return place.names !== undefined && writable.some((root) => isInside(place.folder, root)) ? { folder: place.folder } : place;
}

/** Folders of the server and of the system are never made writable: a temporary folder is skipped, and a requested one is an error. */
function isOpenable({ root, given, temporary }: WritableRoot, { policy, hidden, ownPrograms, guarded }: Confinement): boolean {
  if (policy.type === "danger-full-access") return true;
  if (!temporary && guarded.includes(root)) throw new RootRefused(`The command was not run: ${closedTo(given)}`);
  const owned =
    (hidden.find(({ folder }) => folder === root) ?? sealAround(hidden, root))?.folder ??
    [...ownPrograms, ...systemFolders()].find((place) => isInside(root, place));
  if (owned === undefined) return true;
  if (temporary) return false;
  throw new RootRefused(
    `The command was not run: ${given} cannot be opened to commands, because ${owned} belongs to this server or to the system. ` +
      "Use another folder, or danger-full-access.",
  );
}

let known: readonly string[] | undefined;

/** Real paths: on most machines some of these are links to others. */
function systemFolders(): readonly string[] {
  known ??= [...new Set(SYSTEM_FOLDERS.filter(isThere).map(resolvedAsFarAsPossible))];
  return known;
}

/** One place in the sandbox's file tree. Everything not listed is read-only. */
export type Mount = { readonly path: string } & (
  | { readonly access: "write" }
  /** Read-only, whether it exists or not. */
  | { readonly access: "protected" }
  /** Read-only inside something hidden or writable. */
  | { readonly access: "shown" }
  | { readonly access: "hidden"; readonly hasMountsBelow: boolean }
  /** The folder without some of its entries. */
  | { readonly access: "screened"; readonly without: readonly string[] }
);

/**
 * Outermost first, so that each is mounted on the one around it. Folders between a writable root and a special place in it are mounted on
 * themselves, because a mount point cannot be renamed: otherwise a command could move the folder around `.git` away and put another one in
 * its place.
 */
export function planMounts(view: FileView): Mount[] {
  const writable = view.roots.map(({ root }) => root);
  const hidden = outermostHidden(view);
  const inRoots = (file: string) => writable.some((root) => isBelow(file, root)) && isVisible(view, file);
  const protectedPaths = view.roots.flatMap((root) => root.protectedPaths).filter(inRoots);
  const kept = view.roots
    .flatMap((root) => root.kept)
    .filter((file) => inRoots(file) && !protectedPaths.some((other) => isInside(file, other)));
  const shown = view.shown.filter(
    (folder) => !writable.includes(folder) && hidden.some((place) => isBelow(folder, place.folder)) && isVisible(view, folder),
  );
  const mounts = new Map<string, Mount>();
  const put = (mount: Mount) => mounts.set(mount.path, mount);
  const readOnly = [...protectedPaths, ...kept];
  const special = [...writable, ...readOnly, ...hidden.map(({ folder }) => folder)];
  // Hundreds of guarded names may lie in the same folders.
  const onTheWay = new Set(writable.flatMap((root) => special.flatMap((file) => (isBelow(file, root) ? foldersBetween(root, file) : []))));
  for (const path of onTheWay) if (!readOnly.some((file) => isInside(path, file)) && isVisible(view, path)) put({ path, access: "write" });
  for (const path of protectedPaths) put({ path, access: "protected" });
  for (const path of [...shown, ...kept]) put({ path, access: "shown" });
  for (const path of writable) put({ path, access: "write" });
  for (const { folder: path, names } of hidden) {
    if (names === undefined) put({ path, access: "hidden", hasMountsBelow: [...mounts.keys()].some((file) => isBelow(file, path)) });
    else put({ path, access: "screened", without: names });
  }
  return [...mounts.values()].sort(outermostFirst);
}

function outermostFirst(a: Mount, b: Mount): number {
  return depthOf(a.path) - depthOf(b.path) || (a.path < b.path ? -1 : 1);
}

function depthOf(file: string): number {
  return file.split("/").filter(Boolean).length;
}
