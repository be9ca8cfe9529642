import { existsSync } from "node:fs";
import os from "node:os";
import path from "node:path";

/**
 * The kernel's own limit, in bytes: nothing can be opened by a longer path. Looking up each part of one would take minutes, and callers,
 * models and repositories write paths.
 */
export const LONGEST_PATH = 4_096;

/** The error that the kernel gives for a longer path. */
export function pathTooLong(): Error {
  const { ENAMETOOLONG } = os.constants.errno;
  return Object.assign(new Error(`ENAMETOOLONG: a path has at most ${LONGEST_PATH} bytes`), { code: "ENAMETOOLONG", errno: -ENAMETOOLONG });
}

/** The kernel generates these files when they are read: environments with keys, memory, devices, files without end. */
const KERNEL_FOLDERS = ["/proc", "/sys", "/dev"] as const;

/** The same file systems mounted elsewhere: proc, sysfs, debugfs, tracefs, cgroup, cgroup2, securityfs, configfs, pstore, efivarfs, devpts, bpf, nsfs. */
const KERNEL_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0x9fa0, 0x62656572, 0x64626720, 0x74726163, 0x27e0eb, 0x63677270, 0x73636673, 0x62656570, 0x6165676c, 0xde5e81e4, 0x1cd1, 0xcafe4a11,
  0x6e736673,
]);

/** Nothing below these folders is read or written for a model, a caller or a repository. Takes real paths. */
export function isKernelPlace(realPath: string): boolean {
  return KERNEL_FOLDERS.some((folder) => realPath === folder || realPath.startsWith(`${folder}${path.sep}`));
}

export function isKernelFileSystem(type: number): boolean {
  return KERNEL_FILE_SYSTEMS.has(type);
}

/**
 * A path that reaches the open file behind a descriptor, and whose link target is the file's current path; undefined where the system has
 * none.
 */
export function descriptorPath(fd: number): string | undefined {
  hasDescriptorPaths ??= process.platform === "linux" && existsSync("/proc/self/fd");
  return hasDescriptorPaths ? `/proc/self/fd/${fd}` : undefined;
}

let hasDescriptorPaths: boolean | undefined;
