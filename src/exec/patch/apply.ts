import { describe } from "../../lib/errors.js";
import type { MayRead } from "../../lib/files/guardedRead.js";
import { PatchFailed } from "./errors.js";
import { HeldFolders, type MayWrite, type StepTools } from "./places.js";
import type { PatchPlan } from "./plan.js";
import { prepareRemoval, prepareWrite, type Step } from "./steps.js";

interface ApplyOptions {
  /** Called for every path that is written or removed, with all links resolved. */
  readonly mayWrite: MayWrite;
  /** Called for every path that is compared with the plan. */
  readonly mayRead: MayRead;
}

/** Writes all files of the plan or none: on any error the changes are undone. Throws PatchFailed. */
export async function applyPlan({ files }: Pick<PatchPlan, "files">, { mayWrite, mayRead }: ApplyOptions): Promise<void> {
  await using folders = new HeldFolders();
  const steps: Step[] = [];
  try {
    await prepareAll(files, { folders, mayWrite, mayRead, steps });
    for (const step of steps) await step.commit();
  } catch (error) {
    throw withRemains(error, await undoAll(steps, folders));
  }
  // The patch is applied: a failed clean-up does not make it a failure.
  await Promise.allSettled(steps.map((step) => step.finish()));
}

async function prepareAll(files: PatchPlan["files"], { steps, ...tools }: StepTools & { steps: Step[] }): Promise<void> {
  const moved = new Set(files.map(({ movedFrom }) => movedFrom));
  const owners = new Map<string, string>();
  for (const file of files) {
    const { after } = file;
    if (after === undefined && file.before === undefined) continue;
    const step =
      after === undefined
        ? await prepareRemoval(file, { ...tools, isMove: moved.has(file.path) })
        : await prepareWrite({ ...file, after }, tools);
    steps.push(step);
    const owner = owners.get(step.realPath);
    if (owner !== undefined) throw sameFileTwice(file.shownAs, owner);
    owners.set(step.realPath, file.shownAs);
  }
}

/** Two names lead to the same file through a link, but their sections were checked as separate files. */
function sameFileTwice(name: string, otherName: string): PatchFailed {
  return new PatchFailed(`Failed to write file ${name}: it is the same file as ${otherName}. Use one of the names only.`, {
    reason: "failed",
  });
}

/** Undoes as much as possible and returns what could not be undone. */
async function undoAll(steps: readonly Step[], folders: HeldFolders): Promise<string[]> {
  const complaints: string[] = [];
  const attempt = async (what: string, undo: () => Promise<void>) => {
    await undo().catch((error: unknown) => complaints.push(`${what} was not restored: ${describe(error)}`));
  };
  for (const step of steps.toReversed()) await attempt(step.realPath, () => step.undo());
  await attempt("a new folder", () => folders.removeMade());
  return complaints;
}

function withRemains(error: unknown, remains: readonly string[]): unknown {
  if (remains.length === 0) return error;
  const reason = error instanceof PatchFailed ? error.reason : "failed";
  return new PatchFailed([describe(error), ...remains].join("\n"), { reason, cause: error });
}
