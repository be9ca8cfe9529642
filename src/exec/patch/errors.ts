import { getSystemErrorMap } from "node:util";
import { AppError, describe } from "../../lib/errors.js";

/** The patch does not parse, or does not match the files; nothing was changed. The message is for the model. */
export class PatchInvalid extends AppError {
  readonly code = "patch_invalid";
}

/** A well-formed patch without a single file in it. */
export class EmptyPatch extends AppError {
  readonly code = "patch_empty";

  constructor() {
    super("No files were modified.");
  }
}

/** `denied`: outside the writable folders; `changed`: the file changed after the patch was checked; `failed`: a system error. */
type PatchFailure = "denied" | "changed" | "failed";

/** The patch could not be written, and partial changes were undone. The message is for the model. */
export class PatchFailed extends AppError {
  readonly code = "patch_failed";
  readonly reason: PatchFailure;
  /** What was attempted, without the reason why it failed. */
  readonly attempt: string | undefined;

  constructor(message: string, { reason, attempt, cause }: { reason: PatchFailure; attempt?: string | undefined; cause?: unknown }) {
    super(message, { cause });
    this.reason = reason;
    this.attempt = attempt;
  }
}

/** A patch cannot work on what is at the path. */
export class NotPatchable extends AppError {
  readonly code = "not_patchable";
}

/** The C library's messages for errors that a patch can meet: models and Codex's users know them. */
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

/** The system's reason, e.g. `No such file or directory (os error 2)`; the surrounding sentence names the operation and the path. */
export function systemReason(error: unknown): string {
  const errno = error instanceof Error && "errno" in error ? error.errno : undefined;
  if (typeof errno !== "number") return describe(error);
  const [name, words] = getSystemErrorMap().get(errno) ?? [];
  return `${WORDS[name ?? ""] ?? words ?? describe(error)} (os error ${Math.abs(errno)})`;
}

/** Runs the action; a failure is reported as `attempt` (e.g. `Failed to write file a.txt`) and the system's reason. */
export async function orFail<T>(attempt: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof PatchFailed) throw error;
    throw new PatchFailed(`${attempt}: ${systemReason(error)}`, { reason: "failed", attempt, cause: error });
  }
}
