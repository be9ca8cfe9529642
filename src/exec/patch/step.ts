import type { MayRead } from "../../lib/files/guardedRead.js";
import type { HeldFolders } from "./heldFolders.js";
import type { MayWrite } from "./realPlace.js";

/** One file's part of a patch, prepared so far that nobody can see it. First all are committed, then all finished, or all undone. */
export interface Step {
  readonly realPath: string;
  commit(): Promise<void>;
  undo(): Promise<void>;
  /** Clears away what was kept for `undo`. */
  finish(): Promise<void>;
}

export interface StepTools {
  readonly folders: HeldFolders;
  readonly mayWrite: MayWrite;
  readonly mayRead: MayRead;
}
