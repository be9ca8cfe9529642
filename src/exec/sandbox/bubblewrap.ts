import { pathBytes } from "../../lib/files/rawNames.js";
import { COMMAND_MARK, markEntry, newCommandMark } from "../commandMark.js";
import { PlaceMoved, ProgramNotStarted, SandboxFailed } from "../errors.js";
import type { Descriptor, Launch, SandboxReport } from "../launch.js";
import { MARK_VARIABLE } from "../nesting/turnMark.js";
import { systemProgram } from "../outside/outsidePrograms.js";
import type { ConfinedCommand } from "./fileView.js";
import { allowsNetwork } from "./policy.js";
import { seccompFilter } from "./seccomp.js";
import { type MountedConfinement, openTree } from "./tree.js";

export interface Bubblewrap {
  readonly program: string;
  /** Missing before version 0.8; the filter refuses nested user namespaces as well. */
  readonly disablesUserNamespaces: boolean;
  /** Missing before version 0.7: then /dev/shm has the system's default size. */
  readonly setsSizes: boolean;
}

const OPTIONS_FD = 3;
const STATUS_FD = 4;
const SECCOMP_FD = 5;
const FIRST_MOUNT_FD = 6;

/**
 * The command inside read-only or workspace-write. Every flag matters: without `--cap-drop`, for example, a command of root keeps all
 * capabilities and can make `/` writable again.
 */
export function confine(bubblewrap: Bubblewrap, command: ConfinedCommand, confinement: MountedConfinement): Launch {
  const network = allowsNetwork(confinement.policy);
  const filter = filterFor({ network });
  const sharedMemoryBytes = bubblewrap.setsSizes ? confinement.sharedMemoryBytes : undefined;
  const tree = openTree({ ...confinement, sharedMemoryBytes }, { firstDescriptor: FIRST_MOUNT_FD });
  const options = [
    ...words("--die-with-parent --unshare-user --unshare-pid --unshare-ipc --unshare-uts --cap-drop ALL"),
    ...(bubblewrap.disablesUserNamespaces ? ["--disable-userns"] : []),
    ...(network ? [] : ["--unshare-net"]),
    ...tree.flags,
    ...words(`--seccomp ${SECCOMP_FD} --json-status-fd ${STATUS_FD}`),
    // The mark is on the namespace's first process, which no process inside can leave. The command itself gets the same environment as from
    // Codex.
    ...insideFlags(command),
    "--unsetenv",
    MARK_VARIABLE,
  ];
  const descriptors: Descriptor[] = [
    optionBytes(options),
    { kind: "status" },
    { kind: "bytes", bytes: filter },
    ...tree.descriptors.map((fd): Descriptor => ({ kind: "open", fd })),
  ];
  const launch = launchOf(bubblewrap, command, descriptors);
  const started = command.ignoresBrokenPipes ? ignoringBrokenPipes(launch) : launch;
  return { ...started, supervise: (_, stop) => tree.supervise(stop), release: tree.release };
}

const filters = new Map<boolean, Buffer>();

/** There are two filters, and each is the same for every command. */
function filterFor({ network }: { network: boolean }): Buffer {
  const filter = filters.get(network) ?? seccompFilter(process.arch, { network });
  if (!filter) throw new SandboxFailed(`there is no system call filter for ${process.arch}`);
  filters.set(network, filter);
  return filter;
}

/** Full access inside a PID namespace, so that nothing outlives the command or the server. */
export function contain(bubblewrap: Bubblewrap, command: ConfinedCommand): Launch {
  const options = [
    ...words(`--die-with-parent --dev-bind / / --proc /proc --unshare-pid --json-status-fd ${STATUS_FD}`),
    ...insideFlags(command),
  ];
  return { ...launchOf(bubblewrap, command, [optionBytes(options), { kind: "status" }]), release: () => [] };
}

/**
 * Options and environment are passed over a descriptor, and the sandbox program itself gets no environment: it runs outside the sandbox,
 * and a variable such as LD_PRELOAD may come from a login profile that a sandboxed command could write. The only exceptions are two marks. The
 * sandbox program is the first process of the namespace, so a process that lost the mark of its turn finds that mark there. If the sandbox
 * program is killed before its namespace is ready, its child waits for it for ever; the child is found by the mark of the command.
 */
function launchOf({ program }: Bubblewrap, { argv, env }: ConfinedCommand, descriptors: readonly Descriptor[]): Omit<Launch, "release"> {
  const turn = env[MARK_VARIABLE];
  const mark = newCommandMark();
  return {
    program,
    args: ["--args", String(OPTIONS_FD), "--", ...argv],
    cwd: "/",
    env: { [COMMAND_MARK]: mark, ...(turn === undefined ? {} : { [MARK_VARIABLE]: turn }) },
    descriptors,
    containment: { kind: "namespace", mark: markEntry(mark) },
    sandbox: REPORT,
  };
}

/** The shell passes the ignored signal on to the program that replaces it. Node cannot: its children get the default of every signal. */
function ignoringBrokenPipes<Started extends Pick<Launch, "program" | "args">>(launch: Started): Started {
  const shell = systemProgram("sh");
  if (shell === undefined) return launch;
  return { ...launch, program: shell, args: ["-c", `trap '' PIPE; exec "$0" "$@"`, launch.program, ...launch.args] };
}

function insideFlags({ cwd, env, terminal }: ConfinedCommand): string[] {
  return [
    ...(terminal ? [] : ["--new-session"]),
    "--clearenv",
    ...Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]),
    "--chdir",
    cwd,
  ];
}

function words(flags: string): string[] {
  return flags.split(" ");
}

function optionBytes(options: readonly string[]): Descriptor {
  return { kind: "bytes", bytes: Buffer.from(pathBytes(options.map((option) => `${option}\0`).join(""))) };
}

const COMPLAINT = "bwrap: ";
const NOT_EXECUTED = "execvp ";
/** A folder or file that is held open was removed or replaced before it was mounted. */
const MOVED_MEANWHILE = /^(?:Can't find source path \/proc\/self\/fd\/|Race condition binding )/;

const REPORT: SandboxReport = {
  readStatus: (report) => ({
    firstProcess: Number(/"child-pid": (\d+)/.exec(report)?.[1]) || undefined,
    ran: report.includes('"exit-code"'),
  }),
  complaint: COMPLAINT,
  explain: (stderr) => {
    const text = stderr.trim();
    const complaint = text.startsWith(COMPLAINT) ? text.slice(COMPLAINT.length) : text;
    const at = complaint.lastIndexOf(": ");
    if (complaint.startsWith(NOT_EXECUTED) && at > NOT_EXECUTED.length)
      return new ProgramNotStarted(complaint.slice(NOT_EXECUTED.length, at), complaint.slice(at + 2));
    if (MOVED_MEANWHILE.test(complaint)) return new PlaceMoved();
    return new SandboxFailed(complaint || "bubblewrap ended without an error message");
  },
};
