import type { SandboxMode } from "../exec/policies.js";
import type { ThreadSettings } from "./settings.js";

/** What a turn may not go beyond, whatever its thread was allowed before. Given with the turn by whoever speaks for its caller. */
export interface TurnLimits {
  /** Throws `AppError` when the settings the turn really runs with are above the limits. Asked again before anything with side effects. */
  check(settings: ThreadSettings): void;
  /** Undefined when an approval may take the turn's commands and patches anywhere. */
  readonly confinement: SandboxCeiling | undefined;
  readonly reach: Reach;
}

/** What may be read for a caller over the network, by commands and by the server itself. Whoever has none is the server's own user. */
export interface Reach {
  /** Real paths of the folders of the caller and of the server's read roots. Undefined: whatever the server's user may read, less what is hidden. */
  readonly folders: readonly string[] | undefined;
  /** Real paths of the folders that the caller may work in. Absent: wherever its settings say. */
  readonly workRoots?: readonly string[];
  /** Real paths of folders that belong to other callers. */
  readonly foreign?: readonly string[];
}

/** How far commands and patches of a turn get, whoever approves them. */
export interface SandboxCeiling {
  readonly sandbox: Exclude<SandboxMode, "danger-full-access">;
  /** Why no further, in words for the model. */
  readonly reason: string;
}
