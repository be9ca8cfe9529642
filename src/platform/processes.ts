import {
  closeSync,
  existsSync,
  mkdirSync,
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

/** The kernel's table of processes. Empty where there is no `/proc`. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly threads: number;
  /** In clock ticks since boot; with the pid it names one run of one process. */
  readonly startTime: string;
}

/** Killed, and not yet collected by its parent. */
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
  // Mostly asked of a process that is gone, for which an error would be made.
  const stat = existsSync(`/proc/${pid}`) ? statOf(pid) : undefined;
  return stat === undefined || GONE_STATES.has(stat.state) ? undefined : stat;
}

function statOf(pid: number): (ProcessEntry & { readonly state: string }) | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field is the program's name in parentheses and may itself hold spaces and parentheses.
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

/** The words a process was started with; empty when they may not be read. */
export function commandLineOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replace(/\0$/, "").split("\0");
  } catch {
    return [];
  }
}

/** The folder a process works in. */
export function folderOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

/** More than any honest chain of programs has. */
const MOST_ANCESTORS = 64;

/**
 * The processes that this one descends from, nearest first, as far as its namespace shows them. Begins with what `/proc` says of this process:
 * its table may count in other numbers than the process itself.
 */
export function* ancestorsOfThisProcess(): Iterable<number> {
  let pid = ownNumber();
  for (let steps = 0; steps < MOST_ANCESTORS && pid !== undefined; steps++) {
    const parent = livingProcess(pid)?.parent;
    if (!parent) return;
    yield parent;
    pid = parent;
  }
}

function ownNumber(): number | undefined {
  try {
    return Number(readlinkSync("/proc/self"));
  } catch {
    return undefined;
  }
}

/** Names one run of one process: a pid alone is given out again. */
export interface ProcessRun {
  /** The machine, and the container on it: pids of another one say nothing here. */
  readonly place: string;
  readonly pid: number;
  /** In the kernel's clock ticks since boot; "0" where the system does not tell. */
  readonly startTime: string;
}

let own: ProcessRun | undefined;

export function ownRun(): ProcessRun {
  own ??= { place: ownPlace(), pid: process.pid, startTime: livingProcess(process.pid)?.startTime ?? "0" };
  return own;
}

/** Has one dot, so that it can be a part of a file's name. */
export function runName({ place, pid, startTime }: ProcessRun): string {
  return `${place}.${pid}-${startTime}`;
}

export function parseRun(name: string): ProcessRun | undefined {
  const [, place, pid, startTime] = /^([^.]+)\.([1-9]\d*)-(\d+)$/.exec(name) ?? [];
  return place === undefined || startTime === undefined ? undefined : { place, pid: Number(pid), startTime };
}

/** For a run at our own place. When in doubt it is running, since two writers are worse than a refused one. */
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
 * A small file that says which process uses something, by its name: `subject.place.pid-startTime.suffix`. A claim ends when its owner removes it, when its
 * process is gone, or, where nobody here can ask for that process (another machine, another container), when it was not refreshed for long.
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

/** False when it is there already. */
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
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  make();
  return true;
}

export function withdrawClaim(file: string): void {
  try {
    unlinkSync(file);
  } catch {
    // Gone already, or in a folder that became unwritable: then it ends with the process it names.
  }
}

/** A holder refreshes its claim far more often than this (see `keepFresh`). */
const LAPSES_AFTER_MS = 120_000;

/** Its process is gone; where we cannot ask for the process, the file has not been refreshed for long. */
export function isAbandoned(claim: ProcessRun & { readonly name: string }, folder: string, lapsesAfterMs = LAPSES_AFTER_MS): boolean {
  if (claim.place === ownRun().place) return !isRunning(claim);
  const file = statSync(path.join(folder, claim.name), { throwIfNoEntry: false });
  return file === undefined || Date.now() - file.mtimeMs > lapsesAfterMs;
}

const REFRESH_EVERY_MS = 30_000;

const held = new Set<string>();
let timer: NodeJS.Timeout | undefined;

/** Keeps the file's time recent until the returned function is called. One timer serves all files of this process. */
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
  const now = new Date();
  for (const file of held) {
    try {
      utimesSync(file, now, now);
    } catch {
      // Whoever removed the file, or made its folder unwritable, will not be kept out by us any more.
    }
  }
}
