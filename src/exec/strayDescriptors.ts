import { openSync, readdirSync, readFileSync } from "node:fs";

const O_CLOEXEC = 0o2000000;

let strays: ReadonlyMap<number, number> | undefined;

/**
 * Descriptors that this process got from its parent, does not know about, and would hand down to every command, together
 * with an empty one to put in their place. Node marks only those up to the first gap; an editor's socket above it would be
 * a way out of the sandbox.
 */
export function strayDescriptors(): ReadonlyMap<number, number> {
  strays ??= findStrays();
  return strays;
}

function findStrays(): ReadonlyMap<number, number> {
  const found = descriptors().filter((fd) => fd > 2 && isInherited(fd));
  if (found.length === 0) return new Map();
  const nothing = openSync("/dev/null", "r");
  return new Map(found.map((fd) => [fd, nothing]));
}

function descriptors(): number[] {
  try {
    return readdirSync("/proc/self/fdinfo").map(Number);
  } catch {
    return [];
  }
}

function isInherited(fd: number): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0;
  } catch {
    return false;
  }
}
