import { randomBytes } from "node:crypto";
import path from "node:path";
import { isKernelPlace } from "../../lib/files/kernelFiles.js";
import { orFail } from "./attempt.js";
import { PatchFailed } from "./errors.js";
import type { HeldFolder } from "./heldFolders.js";
import { joined, realPlace } from "./realPlace.js";
import type { StepTools } from "./step.js";

/** A name in a held folder. */
export class Place {
  constructor(
    readonly folder: HeldFolder,
    readonly name: string,
  ) {}

  get path(): string {
    return this.folder.at(this.name);
  }

  get realPath(): string {
    return path.join(this.folder.realPath, this.name);
  }

  /** An unused name beside this one, short enough for every file system. */
  sibling(): Place {
    return new Place(this.folder, `.patch-${randomBytes(6).toString("hex")}`);
  }
}

export interface Claim {
  readonly path: string;
  /** The path as the patch wrote it, for the error. */
  readonly shownAs: string;
  /** How the failure to do it is reported, e.g. `Failed to write file a.txt`. */
  readonly attempt: string;
  readonly followLink: boolean;
  readonly createFolders: boolean;
}

/** The place the path leads to, if it may be written there. */
export async function claimPlace(claim: Claim, tools: StepTools): Promise<Place> {
  const { attempt, shownAs, followLink, createFolders } = claim;
  const real = await orFail(attempt, () => realPlace(claim.path, { followLink }));
  if (!isOpenTo(joined(real), tools)) {
    throw new PatchFailed(`${attempt}: ${joined(real)} is outside of the folders that may be written`, { reason: "denied" });
  }
  const opening = createFolders ? `Failed to create parent directories for ${shownAs}` : attempt;
  const folder = await orFail(opening, () => tools.folders.open(real.folder, { create: createFolders }));
  return new Place(folder, real.name);
}

/** What the kernel makes up is no file to patch, whoever allowed it. */
export function isOpenTo(realPath: string, { mayWrite }: Pick<StepTools, "mayWrite">): boolean {
  return !isKernelPlace(realPath) && mayWrite(realPath);
}
