import { getSystemErrorMap } from "node:util";
import { AppError, describe } from "../../lib/errors.js";

/** The patch does not parse, or does not fit the files as they are; nothing was touched. The message is meant for the model. */
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

/** `denied`: outside of what may be written; `changed`: the file is not what the patch was checked against; `failed`: the system said no. */
type PatchFailure = "denied" | "changed" | "failed";

/** The patch could not be written; what had been written already was undone. The message is meant for the model. */
export class PatchFailed extends AppError {
  readonly code = "patch_failed";
  readonly reason: PatchFailure;

  constructor(message: string, { reason, cause }: { reason: PatchFailure; cause?: unknown }) {
    super(message, { cause });
    this.reason = reason;
  }
}

/** There is something at the path that a patch cannot work on. */
export class NotPatchable extends AppError {
  readonly code = "not_patchable";
}

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

/** Runs the action; a failure is told as `attempt` (say, `Failed to write file a.txt`) and the system's reason. */
export async function orFail<T>(attempt: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof PatchFailed) throw error;
    throw new PatchFailed(`${attempt}: ${systemReason(error)}`, { reason: "failed", cause: error });
  }
}
