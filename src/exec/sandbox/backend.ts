import { type Stats, statSync } from "node:fs";
import { type CommandLimits, limitProcesses, withResourceLimits } from "../commandLimits.js";
import { MOST_TRIES, PlaceMoved, ProgramNotStarted, SandboxUnavailable, WorkingFolderMissing } from "../errors.js";
import { endAllAtOnce, sweepLeftovers } from "../killTree.js";
import type { Launch } from "../launch.js";
import type { SandboxPolicy } from "../policies.js";
import { confine, contain } from "./bubblewrap.js";
import { type ConfinedCommand, folderSeenFor, type WorkPlaces } from "./fileView.js";
import { launchPlainly, launchUnshared } from "./fullAccess.js";
import type { CallerView, HiddenPlace } from "./hiddenPlaces.js";
import { Placeholders } from "./placeholders.js";
import { type ProbedContainment, type ProbedSandbox, probeContainment, probeSandbox, type WhereToLook } from "./probe.js";
import { launchSeatbelt } from "./seatbelt.js";

export interface SandboxOptions extends WhereToLook {
  /** A folder of the server's own for lock files of placeholders. Absent: a killed process leaves its placeholders behind. */
  readonly claims?: string;
  /** What sandboxed commands must not even read: credentials, tokens, other callers' threads. */
  readonly hidden?: readonly HiddenPlace[];
  /** Real paths of the server's own programs; they stay read-only in every root. */
  readonly ownPrograms?: readonly string[];
  readonly limits?: CommandLimits;
  /** False: commands with full access are plain child processes (`sudo` works then, and a crash of the server leaves them running). */
  readonly containFullAccess?: boolean;
}

export interface WrapOptions extends Omit<ConfinedCommand, "argv"> {
  readonly policy: SandboxPolicy;
  /** The thread's folder, which `workspace-write` opens. The command itself may start elsewhere. */
  readonly workspace: string;
  readonly guarded?: readonly string[];
  readonly caller?: CallerView | undefined;
  readonly workRoots?: readonly string[] | undefined;
  readonly opensElsewhere?: WorkPlaces["opensElsewhere"];
  /** For programs that are not commands of a turn: the limits for commands do not apply. */
  readonly unlimited?: boolean;
  /** `tidyUp` will be called after the command's end. Until then, placeholders may stay for the next command. */
  readonly tidiedLater?: boolean;
}

/** Confines commands. Its backend was probed and works on this machine. */
export interface Sandbox {
  readonly backend: "bubblewrap" | "seatbelt" | "none";
  /** The program in use; without a sandbox, the reason and the remedy. */
  readonly detail: string;
  /** How processes of commands with full access are contained. */
  readonly fullAccess: "bubblewrap" | "unshare" | "plain";
  /** Throws rather than run a command with less than its policy. */
  wrap(argv: readonly string[], options: WrapOptions): Launch;
  /** Removes the placeholders of ended commands that were wrapped with `tidiedLater`. */
  tidyUp(): void;
  /** Cleans up when no more commands will come; the process does the same when it exits. */
  close(): void;
}

/** Probes the complete sandbox once and caches the result. */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  const probed = await probeSandbox(options);
  const fullAccess = options.containFullAccess === false ? PLAIN : await probeContainment(probed.candidates);
  if (fullAccess.kind === "plain") sweepLeftovers();
  const { hidden = [], ownPrograms = [], env: serverEnv, claims, limits = {} } = options;
  const placeholders = new Placeholders(claims);
  const open = new Set<Launch>();
  const tidyUp = () => {
    for (const launch of open) launch.release();
    placeholders.close();
  };
  const forget = tidiedUpAtExit(tidyUp);
  const launchConfined = (command: ConfinedCommand, wrapOptions: WrapOptions): Launch => {
    const { policy, workspace, guarded = [], caller, workRoots, opensElsewhere, tidiedLater } = wrapOptions;
    const confinement = { policy, workspace, hidden, ownPrograms, guarded, caller, workRoots, opensElsewhere, serverEnv };
    switch (probed.backend) {
      case "bubblewrap":
        return remembered(
          open,
          confine(probed.bubblewrap, command, {
            ...confinement,
            placeholders,
            tidiedLater,
            sharedMemoryBytes: limits.sharedMemoryBytes,
          }),
        );
      case "seatbelt":
        return launchSeatbelt(command, confinement);
      case "none":
        throw new SandboxUnavailable(probed.reason);
    }
  };
  const wrap: Sandbox["wrap"] = (argv, wrapOptions) => {
    assertRunnable(
      { ...wrapOptions, argv },
      folderSeenFor({ hidden, ownPrograms, guarded: [], serverEnv, ...wrapOptions }, wrapOptions.cwd),
    );
    const { policy, unlimited = false } = wrapOptions;
    const command = { ...wrapOptions, argv: unlimited ? argv : withResourceLimits(argv, limits) };
    const isFree = policy.type === "danger-full-access";
    // The command may want to create the very file that a placeholder stands for.
    if (isFree) placeholders.endUnused();
    const launch = isFree ? launchFreely(command, fullAccess) : unlessPlacesMove(() => launchConfined(command, wrapOptions));
    return { ...(unlimited ? launch : withProcessLimit(launch, limits)), again: () => wrap(argv, wrapOptions) };
  };
  return {
    backend: probed.backend,
    detail: detailOf(probed),
    fullAccess: fullAccess.kind,
    tidyUp: () => placeholders.tidyUp(),
    close() {
      forget();
      // All commands should have ended by now; a forgotten one must not continue without protection.
      if (open.size > 0) endAllAtOnce();
      tidyUp();
    },
    wrap,
  };
}

const openSandboxes = new Set<() => void>();

/** Runs the function when this process exits, until the returned function is called. One listener serves all sandboxes. */
function tidiedUpAtExit(tidyUp: () => void): () => void {
  if (openSandboxes.size === 0) process.once("exit", tidyUpAll);
  openSandboxes.add(tidyUp);
  return () => {
    openSandboxes.delete(tidyUp);
    if (openSandboxes.size === 0) process.off("exit", tidyUpAll);
  };
}

function tidyUpAll(): void {
  // The commands that a placeholder protects against must end before it is removed.
  endAllAtOnce();
  for (const tidyUp of openSandboxes) tidyUp();
}

const PLAIN: ProbedContainment = { kind: "plain" };

function withProcessLimit(launch: Launch, most: CommandLimits): Launch {
  if (most.processes === undefined && most.threads === undefined) return launch;
  let end = () => {};
  return {
    ...launch,
    supervise: (tree, stop) => {
      launch.supervise?.(tree, stop);
      end = limitProcesses(tree, { most, stop });
    },
    release: () => {
      end();
      return launch.release();
    },
  };
}

/** Another server or a command may move or remove a place at this very moment, but hardly again and again. */
function unlessPlacesMove(prepare: () => Launch): Launch {
  for (let tries = 1; ; tries++) {
    try {
      return prepare();
    } catch (error) {
      if (!(error instanceof PlaceMoved) || tries === MOST_TRIES) throw error;
    }
  }
}

/** Tracks the launch until it is released. */
function remembered(open: Set<Launch>, launch: Launch): Launch {
  const kept: Launch = {
    ...launch,
    release: () => {
      open.delete(kept);
      return launch.release();
    },
  };
  open.add(kept);
  return kept;
}

function launchFreely(command: ConfinedCommand, fullAccess: ProbedContainment): Launch {
  switch (fullAccess.kind) {
    case "bubblewrap":
      return contain(fullAccess.bubblewrap, command);
    case "unshare":
      return launchUnshared(command);
    case "plain":
      return launchPlainly(command);
  }
}

/** `seen`: the path of the working folder that the command will find; undefined if the command may not see it. */
function assertRunnable({ argv, cwd }: ConfinedCommand, seen: string | undefined): void {
  if (!argv[0]) throw new ProgramNotStarted("the command", "it is empty");
  const found = seen === undefined ? undefined : statsOf(seen);
  if (!found?.isDirectory()) throw new WorkingFolderMissing(cwd, { isOther: found !== undefined });
}

/** Also undefined for circular links, for a path that is too long, and for a path without permission to look. */
function statsOf(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function detailOf(probed: ProbedSandbox): string {
  switch (probed.backend) {
    case "bubblewrap":
      return probed.bubblewrap.program;
    case "seatbelt":
      return "/usr/bin/sandbox-exec (not proven)";
    case "none":
      return probed.reason;
  }
}
