import { existsSync } from "node:fs";
import { setImmediate as loopTurn } from "node:timers/promises";
import type { SandboxPolicy } from "../../../exec/policies.js";
import { type Confinement, folderSeenFor, mayReadFor, mayWriteFor } from "../../../exec/sandbox/fileView.js";
import type { GuardedPlaces } from "../../../exec/sandbox/guardedNameSearch.js";
import { guardedPart, isBornSince } from "../../../exec/sandbox/guardedNames.js";
import { type CallerView, callerView } from "../../../exec/sandbox/hiddenPlaces.js";
import { furtherFolders } from "../../../exec/sandbox/policy.js";
import { isInside, isThere } from "../../../platform/paths.js";
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

/** A caller's thread has its own /tmp, wherever the server's temporary files are. */
export const OWN_TMP = { TMPDIR: "/tmp", TMP: "/tmp", TEMP: "/tmp" };

interface ThreadTurns {
  readonly running: (Pick<TurnContext, "reach"> & Partial<Pick<TurnContext, "confined">>) | undefined;
  /** The real path of the thread's folder at the time the thread was opened. */
  readonly workspace: string;
}

/** Long enough for the paths of a patch, and too short for the folders around them to become others. */
const JUDGED_MS = 50;

interface PathJudge {
  readonly running: ThreadTurns["running"];
  readonly guarded: readonly string[];
  readonly until: number;
  mayRead(realPath: string): boolean;
  mayWrite(realPath: string): boolean;
}

/** What cannot be examined may exist. */
function mayBeThere(file: string): boolean {
  try {
    return isThere(file);
  } catch {
    return true;
  }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Which files a thread may read and write: the same rules for its commands, its patches and the server's reads. */
export class ThreadFiles {
  readonly #settings: Pick<ThreadSettings, "sandboxPolicy">;
  readonly #host: HostEnvironment;
  readonly #turns: ThreadTurns;

  /** The guarded names when the turn first touched files. */
  #guarded: Promise<GuardedPlaces> | undefined;
  #lookedAtMs = 0;
  /** The guarded names after the turn's latest tool calls, without those from before the turn. */
  #made: Promise<GuardedPlaces> | undefined;
  #reportedTooLarge = false;
  #guardedNow: readonly string[] = [];
  readonly #judges = new Map<SandboxPolicy, PathJudge>();
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

  /** Invalidates the result after earlier calls. */
  toolBegins(): void {
    this.#made = undefined;
  }

  /** Starts the search for new guarded names: the model's next response takes longer than that. Never rejects. */
  toolsEnded(): void {
    if (this.#guarded) this.#made ??= this.#findMade(this.#guarded);
  }

  /** Must have resolved before a command or patch of the turn is assessed. Searches the disk once per turn. */
  async lookAround(): Promise<void> {
    this.beginLookingAround();
    if (!this.#guarded) return;
    this.#guardedNow = (await this.#guarded).places;
  }

  /** Never rejects; callers that need the result await it. */
  beginLookingAround(): void {
    if (this.#settings.sandboxPolicy.type !== "workspace-write") return;
    if (this.#guarded) return;
    this.#lookedAtMs = Date.now();
    this.#guarded = this.#guardedBesides(this.#host.namesMadeHere);
  }

  /** Messages for the user about names the turn created, and about what could not be protected. */
  async findings(): Promise<{ readonly made: readonly string[]; readonly isTooLarge: boolean }> {
    if (!this.#guarded) return { made: [], isTooLarge: false };
    const before = await this.#guarded;
    const { names, closed } = await (this.#made ?? this.#findMade(this.#guarded));
    // Whatever guarded names were in such a folder were found before it was closed.
    const isHarmless = (folder: string) => ![...before.names, ...before.closed].some((place) => isInside(place, folder));
    if (before.isComplete) for (const folder of closed.filter(isHarmless)) this.#host.foldersClosedHere.add(folder);
    // After an incomplete search, a name may only have been out of its reach.
    const made = before.isComplete ? names : names.filter((name) => isBornSince(name, this.#lookedAtMs));
    for (const name of made) this.#host.namesMadeHere.add(name);
    const isTooLarge = !before.isComplete && !this.#reportedTooLarge;
    this.#reportedTooLarge ||= isTooLarge;
    return { made, isTooLarge };
  }

  async #findMade(guarded: Promise<GuardedPlaces>): Promise<GuardedPlaces> {
    // The next request to the model goes out first.
    await loopTurn();
    const beforeNames = new Set((await guarded).names);
    const { namesMadeHere } = this.#host;
    return this.#guardedBesides({ has: (name) => beforeNames.has(name) || namesMadeHere.has(name) });
  }

  #guardedBesides(besides: Pick<ReadonlySet<string>, "has">): Promise<GuardedPlaces> {
    const { guardedNames, foldersClosedHere: harmless } = this.#host;
    return guardedNames.find(this.#turns.workspace, { besides, harmless, further: this.#further });
  }

  get #further(): readonly string[] {
    return furtherFolders(this.#settings.sandboxPolicy, this.#turns.workspace);
  }

  /** The confinement of a command under a policy. */
  confinement(policy: SandboxPolicy): Confinement {
    const { hidden, ownPrograms, env } = this.#host;
    return {
      policy,
      workspace: this.#turns.workspace,
      workRoots: this.#turns.running?.reach?.workRoots,
      opensElsewhere: this.#turns.running?.reach?.opensElsewhere,
      serverEnv: env,
      hidden,
      ownPrograms,
      guarded: this.#guardedNow,
      caller: this.caller(),
    };
  }

  /** Whether this working folder exists for the thread's commands. They may not see every folder. */
  seesFolder(cwd: string): boolean {
    const seen = folderSeenFor(this.confinement(this.#policy), cwd);
    return seen !== undefined && existsSync(seen);
  }

  /** The narrower view of the running turn's caller; undefined for the server's own user. */
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

  /**
   * Whether a repository's file may be read for the thread without approval: never a hidden one, although commands with full access could.
   */
  readonly mayReadUnasked = (realPath: string): boolean => this.#judge(READ_ONLY).mayRead(realPath);

  /** Whether a tool may read a real path, by the same rules as for commands; no approval extends them. */
  readonly mayRead = (realPath: string): boolean => this.#judge(this.#policy).mayRead(realPath);

  /** Whether a patch may write a real path, by the same rules as for commands. */
  readonly mayWrite = (realPath: string): boolean => !this.#isGuarded(realPath) && this.#judge(this.#policy).mayWrite(realPath);

  /** Whether a patch may write a real path in a thread whose sandbox opens only its folder. */
  readonly isInWorkspace = (realPath: string): boolean => this.#judge(WORKSPACE_ONLY).mayWrite(realPath);

  /** A patch asks about thousands of paths, and each judge looks up all roots and hidden places on the disk. */
  #judge(policy: SandboxPolicy): PathJudge {
    const { running } = this.#turns;
    const known = this.#judges.get(policy);
    const now = performance.now();
    if (known && now < known.until && known.running === running && known.guarded === this.#guardedNow) return known;
    const confinement = this.confinement(policy);
    const [mayRead, mayWrite] = [once(() => mayReadFor(confinement)), once(() => mayWriteFor(confinement))];
    const judge: PathJudge = {
      running,
      guarded: this.#guardedNow,
      until: now + JUDGED_MS,
      mayRead: (realPath) => mayRead()(realPath),
      mayWrite: (realPath) => mayWrite()(realPath),
    };
    this.#judges.set(policy, judge);
    return judge;
  }

  /** Also covers files that the search did not reach: a patch names its files. */
  #isGuarded(realPath: string): boolean {
    if (this.#policy.type !== "workspace-write") return false;
    const { workspace } = this.#turns;
    const further = isInside(realPath, workspace) ? undefined : this.#further.find((folder) => isInside(realPath, folder));
    const part = guardedPart(further ?? workspace, realPath);
    return part !== undefined && !this.#host.namesMadeHere.has(part) && (mayBeThere(part) || this.#guardedNow.includes(part));
  }

  close(): void {
    if (this.#tmp !== undefined) this.#host.removeTemporaryFolder(this.#tmp);
    this.#tmp = undefined;
  }

  /** A turn that may not leave the sandbox has one, whatever the thread was allowed. */
  get #policy(): SandboxPolicy {
    const { sandboxPolicy } = this.#settings;
    return this.#turns.running?.confined && sandboxPolicy.type === "danger-full-access" ? READ_ONLY : sandboxPolicy;
  }
}
