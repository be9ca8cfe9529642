import type { SandboxMode, ThreadSettings } from "./model.js";

/** What a turn may not go beyond, whatever its thread was allowed before. Given with the turn by whoever speaks for its caller. */
export interface TurnLimits {
  /** Throws `AppError` when the settings the turn really runs with are above the limits. Asked again before anything with side effects. */
  check(settings: ThreadSettings): void;
  /** Undefined when an approval may take the turn's commands and patches anywhere. */
  readonly confinement: Confinement | undefined;
}

/** How far commands and patches of a turn get, whoever approves them. */
export interface Confinement {
  readonly sandbox: Exclude<SandboxMode, "danger-full-access">;
  /** Why no further, in words for the model. */
  readonly reason: string;
}
