import type { SandboxMode } from "../exec/policies.js";
import type { ThreadId } from "../lib/ids.js";

/** A conversation under a name its caller chose. The name stays even if the underlying thread changes. */
export interface NamedSession {
  readonly id: string;
  /** Milliseconds since 1970, as all times here. */
  readonly createdAt: number;
  readonly lastUsedAt: number;
  /** Turns that produced an answer. */
  readonly turnCount: number;
  /** Absent until the first turn has begun. */
  readonly threadId?: ThreadId;
  /** The working folder and sandbox, for a thread that replaces one that is gone. */
  readonly cwd?: string;
  readonly sandbox?: SandboxMode;
  /** The last turns that produced an answer, oldest first, shortened. */
  readonly recent: readonly SpokenTurn[];
}

export interface SpokenTurn {
  readonly prompt: string;
  readonly response: string;
}

/**
 * Keeps named sessions across processes. Each belongs to an owner (undefined: the server's own user) and is invisible to others. Callers
 * choose the names: an implementation must not use them as paths.
 */
export interface NamedSessionStore {
  /** Also undefined for an unreadable session: its caller starts a new one. */
  find(owner: string | undefined, id: string): Promise<NamedSession | undefined>;
  /** Resolves when the session is on disk. Throws `StorageFailed`. */
  keep(owner: string | undefined, session: NamedSession): Promise<void>;
  drop(owner: string | undefined, id: string): Promise<void>;
  list(owner: string | undefined): Promise<readonly NamedSession[]>;
}
