import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeSync,
} from "node:fs";
import { hostname } from "node:os";
import path from "node:path";
import { errorCode } from "../lib/errors.js";
import { makeFolderSync } from "../lib/files/makeFolder.js";

/** An entry of the kernel's table of processes. Without `/proc` the table is empty. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly threads: number;
  /** In clock ticks since boot. Together with the pid it identifies one run of one process. */
  readonly startTime: string;
}

/** Zombie and dead: ended, but not yet reaped by the parent. */
const GONE_STATES = new Set(["Z", "X"]);

function processIds(): number[] {
  try {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** A living process, or undefined. */
export function livingProcess(pid: number): ProcessEntry | undefined {
  // Most of these processes are gone, and a failed read would construct an error.
  const stat = existsSync(`/proc/${pid}`) ? statOf(pid) : undefined;
  return stat === undefined || GONE_STATES.has(stat.state) ? undefined : stat;
}

function statOf(pid: number): (ProcessEntry & { readonly state: string }) | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name in parentheses, which may itself contain spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state = "X", parent, group] = fields;
    return { pid, state, parent: Number(parent), group: Number(group), threads: Number(fields[17]), startTime: fields[19] ?? "0" };
  } catch {
    return undefined;
  }
}

export function livingProcesses(): ProcessEntry[] {
  return processIds().flatMap((pid) => livingProcess(pid) ?? []);
}

/** All living descendants, nearest first. */
export function descendantsOf(pid: number): ProcessEntry[] {
  const living = livingProcesses();
  const found: ProcessEntry[] = [];
  for (let parents = new Set([pid]); parents.size > 0; ) {
    const children = living.filter(({ parent }) => parents.has(parent));
    found.push(...children);
    parents = new Set(children.map((child) => child.pid));
  }
  return found;
}

/** The environment a process was started with; empty when it may not be read. */
export function environmentOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  } catch {
    return [];
  }
}

/** The arguments a process was started with; empty when they may not be read. */
export function commandLineOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replace(/\0$/, "").split("\0");
  } catch {
    return [];
  }
}

/** The working directory of a process. */
export function folderOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

/** More than any realistic chain of processes. */
const MOST_ANCESTORS = 64;

/**
 * The ancestors of this process, nearest first, as far as its PID namespace shows them. Begins with the pid that `/proc` reports for this
 * process: `/proc` may belong to another namespace.
 */
export function* ancestorsOfThisProcess(): Iterable<number> {
  let pid = ownNumber();
  for (let steps = 0; steps < MOST_ANCESTORS && pid !== undefined; steps++) {
    const parent = livingProcess(pid)?.parent;
    if (!parent) return;
    yield parent;
    pid = parent;
  }
  // However long the chain is, it begins at the first process of the namespace.
  if (pid !== undefined) yield 1;
}

function ownNumber(): number | undefined {
  try {
    return Number(readlinkSync("/proc/self"));
  } catch {
    return undefined;
  }
}

/** Identifies one run of one process: pids are reused. */
export interface ProcessRun {
  /** The machine and the container: pids of another one have no meaning here. */
  readonly place: string;
  readonly pid: number;
  /** In the kernel's clock ticks since boot; "0" where the system does not report it. */
  readonly startTime: string;
}

let own: ProcessRun | undefined;

export function ownRun(): ProcessRun {
  own ??= { place: ownPlace(), pid: process.pid, startTime: livingProcess(process.pid)?.startTime ?? "0" };
  return own;
}

/** Contains exactly one dot, so that it can be part of a file name. */
export function runName({ place, pid, startTime }: ProcessRun): string {
  return `${place}.${pid}-${startTime}`;
}

export function parseRun(name: string): ProcessRun | undefined {
  const [, place, pid, startTime] = /^([^.]+)\.([1-9]\d*)-(\d+)$/.exec(name) ?? [];
  return place === undefined || startTime === undefined ? undefined : { place, pid: Number(pid), startTime };
}

/** For a process on this machine and container. When in doubt it counts as running: two writers are worse than a refused one. */
export function isRunning({ pid, startTime }: ProcessRun): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (errorCode(error) === "ESRCH") return false;
  }
  const stat = statOf(pid);
  if (!stat || startTime === "0") return true;
  return stat.startTime === startTime && !GONE_STATES.has(stat.state);
}

function ownPlace(): string {
  return `${hostname().replaceAll(/[^A-Za-z0-9-]/g, "_")}-${pidNamespace()}`;
}

function pidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid").replaceAll(/\D/g, "");
  } catch {
    return "0";
  }
}

/**
 * A lock file whose name tells which process uses something: `subject.place.pid-startTime.suffix`. A claim ends when its owner removes
 * it or when its process is gone. Where that process cannot be looked up (another machine or container), it ends when it has not been
 * refreshed for some time.
 */
export interface ClaimFile extends ProcessRun {
  readonly name: string;
  readonly subject: string;
}

/** Neither part may contain a dot. */
export function claimName(subject: string, suffix: string): string {
  return `${subject}.${runName(ownRun())}.${suffix}`;
}

export function parseClaim(name: string): ClaimFile | undefined {
  const [, subject, owner] = /^([^.]+)\.([^.]+\.[^.]+)\.[^.]+$/.exec(name) ?? [];
  const run = owner === undefined ? undefined : parseRun(owner);
  return subject === undefined || run === undefined ? undefined : { name, subject, ...run };
}

/** False when the file already exists. */
export function makeClaim(file: string, text = ""): boolean {
  const make = () => {
    const fd = openSync(file, "wx", 0o600);
    try {
      if (text !== "") writeSync(fd, text);
    } finally {
      closeSync(fd);
    }
  };
  try {
    make();
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    if (errorCode(error) !== "ENOENT") throw error;
  }
  makeFolderSync(path.dirname(file));
  make();
  return true;
}

export function withdrawClaim(file: string): void {
  try {
    unlinkSync(file);
  } catch {
    // The file is already gone, or its folder became unwritable: then the claim ends with its process.
  }
}

/** A holder refreshes its claim far more often than this (see `keepFresh`). */
const LAPSES_AFTER_MS = 120_000;

/** Whether the claim's process is gone or, where it cannot be looked up, the file has not been refreshed for `lapsesAfterMs`. */
export function isAbandoned(claim: ProcessRun & { readonly name: string }, folder: string, lapsesAfterMs = LAPSES_AFTER_MS): boolean {
  if (claim.place === ownRun().place) return !isRunning(claim);
  const file = statSync(path.join(folder, claim.name), { throwIfNoEntry: false });
  return file === undefined || Date.now() - file.mtimeMs > lapsesAfterMs;
}

const REFRESH_EVERY_MS = 30_000;

const held = new Set<string>();
let timer: NodeJS.Timeout | undefined;

/** Refreshes the file's modification time until the returned function is called. One timer serves all files of this process. */
export function keepFresh(file: string): () => void {
  held.add(file);
  timer ??= setInterval(refreshAll, REFRESH_EVERY_MS).unref();
  return () => {
    held.delete(file);
    if (held.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function refreshAll(): void {
  for (const file of held) refreshClaim(file);
}

export function refreshClaim(file: string): void {
  const now = new Date();
  try {
    utimesSync(file, now, now);
  } catch {
    // The file was removed or its folder became unwritable: then the claim simply lapses.
  }
}
