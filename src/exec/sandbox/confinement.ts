import type { SandboxPolicy } from "../../threads/model.js";

/** A command as it sees itself, whatever is around it. */
export interface ConfinedCommand {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** A command on a terminal keeps it, which it would lose with a session of its own. */
  readonly terminal?: boolean;
}

/** What a sandboxed command may do. */
export interface Confinement {
  readonly policy: SandboxPolicy;
  /** The thread's folder. */
  readonly workspace: string;
  /** The server's own environment decides where `$TMPDIR` is. */
  readonly serverEnv: Readonly<Record<string, string | undefined>>;
  /** Files and folders that the command must not even read. */
  readonly hidden: readonly string[];
}
