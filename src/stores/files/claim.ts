import { statSync } from "node:fs";
import path from "node:path";
import type { ThreadId } from "../../lib/ids.js";
import { isRunning, ownRun, type ProcessRun } from "./runningProcess.js";

/** Somebody's wish to be, or being, the writer of a thread: an empty file whose name says who. */
export interface Claim extends ProcessRun {
  readonly name: string;
  readonly threadId: string;
}

export function claimName(threadId: ThreadId, suffix: string): string {
  const { place, pid, startTime } = ownRun();
  return `${threadId}.${place}.${pid}-${startTime}.${suffix}`;
}

export function parseClaim(name: string): Claim | undefined {
  const [, threadId, place, pid, startTime] = /^([^.]+)\.([^.]+)\.([1-9]\d*)-(\d+)\.[^.]+$/.exec(name) ?? [];
  if (threadId === undefined || place === undefined || pid === undefined || startTime === undefined) return undefined;
  return { name, threadId, place, pid: Number(pid), startTime };
}

/** A holder refreshes its claim far more often than this (see `keepFresh`). */
const LAPSES_AFTER_MS = 120_000;

/** Its process is gone; where we cannot ask for the process, it has not been refreshed for long. */
export function isAbandoned(claim: Omit<Claim, "threadId">, folder: string): boolean {
  if (claim.place === ownRun().place) return !isRunning(claim);
  const file = statSync(path.join(folder, claim.name), { throwIfNoEntry: false });
  return file === undefined || Date.now() - file.mtimeMs > LAPSES_AFTER_MS;
}
