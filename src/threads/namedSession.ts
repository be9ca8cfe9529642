import type { SandboxMode } from "../exec/policies.js";
import type { ThreadId } from "../lib/ids.js";

/** A conversation under a name that its caller chose. The thread that it goes on with may change; the name stays. */
export interface NamedSession {
  readonly id: string;
  /** Milliseconds since 1970, as all times here. */
  readonly createdAt: number;
  readonly lastUsedAt: number;
  /** Turns that came to an answer. */
  readonly turnCount: number;
  /** Absent until the first turn has begun. */
  readonly threadId?: ThreadId;
  /** Where it works and what commands may do there, for a thread that takes the place of one that is gone. */
  readonly cwd?: string;
  readonly sandbox?: SandboxMode;
  /** The last turns that came to an answer, oldest first, cut. */
  readonly recent: readonly SpokenTurn[];
}

export interface SpokenTurn {
  readonly prompt: string;
  readonly response: string;
}

/**
 * Keeps named sessions beyond this process. Each belongs to an owner (undefined: the server's own user), and nobody finds those of another. Callers
 * choose the names: an implementation must not make paths of them.
 */
export interface NamedSessionStore {
  /** Undefined also for one that cannot be read any more: its caller begins afresh. */
  find(owner: string | undefined, id: string): Promise<NamedSession | undefined>;
  /** Comes back when it is on the disk. Throws `StorageFailed`. */
  keep(owner: string | undefined, session: NamedSession): Promise<void>;
  drop(owner: string | undefined, id: string): Promise<void>;
  list(owner: string | undefined): Promise<readonly NamedSession[]>;
}
