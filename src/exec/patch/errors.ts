import { AppError } from "../../lib/errors.js";

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
export type PatchFailure = "denied" | "changed" | "failed";

/** The patch could not be written; what had been written already was undone. The message is meant for the model. */
export class PatchFailed extends AppError {
  readonly code = "patch_failed";
  readonly reason: PatchFailure;

  constructor(message: string, { reason, cause }: { reason: PatchFailure; cause?: unknown }) {
    super(message, { cause });
    this.reason = reason;
  }
}
