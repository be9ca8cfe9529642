import { existsSync, readdirSync, realpathSync } from "node:fs";
import path from "node:path";
import type { CommandLimits } from "../../../exec/commandLimits.js";
import { NO_SANDBOX } from "../../../exec/errors.js";
import type { Launch } from "../../../exec/launch.js";
import type { LoginEnvironments } from "../../../exec/loginEnvironment.js";
import { markWithin, type TurnMark } from "../../../exec/nesting/turnMark.js";
import { OutsidePrograms, systemProgram, type WritablePlaces } from "../../../exec/outside/outsidePrograms.js";
import type { SandboxPolicy } from "../../../exec/policies.js";
import type { Sandbox } from "../../../exec/sandbox/backend.js";
import { FoldersClosedHere, NamesMadeHere } from "../../../exec/sandbox/closedFolders.js";
import type { ConfinedCommand } from "../../../exec/sandbox/fileView.js";
import { GuardedNameSearch } from "../../../exec/sandbox/guardedNameSearch.js";
import { type HiddenPlace, secretPlaces } from "../../../exec/sandbox/hiddenPlaces.js";
import { withMountAliases } from "../../../exec/sandbox/mountAliases.js";
import { TemporaryFolders } from "../../../exec/temporaryFolders.js";
import { describe } from "../../../lib/errors.js";
import { makeFolderSync } from "../../../lib/files/makeFolder.js";
import { followLinks, resolvedAsFarAsPossible } from "../../../platform/paths.js";
import { ownRun, runName } from "../../../platform/processes.js";
import { StorageFailed } from "../../../threads/errors.js";
import type { ThreadSettings } from "../../../threads/settings.js";

export interface HostOptions {
  readonly codexHome: string;
  readonly env: NodeJS.ProcessEnv;
  readonly serverCwd: string;
  /** Programs in these folders are not trusted as a sandbox. */
  readonly writable: WritablePlaces;
  /** Replaces the bubblewrap that would be found. */
  readonly sandboxBin?: string;
  /** False: a program with full access is a plain child process. */
  readonly containFullAccess?: boolean;
  /** The resource limits of one command. */
  readonly commandLimits?: CommandLimits;
  /** Files of the server that no command may read. */
  readonly secretFiles?: readonly string[];
  /** Real paths of the server's own programs, which no command may write. */
  readonly ownPrograms?: readonly string[];
  /** The turn inside which this server runs. */
  readonly surrounding?: TurnMark | undefined;
  /** Called once, if no sandbox works here. */
  readonly report?: (line: string) => void;
}

/**
 * What all threads share for running commands: the environment, the working sandbox, login environments. Each is loaded when first needed.
 */
export class HostEnvironment {
  readonly env: NodeJS.ProcessEnv;
  readonly codexHome: string;
  readonly ownPrograms: readonly string[];
  readonly namesMadeHere = new NamesMadeHere();
  readonly foldersClosedHere = new FoldersClosedHere();
  readonly guardedNames = new GuardedNameSearch();
  readonly outside: OutsidePrograms;
  readonly #options: HostOptions;
  readonly #temporaryFolders: TemporaryFolders;
  #hidden: readonly HiddenPlace[] | undefined;
  #sandbox: Promise<Sandbox> | undefined;
  #logins: LoginEnvironments | undefined;

  constructor(options: HostOptions) {
    this.#options = options;
    this.env = options.env;
    this.codexHome = options.codexHome;
    this.ownPrograms = options.ownPrograms ?? [];
    this.outside = new OutsidePrograms(options);
    this.#temporaryFolders = new TemporaryFolders(options.codexHome);
  }

  /** What no command may read: CODEX_HOME with credentials and all threads, and the locations of tokens and keys. */
  get hidden(): readonly HiddenPlace[] {
    this.#hidden ??= this.#findHidden();
    return this.#hidden;
  }

  /**
   * The thread's folder, resolved once when the thread is opened, because a name may lead elsewhere later. A folder reached through a link
   * that commands can change stays unresolved and is refused.
   */
  workspaceOf(cwd: string): string {
    const found = followLinks(path.resolve(cwd));
    if (!found) return resolvedAsFarAsPossible(cwd);
    return found.links.some((link) => this.#options.writable.covers(link)) ? path.resolve(cwd) : found.real;
  }

  makeTemporaryFolder(): string {
    return this.#temporaryFolders.make();
  }

  removeTemporaryFolder(folder: string): void {
    this.#temporaryFolders.remove(folder);
  }

  /** The sandbox, probed once when first needed, and again if it could not be probed. */
  sandbox(): Promise<Sandbox> {
    this.#sandbox ??= this.#openSandbox().catch((error: unknown) => {
      this.#sandbox = undefined;
      throw error;
    });
    return this.#sandbox;
  }

  /**
   * Reports before the first thread if no sandbox works. A program that may be a sandbox is only tried with `thoroughly`: trying it starts
   * processes, and many stdio clients only list tools.
   */
  async lookForSandbox({ thoroughly }: { readonly thoroughly: boolean }): Promise<void> {
    const isNamed = this.#options.sandboxBin !== undefined;
    const isLikely =
      process.platform !== "linux" ||
      systemProgram("bwrap") !== undefined ||
      ["bwrap", "codex"].some((name) => this.outside.all(name).length > 0);
    if (thoroughly || isNamed || !isLikely) await this.sandbox();
  }

  /** The sandbox for commands of a thread that is opened now. Full access needs none, so none is probed for it. */
  async sandboxBackend({ type }: SandboxPolicy): Promise<string> {
    await this.#sweepPlaceholders();
    return type === "danger-full-access" ? "none" : (await this.sandbox()).backend;
  }

  /** Launches a program with full access that does not outlive this server, where the sandbox supports that. */
  async contain(command: ConfinedCommand): Promise<Launch> {
    const sandbox = await this.sandbox();
    return sandbox.wrap(command.argv, { ...command, policy: { type: "danger-full-access" }, workspace: command.cwd, unlimited: true });
  }

  async logins(): Promise<LoginEnvironments> {
    const { LoginEnvironments } = await import("../../../exec/loginEnvironment.js");
    this.#logins ??= new LoginEnvironments();
    return this.#logins;
  }

  /** The mark for everything that a thread starts: that it runs inside a turn, and that turn's limits. */
  mark({ sandboxPolicy, cwd }: Pick<ThreadSettings, "sandboxPolicy" | "cwd">): TurnMark {
    return markWithin(this.#options.surrounding, sandboxPolicy, realPathOf(cwd));
  }

  /** Removes what the sandbox kept for the next command. */
  async close(): Promise<void> {
    (await this.#sandbox?.catch(() => undefined))?.close();
  }

  get #claims(): string {
    return path.join(this.codexHome, "mcp-server", "placeholders");
  }

  /** Runs for any thread: placeholders that a killed server left are removed without waiting for the next command in that folder. */
  async #sweepPlaceholders(): Promise<void> {
    const claims = this.#claims;
    if (!existsSync(claims) || readdirSync(claims).every(isOfThisProcess)) return;
    const { sweepPlaceholders } = await import("../../../exec/sandbox/placeholders.js");
    sweepPlaceholders(claims);
  }

  async #openSandbox(): Promise<Sandbox> {
    const { env, writable, sandboxBin, containFullAccess = true, commandLimits: limits = {} } = this.#options;
    const { openSandbox } = await import("../../../exec/sandbox/backend.js");
    const sandbox = await openSandbox({
      env,
      claims: this.#claims,
      scratchFolders: this.#temporaryFolders,
      writable,
      containFullAccess,
      limits,
      hidden: this.hidden,
      ownPrograms: this.ownPrograms,
      ...(sandboxBin === undefined ? {} : { bin: sandboxBin }),
    });
    if (sandbox.backend === "none") this.#options.report?.(`${NO_SANDBOX} (${sandbox.detail})`);
    return sandbox;
  }

  /** A folder that does not exist cannot be hidden, and a command could create it. */
  #findHidden(): HiddenPlace[] {
    const { codexHome, env, serverCwd, secretFiles = [] } = this.#options;
    makeCodexHome(codexHome);
    const secrets = secretFiles.flatMap((file) => secretPlaces(path.resolve(serverCwd, file), env));
    return withMountAliases([{ folder: resolvedAsFarAsPossible(codexHome), sealedBut: ["worktrees"] }, ...secrets]);
  }
}

function makeCodexHome(folder: string): void {
  try {
    makeFolderSync(folder);
  } catch (error) {
    const remedy = "Set CODEX_HOME to a folder that this user can write.";
    throw new StorageFailed(`Cannot create the folder for threads and settings (${describe(error)}). ${remedy}`, { cause: error });
  }
}

/** Whether a claim belongs to this process. Such a claim is not abandoned. */
function isOfThisProcess(claim: string): boolean {
  return claim.includes(`.${runName(ownRun())}.`);
}

function realPathOf(folder: string): string | undefined {
  try {
    return realpathSync.native(folder);
  } catch {
    return undefined;
  }
}

/** Accounts of services have a program in place of a shell that ends at once, and a SHELL from outside a container may be missing in it. */
export function userShell(env: NodeJS.ProcessEnv): string {
  return [env["SHELL"], "/bin/bash"].find((shell) => shell && !NO_SHELLS.has(path.basename(shell)) && existsSync(shell)) ?? "/bin/sh";
}

const NO_SHELLS = new Set(["nologin", "false", "true"]);
