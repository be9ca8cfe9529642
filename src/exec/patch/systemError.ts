import { getSystemErrorMap } from "node:util";
import { describe } from "../../lib/errors.js";

/** The words of the C library, which models and Codex's users know, for the failures a patch can meet. */
const WORDS: Readonly<Record<string, string>> = {
  EPERM: "Operation not permitted",
  ENOENT: "No such file or directory",
  EACCES: "Permission denied",
  EBUSY: "Device or resource busy",
  EEXIST: "File exists",
  ENOTDIR: "Not a directory",
  EISDIR: "Is a directory",
  EMFILE: "Too many open files",
  EFBIG: "File too large",
  ENOSPC: "No space left on device",
  EROFS: "Read-only file system",
  ENAMETOOLONG: "File name too long",
  ELOOP: "Too many levels of symbolic links",
};

/** Why the system refused, e.g. `No such file or directory (os error 2)`; the sentence around it names call and path. */
export function systemReason(error: unknown): string {
  const errno = error instanceof Error && "errno" in error ? error.errno : undefined;
  if (typeof errno !== "number") return describe(error);
  const [name, words] = getSystemErrorMap().get(errno) ?? [];
  return `${WORDS[name ?? ""] ?? words ?? describe(error)} (os error ${Math.abs(errno)})`;
}
