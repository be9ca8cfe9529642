import { getSystemErrorMap } from "node:util";
import { AppError, describe, errorCode } from "../../lib/errors.js";
import { StorageFailed } from "../../threads/errors.js";

/** An error that says what was attempted, on which path, why it failed, and what to do. An AppError is returned unchanged. */
export function storageFailure(attempt: string, path: string, error: unknown): AppError {
  if (error instanceof AppError) return error;
  const remedy = wantsFolder(error) ? NOT_ALLOWED : REMEDIES[errorCode(error) ?? ""];
  return new StorageFailed(`Cannot ${attempt} ${path}: ${reasonOf(error)}.${remedy === undefined ? "" : ` ${remedy}`}`, { cause: error });
}

const FREE_SPACE = "Free some space, then try again.";
const NOT_ALLOWED = "Make it writable for this user, or set CODEX_HOME to a folder that is.";
const NOT_A_FOLDER = "Something that is not a folder is in the way: move it, or set CODEX_HOME to another folder.";
const TOO_MANY_FILES = "Raise the limit of open files (ulimit -n), or run fewer threads at the same time.";

const REMEDIES: Readonly<Record<string, string>> = {
  ENOSPC: FREE_SPACE,
  EDQUOT: FREE_SPACE,
  EFBIG: "Raise the limit of a file's size (ulimit -f), or start a new thread.",
  EACCES: NOT_ALLOWED,
  EPERM: NOT_ALLOWED,
  EROFS: NOT_ALLOWED,
  ENOTDIR: NOT_A_FOLDER,
  EEXIST: NOT_A_FOLDER,
  EMFILE: TOO_MANY_FILES,
  ENFILE: TOO_MANY_FILES,
  EIO: "The disk reports an error: check it, then try again.",
};

/** Where no folder can be made, as in /proc, the kernel says that the folder around it does not exist. */
function wantsFolder(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && error.syscall === "mkdir" && errorCode(error) === "ENOENT";
}

/** The system's message without the call and the path, which the sentence already names. */
function reasonOf(error: unknown): string {
  const errno = error instanceof Error && "errno" in error ? error.errno : undefined;
  const known = typeof errno === "number" ? getSystemErrorMap().get(errno) : undefined;
  return known?.[1] ?? describe(error);
}

/** The file or folder itself is fine: continuing without it would lose its content. */
export function isOutOfFiles(error: unknown): boolean {
  const code = errorCode(error instanceof StorageFailed ? error.cause : error);
  return code === "EMFILE" || code === "ENFILE";
}
