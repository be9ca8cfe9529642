import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { Socket } from "node:net";
import { environmentOf, isRunning, livingProcesses, ownRun, parseRun, runName } from "../platform/processes.js";
import { systemProgram } from "./outside/outsidePrograms.js";

/** The environment variable that identifies the server and the command, for everything started by a command. */
export const COMMAND_MARK = "CODEX_MCPD_EXEC_ID";

/** A new value of that variable. From now on a process beside this one ends what is marked, should this one be killed. */
export function newCommandMark(): string {
  startCleaner();
  return `${runName(ownRun())}.${randomUUID()}`;
}

/** The mark as it stands in an environment: the entry itself, or a part of another one (see `markedPath`). */
export function markEntry(mark: string): string {
  return `${COMMAND_MARK}=${mark}`;
}

/**
 * PATH with the mark as its last folder, which cannot exist. For a program that gives its children a clean environment: PATH is what they
 * keep.
 */
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
 * What the cleaner runs. It waits for the end of descriptor 3, which is the end of the server. Programs that end by themselves get a moment;
 * then it kills what has the server's mark, until it has found nothing twice: a process that is being started shows no environment.
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

/** It becomes a child of the first process: a client that kills a server may kill all of its descendants. */
const IN_BACKGROUND = `{${CLEANER}\n} &`;

let isCleanerStarted = false;

/**
 * Starts, once, a process that outlives this one for as long as it takes to end what this one leaves behind when it is killed. A sandbox
 * program that loses its parent during set-up, or a command that left its session, does not notice the death of the server.
 */
function startCleaner(): void {
  if (isCleanerStarted) return;
  isCleanerStarted = true;
  const [shell, grep, sleep] = ["sh", "grep", "sleep"].map(systemProgram);
  // Without them, the next server ends what is left.
  if (process.platform !== "linux" || shell === undefined || grep === undefined || sleep === undefined) return;
  const ours = markEntry(`${runName(ownRun())}.`);
  const cleaner = spawn(shell, ["-c", IN_BACKGROUND, "codex-mcpd-cleaner", ours, grep, sleep], {
    cwd: "/",
    env: {},
    detached: true,
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  cleaner.on("error", NOTHING_TO_DO).unref();
  // Stays open until this process has ended, and nothing is ever written to it.
  const [, , , line] = cleaner.stdio;
  line?.on("error", NOTHING_TO_DO);
  if (line instanceof Socket) line.unref();
}

const NOTHING_TO_DO = () => {};
