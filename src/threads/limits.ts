import type { SandboxMode } from "../exec/policies.js";
import type { ThreadSettings } from "./settings.js";

/** The limits of a turn, whatever was allowed on its thread before. Set by the code that acts for the turn's caller. */
export interface TurnLimits {
  /** Throws `AppError` when the turn's effective settings exceed the limits. Called again before anything with side effects. */
  check(settings: ThreadSettings): void;
  /** Undefined when approvals may extend the turn's commands and patches without limit. */
  readonly confinement: SandboxCeiling | undefined;
  readonly reach: Reach;
}

/** What may be read for a network caller, by commands and by the server itself. The server's own user has no `Reach`. */
export interface Reach {
  /**
   * Real paths of the caller's folders and of the server's read roots. Undefined: everything the server's user may read, except hidden
   * files.
   */
  readonly folders: readonly string[] | undefined;
  /** Real paths of the folders in which the caller may work. Absent: any folder its settings name. */
  readonly workRoots?: readonly string[];
  /** Whether a folder elsewhere, as the policy names it, may be opened to commands: the configuration does, or full access is allowed. */
  readonly opensElsewhere?: (given: string) => boolean;
  /** Real paths of other callers' folders. */
  readonly foreign?: readonly string[];
}

/** The most that commands and patches of a turn may do, even when approved. */
export interface SandboxCeiling {
  readonly sandbox: Exclude<SandboxMode, "danger-full-access">;
  /** The reason for this limit, worded for the model. */
  readonly reason: string;
}
