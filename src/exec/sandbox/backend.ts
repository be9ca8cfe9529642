import { statSync } from "node:fs";
import { type CommandLimits, limitProcesses, withResourceLimits } from "../commandLimits.js";
import { ProgramNotStarted, SandboxUnavailable, WorkingFolderMissing } from "../errors.js";
import { endAllAtOnce, sweepLeftovers } from "../killTree.js";
import type { Launch } from "../launch.js";
import type { SandboxPolicy } from "../policies.js";
import { confine, contain } from "./bubblewrap.js";
import type { ConfinedCommand } from "./fileView.js";
import { launchPlainly, launchUnshared } from "./fullAccess.js";
import type { CallerView, HiddenPlace } from "./hiddenPlaces.js";
import { Placeholders } from "./placeholders.js";
import { type ProbedContainment, type ProbedSandbox, probeContainment, probeSandbox, type WhereToLook } from "./probe.js";
import { launchSeatbelt } from "./seatbelt.js";

export interface SandboxOptions extends WhereToLook {
  /** A folder of the server's own, for claims of placeholders. Absent: a killed process leaves its placeholders. */
  readonly claims?: string;
  /** What sandboxed commands must not even read: credentials, tokens, the threads of others. */
  readonly hidden?: readonly HiddenPlace[];
  /** Real paths of what this server runs; they stay read-only in every root. */
  readonly ownPrograms?: readonly string[];
  readonly limits?: CommandLimits;
  /** Off: commands with full access are plain child processes (`sudo` works then, and a crash of the server leaves them running). */
  readonly containFullAccess?: boolean;
}

export interface WrapOptions extends Omit<ConfinedCommand, "argv"> {
  readonly policy: SandboxPolicy;
  /** The thread's folder, which `workspace-write` opens. The command itself may start elsewhere. */
  readonly workspace: string;
  readonly guarded?: readonly string[];
  readonly caller?: CallerView | undefined;
  readonly workRoots?: readonly string[] | undefined;
  /** For what is no command of a turn: the limits of commands do not hold for it. */
  readonly unlimited?: boolean;
}

/** What stands between commands and the machine, and proved that it works here. */
export interface Sandbox {
  readonly backend: "bubblewrap" | "seatbelt" | "none";
  /** Why there is none, with the remedy; otherwise the program in use. */
  readonly detail: string;
  /** What holds commands together that have full access. */
  readonly fullAccess: "bubblewrap" | "unshare" | "plain";
  /** Throws rather than run a command with less than its policy. */
  wrap(argv: readonly string[], options: WrapOptions): Launch;
  /** Tidies up when no more commands will come; the end of the process does so too. */
  close(): void;
}

/** Tries the complete sandbox once, and keeps the answer. */
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
  const tidyUpAtExit = () => {
    // What a placeholder protects from must be over before it is removed.
    endAllAtOnce();
    tidyUp();
  };
  process.once("exit", tidyUpAtExit);
  const launchConfined = (command: ConfinedCommand, { policy, workspace, guarded = [], caller, workRoots }: WrapOptions): Launch => {
    const confinement = { policy, workspace, hidden, ownPrograms, guarded, caller, workRoots, serverEnv };
    switch (probed.backend) {
      case "bubblewrap":
        return remembered(
          open,
          confine(probed.bubblewrap, command, { ...confinement, placeholders, sharedMemoryBytes: limits.sharedMemoryBytes }),
        );
      case "seatbelt":
        return launchSeatbelt(command, confinement);
      case "none":
        throw new SandboxUnavailable(probed.reason);
    }
  };
  return {
    backend: probed.backend,
    detail: detailOf(probed),
    fullAccess: fullAccess.kind,
    close() {
      process.off("exit", tidyUpAtExit);
      // Their owners have ended all commands by now; one that they forgot must not go on without protection.
      if (open.size > 0) endAllAtOnce();
      tidyUp();
    },
    wrap(argv, wrapOptions) {
      assertRunnable({ ...wrapOptions, argv });
      const { policy, unlimited = false } = wrapOptions;
      const command = { ...wrapOptions, argv: unlimited ? argv : withResourceLimits(argv, limits) };
      const isFree = policy.type === "danger-full-access";
      // It may want to make for itself what a placeholder stands for.
      if (isFree) placeholders.endUnused();
      const launch = isFree ? launchFreely(command, fullAccess) : launchConfined(command, wrapOptions);
      return unlimited ? launch : withProcessLimit(launch, limits);
    },
  };
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

/** As long as it is not released. */
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

function assertRunnable({ argv, cwd }: ConfinedCommand): void {
  if (!argv[0]) throw new ProgramNotStarted("the command", "it is empty");
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) throw new WorkingFolderMissing(cwd);
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
