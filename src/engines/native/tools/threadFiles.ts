import { callerView } from "../../../exec/sandbox/callerView.js";
import type { CallerView, Confinement } from "../../../exec/sandbox/confinement.js";
import { mayReadFor, mayWriteFor } from "../../../exec/sandbox/fileView.js";
import { findGuardedNames } from "../../../exec/sandbox/guardedNames.js";
import { resolvedAsFarAsPossible } from "../../../exec/sandbox/realPath.js";
import type { TurnContext } from "../../../threads/engine.js";
import type { SandboxPolicy, ThreadSettings } from "../../../threads/model.js";
import type { Machine } from "./machine.js";

const READ_ONLY: SandboxPolicy = { type: "read-only" };
const WORKSPACE_ONLY: SandboxPolicy = {
  type: "workspace-write",
  network_access: false,
  exclude_tmpdir_env_var: true,
  exclude_slash_tmp: true,
};

/** Wherever the server's temporary files are, the thread of a caller has its own in /tmp. */
export const OWN_TMP = { TMPDIR: "/tmp", TMP: "/tmp", TEMP: "/tmp" };

/** Which files a thread may read and write: one answer for its commands, its patches and what the server reads for it. */
export class ThreadFiles {
  /** What other programs run, as it was when the turn first touched files. */
  #guarded: Promise<readonly string[]> | undefined;
  #guardedNow: readonly string[] = [];
  /** What turns of this thread have made themselves; it stays usable to them. */
  readonly #ownNames = new Set<string>();
  #tmp: string | undefined;

  constructor(
    private readonly settings: Pick<ThreadSettings, "cwd" | "sandboxPolicy">,
    private readonly machine: Machine,
    private readonly turns: { readonly running: (Pick<TurnContext, "reach"> & Partial<Pick<TurnContext, "confined">>) | undefined },
  ) {}

  beginTurn(): void {
    this.#guarded = undefined;
  }

  /** Must have resolved before a command or patch of the turn is judged. Looks at the disk once per turn. */
  async lookAround(): Promise<void> {
    if (this.settings.sandboxPolicy.type !== "workspace-write") return;
    this.#guarded ??= findGuardedNames(this.#workspace).then((found) => found.filter((name) => !this.#ownNames.has(name)));
    this.#guardedNow = await this.#guarded;
  }

  /** Names that other programs run and that came to be during the turn. */
  async newNames(): Promise<readonly string[]> {
    if (!this.#guarded) return [];
    const before = await this.#guarded;
    const made = (await findGuardedNames(this.#workspace)).filter((name) => !before.includes(name) && !this.#ownNames.has(name));
    for (const name of made) this.#ownNames.add(name);
    return made;
  }

  /** What confines a command under a policy. */
  confinement(policy: SandboxPolicy): Confinement {
    const { hidden, ownPrograms, env } = this.machine;
    return { policy, workspace: this.settings.cwd, serverEnv: env, hidden, ownPrograms, guarded: this.#guardedNow, caller: this.caller() };
  }

  /** The narrower view of the caller whose turn runs; undefined for the server's own user. */
  caller(): CallerView | undefined {
    const reach = this.turns.running?.reach;
    if (reach?.folders === undefined) return undefined;
    const { folders, foreign = [] } = reach;
    const tmp = () => {
      this.#tmp ??= this.machine.makeTemporaryFolder();
      return this.#tmp;
    };
    return callerView({ folders, foreign, env: this.machine.env, tmp });
  }

  /** Whether a file of a repository may be read for the thread, unasked: never what is hidden, though commands with full access could. */
  readonly mayReadUnasked = (realPath: string): boolean => mayReadFor(this.confinement(READ_ONLY))(realPath);

  /** Whether a tool may read there, by the rules that hold for commands. Asked about real paths; no approval goes beyond it. */
  readonly mayRead = (realPath: string): boolean => mayReadFor(this.confinement(this.#policy))(realPath);

  /** Whether a patch may write there, by the rules that hold for commands. Asked about real paths. */
  readonly mayWrite = (realPath: string): boolean => mayWriteFor(this.confinement(this.#policy))(realPath);

  /** Whether a patch may write there in a thread whose sandbox opens its folder and nothing else. */
  readonly isInWorkspace = (realPath: string): boolean => mayWriteFor(this.confinement(WORKSPACE_ONLY))(realPath);

  close(): void {
    if (this.#tmp !== undefined) this.machine.removeTemporaryFolder(this.#tmp);
    this.#tmp = undefined;
  }

  /** Whatever the thread was given: a turn that may not leave the sandbox has one. */
  get #policy(): SandboxPolicy {
    const { sandboxPolicy } = this.settings;
    return this.turns.running?.confined && sandboxPolicy.type === "danger-full-access" ? READ_ONLY : sandboxPolicy;
  }

  get #workspace(): string {
    return resolvedAsFarAsPossible(this.settings.cwd);
  }
}
