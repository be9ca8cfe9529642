import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe } from "../../lib/errors.js";
import { ProgramNotStarted, SandboxNotProbed } from "../errors.js";
import type { Launch } from "../launch.js";
import { isExecutableFile, OutsidePrograms, systemProgram, type WritablePlaces } from "../outside/outsidePrograms.js";
import type { SandboxPolicy } from "../policies.js";
import { runCommand } from "../run.js";
import type { TemporaryFolders } from "../temporaryFolders.js";
import { type Bubblewrap, confine, contain } from "./bubblewrap.js";
import { launchUnshared } from "./fullAccess.js";
import { Placeholders } from "./placeholders.js";
import { launchSeatbelt } from "./seatbelt.js";

export type ProbedSandbox = { readonly candidates: readonly string[] } & (
  | { readonly backend: "bubblewrap"; readonly bubblewrap: Bubblewrap }
  | { readonly backend: "seatbelt" }
  | { readonly backend: "none"; readonly reason: string }
);

export type ProbedContainment =
  | { readonly kind: "bubblewrap"; readonly bubblewrap: Bubblewrap }
  | { readonly kind: "unshare" }
  | { readonly kind: "plain" };

/** Longer than a start takes on a busy machine. A sandbox that takes longer twice counts as one that does not work. */
const PROBE_MS = 10_000;
/** Messages about a temporary shortage, which does not mean that the sandbox does not work. */
const SHORTAGE = /too many open files|EMFILE|ENFILE|resource temporarily unavailable|EAGAIN|cannot allocate memory|ENOMEM/i;
/** Bubblewrap's features by version, newest first. */
const VERSIONS: readonly Omit<Bubblewrap, "program">[] = [
  { disablesUserNamespaces: true, setsSizes: true },
  { disablesUserNamespaces: false, setsSizes: true },
  { disablesUserNamespaces: false, setsSizes: false },
];

/**
 * An installed program proves nothing: the kernel, a container or a security module may forbid what it needs. So the complete sandbox is
 * run once. Throws if a temporary shortage, such as too many open files, prevented that.
 */
export async function probeSandbox(options: WhereToLook): Promise<ProbedSandbox> {
  if (process.platform === "darwin") return probeSeatbelt(options);
  const candidates = process.platform === "linux" ? bubblewrapCandidates(options) : [];
  const complaints: string[] = [];
  for (const program of candidates) {
    for (const [at, abilities] of VERSIONS.entries()) {
      const bubblewrap = { program, ...abilities };
      const complaint = await complaintInScratchFolder(options, (workspace) =>
        confine(bubblewrap, scratchCommand(workspace), scratch(workspace)),
      );
      if (complaint === undefined) return { candidates, backend: "bubblewrap", bubblewrap };
      if (at === 0) complaints.push(`${program}: ${complaint}`);
      if (!/Unknown option --(?:disable-userns|size)/.test(complaint)) break;
    }
  }
  return { candidates, backend: "none", reason: reasonOf(complaints) };
}

/** Full access needs less, and may work where the sandbox does not. */
export async function probeContainment(candidates: readonly string[]): Promise<ProbedContainment> {
  const command = scratchCommand("/");
  for (const program of candidates) {
    const bubblewrap = { program, disablesUserNamespaces: false, setsSizes: false };
    if ((await complaintOf(() => contain(bubblewrap, command))) === undefined) return { kind: "bubblewrap", bubblewrap };
  }
  const unshares = process.platform === "linux" && (await complaintOf(() => launchUnshared(command))) === undefined;
  return { kind: unshares ? "unshare" : "plain" };
}

async function probeSeatbelt(options: WhereToLook): Promise<ProbedSandbox> {
  const complaint = await complaintInScratchFolder(options, (workspace) => launchSeatbelt(scratchCommand(workspace), scratch(workspace)));
  return complaint === undefined
    ? { candidates: [], backend: "seatbelt" }
    : { candidates: [], backend: "none", reason: `sandbox-exec: ${complaint}` };
}

/** The error message; undefined on success. */
async function complaintOf(launch: () => Launch): Promise<string | undefined> {
  try {
    const once = () => runCommand(launch(), { timeoutMs: PROBE_MS }).result;
    const first = await once();
    // One start that does not end says little about the sandbox.
    const { ended, exitCode, stderr } = first.ended === "timedOut" ? await once() : first;
    if (ended === "timedOut") return `it did not end within ${PROBE_MS / 1_000} seconds`;
    return exitCode === 0 ? undefined : unlessShortage(stderr.trim() || `it ended with exit code ${exitCode}`);
  } catch (error) {
    return unlessShortage(error instanceof ProgramNotStarted ? error.reason : describe(error));
  }
}

/** Returns the complaint, or throws if it is about a temporary shortage. */
function unlessShortage(complaint: string): string {
  if (SHORTAGE.test(complaint)) throw new SandboxNotProbed(complaint);
  return complaint;
}

async function complaintInScratchFolder(
  { scratchFolders = SYSTEM_FOLDERS }: Pick<WhereToLook, "scratchFolders">,
  launch: (folder: string) => Launch,
): Promise<string | undefined> {
  let folder: string;
  try {
    folder = scratchFolders.make();
  } catch (error) {
    return unlessShortage(`it cannot be tried without a temporary folder (${describe(error)})`);
  }
  try {
    return await complaintOf(() => launch(folder));
  } finally {
    scratchFolders.remove(folder);
  }
}

type ScratchFolders = Pick<TemporaryFolders, "make" | "remove">;

const SYSTEM_FOLDERS: ScratchFolders = {
  // $TMPDIR may name a missing folder.
  make: () => mkdtempSync(path.join(existsSync(tmpdir()) ? tmpdir() : "/tmp", "codex-mcpd-probe-")),
  remove: (folder) => rmSync(folder, { recursive: true, force: true }),
};

function scratchCommand(cwd: string) {
  return { argv: ["true"], cwd, env: { PATH: "/usr/local/bin:/usr/bin:/bin" } };
}

const SCRATCH_POLICY: SandboxPolicy = {
  type: "workspace-write",
  network_access: false,
  exclude_slash_tmp: true,
  exclude_tmpdir_env_var: true,
};

function scratch(workspace: string) {
  const nothing = { serverEnv: {}, hidden: [], ownPrograms: [], guarded: [] };
  return { policy: SCRATCH_POLICY, workspace, ...nothing, placeholders: new Placeholders(), sharedMemoryBytes: 65_536 };
}

function reasonOf(complaints: readonly string[]): string {
  if (process.platform !== "linux") return `there is no sandbox for ${process.platform}`;
  if (complaints.length === 0)
    return "bubblewrap is not installed; install the package `bubblewrap` or name the program with --sandbox-bin";
  const hint = complaints.some((complaint) => /uid map|user namespace|Operation not permitted|Permission denied/i.test(complaint))
    ? "; user namespaces seem to be forbidden here, by a container runtime or by AppArmor (kernel.apparmor_restrict_unprivileged_userns)"
    : "";
  return `bubblewrap does not work here: ${complaints.join("; ")}${hint}`;
}

export interface WhereToLook {
  /** Set by the user: then nothing else is tried. */
  readonly bin?: string;
  /** The Codex program, whose package may include a bubblewrap. */
  readonly codexBin?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Programs in these folders are not trusted, except in the system's own folders. */
  readonly writable: WritablePlaces;
  /** Where the sandbox is tried. Absent: in the system's temporary folder, where the folder of a killed process stays. */
  readonly scratchFolders?: ScratchFolders;
}

/** Programs that may be bubblewrap, best first. */
export function bubblewrapCandidates({ bin, codexBin, env, writable }: WhereToLook): string[] {
  if (bin !== undefined) return [path.resolve(bin)];
  const programs = new OutsidePrograms({ env, writable });
  // PATH may lack the system's folders, or no longer be trusted after a turn with full access.
  const system = systemProgram("bwrap");
  const named = [...programs.all("bwrap"), ...(system === undefined ? [] : [system])];
  // `/bin` is often a link to `/usr/bin`. A program that does not work is tried, and named, once.
  const installed = named.filter((file, at) => named.findIndex((other) => realPath(other) === realPath(file)) === at);
  if (codexBin !== undefined) return [...new Set([...installed, ...bundledWith(codexBin)])];
  const bundled = programs
    .all("codex")
    .slice(0, 1)
    .flatMap(bundledWith)
    .filter((file) => programs.trusts(file));
  return [...new Set([...installed, ...bundled])];
}

/** Codex's launcher is in one package and the programs for each platform in another, beside it or below it. */
function bundledWith(codex: string): string[] {
  const launcher = realPath(codex);
  const packages = launcher?.slice(0, launcher.lastIndexOf("/@openai/codex/"));
  if (launcher === undefined || !packages || packages === launcher) return [];
  return [`${packages}/@openai`, `${packages}/@openai/codex/node_modules/@openai`]
    .flatMap((scope) => foldersIn(scope).filter((folder) => path.basename(folder).startsWith("codex-linux-")))
    .flatMap((platform) => foldersIn(path.join(platform, "vendor")))
    .map((vendor) => path.join(vendor, "codex-resources/bwrap"))
    .filter(isExecutableFile);
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => path.join(folder, name));
  } catch {
    return [];
  }
}

function realPath(file: string): string | undefined {
  try {
    return realpathSync.native(file);
  } catch {
    return undefined;
  }
}
