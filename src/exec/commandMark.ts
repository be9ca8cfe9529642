import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { Socket } from "node:net";
import { environmentOf, isRunning, livingProcesses, ownRun, parseRun, runName } from "../platform/processes.js";
import { systemProgram } from "./outside/outsidePrograms.js";

/** The environment variable that identifies the server and the command, for everything started by a command. */
export const COMMAND_MARK = "CODEX_MCPD_EXEC_ID";

/** A new value of that variable. The first call starts the cleaner, which ends all marked processes if this process is killed. */
export function newCommandMark(): string {
  startCleaner();
  return `${runName(ownRun())}.${randomUUID()}`;
}

/** The text that identifies a marked process: a variable of its environment, or a part of its PATH (see `markedPath`). */
export function markEntry(mark: string): string {
  return `${COMMAND_MARK}=${mark}`;
}

/** PATH with the mark as its last folder, which cannot exist. For programs that pass only few variables to their children, PATH among them. */
export function markedPath(searchPath: string, entry: string): string {
  return process.platform === "linux" ? `${searchPath}:/proc/self/${entry}` : searchPath;
}

/** Living processes with this mark in the environment that they were started with. Empty without /proc. */
export function processesWithMark(entry: string): number[] {
  return livingProcesses().flatMap(({ pid }) => (carriesMark(pid, entry) ? [pid] : []));
}

export function carriesMark(pid: number, entry: string): boolean {
  return environmentOf(pid).some((variable) => variable.includes(entry));
}

/** Living processes with the mark of a server that has ended. */
export function leftoverProcesses(): readonly number[] {
  return livingProcesses()
    .filter(({ pid }) => {
      const owner = parseRun(ownerIn(environmentOf(pid)) ?? "");
      return owner !== undefined && owner.place === ownRun().place && !isRunning(owner);
    })
    .map(({ pid }) => pid);
}

const OWNER = new RegExp(`${COMMAND_MARK}=([^.:]+\\.[^.:]+)\\.`);

function ownerIn(environment: readonly string[]): string | undefined {
  return environment.map((variable) => OWNER.exec(variable)?.[1]).find((owner) => owner !== undefined);
}

/**
 * The cleaner's script. It waits until descriptor 3 is closed, that is, until the server has ended. For eight rounds of 0.1 seconds, marked
 * processes may end by themselves; then the script kills them. It ends after two rounds in which it found none, because a process that is
 * just being started shows no environment.
 */
const CLEANER = `
trap '' HUP INT TERM
read -r _ <&3
rounds=0 quiet=0
while [ $quiet -lt 2 ] && [ $rounds -lt 600 ]; do
  found=$("$2" -lsF -e "$1" /proc/[0-9]*/environ)
  rounds=$((rounds + 1)) quiet=$((quiet + 1))
  for file in $found; do
    quiet=0 process=\${file#/proc/}
    [ $rounds -le 8 ] || kill -KILL "\${process%/environ}"
  done
  "$3" 0.1
done`;

/**
 * The shell that is started ends at once, so the cleaner becomes a child of the first process. It must not stay a descendant of the server,
 * because a client that kills the server may kill all of its descendants.
 */
const IN_BACKGROUND = `{${CLEANER}\n} &`;

let isCleanerStarted = false;

/**
 * Starts the cleaner, once. If this process is killed, the cleaner ends the processes that it leaves behind. These are, for example, sandbox
 * programs whose parent died during set-up and commands that left their session: they do not notice that the server has ended.
 */
function startCleaner(): void {
  if (isCleanerStarted) return;
  isCleanerStarted = true;
  const [shell, grep, sleep] = ["sh", "grep", "sleep"].map(systemProgram);
  // Without these programs there is no cleaner; the next server ends what is left.
  if (process.platform !== "linux" || shell === undefined || grep === undefined || sleep === undefined) return;
  const ours = markEntry(`${runName(ownRun())}.`);
  const cleaner = spawn(shell, ["-c", IN_BACKGROUND, "codex-mcpd-cleaner", ours, grep, sleep], {
    cwd: "/",
    env: {},
    detached: true,
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  cleaner.on("error", ignore).unref();
  // Stays open until this process has ended, and nothing is ever written to it.
  const [, , , line] = cleaner.stdio;
  line?.on("error", ignore);
  if (line instanceof Socket) line.unref();
}

/** Without a cleaner, the next server ends what is left. */
const ignore = () => {};
