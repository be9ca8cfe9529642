import type { SandboxPolicy } from "../policies.js";
import type { HiddenPlace } from "./hiddenPlaces.js";

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
  /** The thread's folder, by the real path that it had when the thread was opened. */
  readonly workspace: string;
  /** Real paths that the workspace must lie in, for a caller over the network. */
  readonly workRoots?: readonly string[] | undefined;
  /** The server's own environment decides where `$TMPDIR` is. */
  readonly serverEnv: Readonly<Record<string, string | undefined>>;
  /** What no command may even read. */
  readonly hidden: readonly HiddenPlace[];
  /** Real paths that no command may write, whichever root contains them: what the server itself runs. */
  readonly ownPrograms: readonly string[];
  /** Real paths in the thread's folder that stay read-only, because other programs run what they say. */
  readonly guarded: readonly string[];
  /** The narrower view of a caller over the network; absent for the server's own user. */
  readonly caller?: CallerView | undefined;
}

/** What a caller over the network sees differently. */
export interface CallerView {
  /** What is hidden from this caller beside what is hidden from all. */
  readonly hidden: readonly HiddenPlace[];
  /** What shows through: the caller's folders, and what programs need. */
  readonly shown: readonly string[];
  /** The folder that is /tmp for the thread, by its real path; made when a command first needs it. */
  readonly tmp: () => string;
}
