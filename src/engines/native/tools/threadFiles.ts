import type { SandboxPolicy } from "../../../exec/policies.js";
import { type Confinement, mayReadFor, mayWriteFor } from "../../../exec/sandbox/fileView.js";
import { findGuardedNames, type GuardedNames, guardedPart } from "../../../exec/sandbox/guardedNames.js";
import type { CallerView } from "../../../exec/sandbox/hiddenPlaces.js";
import { callerView } from "../../../exec/sandbox/hiddenPlaces.js";
import { isThere } from "../../../platform/paths.js";
import type { TurnContext } from "../../../threads/engine.js";
import type { ThreadSettings } from "../../../threads/settings.js";
import type { HostEnvironment } from "./hostEnvironment.js";

const READ_ONLY: SandboxPolicy = { type: "read-only" };
const WORKSPACE_ONLY: SandboxPolicy = {
  type: "workspace-write",
  network_access: false,
  exclude_tmpdir_env_var: true,
  exclude_slash_tmp: true,
};

/** Wherever the server's temporary files are, the thread of a caller has its own in /tmp. */
export const OWN_TMP = { TMPDIR: "/tmp", TMP: "/tmp", TEMP: "/tmp" };

interface ThreadTurns {
  readonly running: (Pick<TurnContext, "reach"> & Partial<Pick<TurnContext, "confined">>) | undefined;
  /** The thread's folder, by the real path that it had when the thread was opened. */
  readonly workspace: string;
}

/** Which files a thread may read and write: one answer for its commands, its patches and what the server reads for it. */
export class ThreadFiles {
  readonly #settings: Pick<ThreadSettings, "sandboxPolicy">;
  readonly #host: HostEnvironment;
  readonly #turns: ThreadTurns;

  /** What other programs run, as it was when the turn first touched files. */
  #guarded: Promise<GuardedNames> | undefined;
  /** What is there after the turn's latest tool calls, besides what was there before the turn. */
  #made: Promise<GuardedNames> | undefined;
  #toldTooLarge = false;
  #guardedNow: readonly string[] = [];
  #tmp: string | undefined;

  constructor(settings: Pick<ThreadSettings, "sandboxPolicy">, host: HostEnvironment, turns: ThreadTurns) {
    this.#settings = settings;
    this.#host = host;
    this.#turns = turns;
  }

  beginTurn(): void {
    this.#guarded = undefined;
    this.#made = undefined;
  }

  /** What was found after earlier calls no longer holds. */
  toolBegins(): void {
    this.#made = undefined;
  }

  /** Begins to look for what the calls made: the model's next answer takes longer than that. Never rejects. */
  toolsEnded(): void {
    if (this.#guarded) this.#made ??= this.#findMade(this.#guarded);
  }

  /** Must have resolved before a command or patch of the turn is judged. Looks at the disk once per turn. */
  async lookAround(): Promise<void> {
    this.beginLookingAround();
    if (this.#guarded) ({ names: this.#guardedNow } = await this.#guarded);
  }

  /** Never rejects; whoever needs the result waits for it. */
  beginLookingAround(): void {
    if (this.#settings.sandboxPolicy.type !== "workspace-write") return;
    this.#guarded ??= findGuardedNames(this.#turns.workspace, this.#host.namesMadeHere);
  }

  /** What the user should know of what the turn made, and of what could not be protected. */
  async findings(): Promise<{ readonly made: readonly string[]; readonly isTooLarge: boolean }> {
    if (!this.#guarded) return { made: [], isTooLarge: false };
    const before = await this.#guarded;
    const { names } = await (this.#made ?? this.#findMade(this.#guarded));
    for (const name of names) this.#host.namesMadeHere.add(name);
    const isTooLarge = !before.isComplete && !this.#toldTooLarge;
    this.#toldTooLarge ||= isTooLarge;
    // What a search did not come to at first is not known to be new.
    return { made: before.isComplete ? names : [], isTooLarge };
  }

  async #findMade(guarded: Promise<GuardedNames>): Promise<GuardedNames> {
    const before = await guarded;
    const { namesMadeHere } = this.#host;
    return findGuardedNames(this.#turns.workspace, { has: (name) => before.names.includes(name) || namesMadeHere.has(name) });
  }

  /** What confines a command under a policy. */
  confinement(policy: SandboxPolicy): Confinement {
    const { hidden, ownPrograms, env } = this.#host;
    return {
      policy,
      workspace: this.#turns.workspace,
      workRoots: this.#turns.running?.reach?.workRoots,
      serverEnv: env,
      hidden,
      ownPrograms,
      guarded: this.#guardedNow,
      caller: this.caller(),
    };
  }

  /** The narrower view of the caller whose turn runs; undefined for the server's own user. */
  caller(): CallerView | undefined {
    const reach = this.#turns.running?.reach;
    if (reach?.folders === undefined) return undefined;
    const { folders, foreign = [] } = reach;
    const tmp = () => {
      this.#tmp ??= this.#host.makeTemporaryFolder();
      return this.#tmp;
    };
    return callerView({ folders, foreign, env: this.#host.env, tmp });
  }

  /** Whether a file of a repository may be read for the thread, unasked: never what is hidden, though commands with full access could. */
  readonly mayReadUnasked = (realPath: string): boolean => mayReadFor(this.confinement(READ_ONLY))(realPath);

  /** Whether a tool may read there, by the rules that hold for commands. Asked about real paths; no approval goes beyond it. */
  readonly mayRead = (realPath: string): boolean => mayReadFor(this.confinement(this.#policy))(realPath);

  /** Whether a patch may write there, by the rules that hold for commands. Asked about real paths. */
  readonly mayWrite = (realPath: string): boolean => !this.#isGuarded(realPath) && mayWriteFor(this.confinement(this.#policy))(realPath);

  /** Whether a patch may write there in a thread whose sandbox opens its folder and nothing else. */
  readonly isInWorkspace = (realPath: string): boolean => mayWriteFor(this.confinement(WORKSPACE_ONLY))(realPath);

  /** Also what lies where the search did not come to: a patch names its files. */
  #isGuarded(realPath: string): boolean {
    if (this.#policy.type !== "workspace-write") return false;
    const part = guardedPart(this.#turns.workspace, realPath);
    return part !== undefined && !this.#host.namesMadeHere.has(part) && (isThere(part) || this.#guardedNow.includes(part));
  }

  close(): void {
    if (this.#tmp !== undefined) this.#host.removeTemporaryFolder(this.#tmp);
    this.#tmp = undefined;
  }

  /** Whatever the thread was given: a turn that may not leave the sandbox has one. */
  get #policy(): SandboxPolicy {
    const { sandboxPolicy } = this.#settings;
    return this.#turns.running?.confined && sandboxPolicy.type === "danger-full-access" ? READ_ONLY : sandboxPolicy;
  }
}
