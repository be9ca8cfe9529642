import { lstat } from "node:fs/promises";
import { errorCode } from "../../lib/errors.js";
import { PatchFailed } from "./errors.js";
import type { FileOnDisk } from "./readFile.js";
import { systemReason } from "./systemError.js";

/** Runs the action; a failure is told as `attempt` (say, `Failed to write file a.txt`) and the system's reason. */
export async function orFail<T>(attempt: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof PatchFailed) throw error;
    throw new PatchFailed(`${attempt}: ${systemReason(error)}`, { reason: "failed", cause: error });
  }
}

/** Compares what is there with what the plan was made from. */
export function assertAsPlanned(attempt: string, actual: Buffer | undefined, planned: Buffer | undefined): void {
  const same = actual === undefined || planned === undefined ? actual === planned : actual.equals(planned);
  if (!same) throw changedMeanwhile(attempt);
}

/** A cheap second look, right before the change: is it still the file that was compared? */
export async function assertUntouched(attempt: string, path: string, known: FileOnDisk["stats"] | undefined): Promise<void> {
  const now = await lstat(path, { bigint: true }).catch(absentOrThrow);
  const same = now?.ino === known?.ino && now?.size === known?.size && now?.mtimeNs === known?.mtimeNs;
  if (!same) throw changedMeanwhile(attempt);
}

export function absentOrThrow(error: unknown): undefined {
  if (errorCode(error) !== "ENOENT") throw error;
}

function changedMeanwhile(attempt: string): PatchFailed {
  const message = `${attempt}: it was changed after the patch had been checked. Read it again, then send a new patch.`;
  return new PatchFailed(message, { reason: "changed" });
}
