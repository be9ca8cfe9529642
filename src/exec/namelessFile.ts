import { closeSync, constants, openSync, writeSync } from "node:fs";

/** Memory that every Linux offers as a file system. */
const FOLDER = "/dev/shm";
/** Linux's `O_TMPFILE`, which Node has no name for. */
const NAMELESS = 0o20000000 | constants.O_DIRECTORY;

/**
 * A file in memory that has no name, with these bytes, open for reading: as good as a pipe for a program that reads a descriptor to its end,
 * and without the objects that Node keeps for each pipe. Undefined where there is no place for one.
 */
export function openNamelessFile(bytes: Buffer): number | undefined {
  let fd: number | undefined;
  try {
    // Exclusive: nobody can give it a name later.
    fd = openSync(FOLDER, NAMELESS | constants.O_RDWR | constants.O_EXCL, 0o400);
    for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written);
    // From the start again, and not for writing.
    return openSync(`/proc/self/fd/${fd}`, constants.O_RDONLY);
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
