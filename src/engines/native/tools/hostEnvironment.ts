import { existsSync, mkdirSync, readdirSync, realpathSync } from "node:fs";
import path from "node:path";
import type { CommandLimits } from "../../../exec/commandLimits.js";
import type { Launch } from "../../../exec/launch.js";
import type { LoginEnvironments } from "../../../exec/loginEnvironment.js";
import { markWithin, type TurnMark } from "../../../exec/nesting/turnMark.js";
import { OutsidePrograms, type WritablePlaces } from "../../../exec/outside/outsidePrograms.js";
import type { SandboxPolicy } from "../../../exec/policies.js";
import type { Sandbox } from "../../../exec/sandbox/backend.js";
import type { ConfinedCommand } from "../../../exec/sandbox/fileView.js";
import { NamesMadeHere } from "../../../exec/sandbox/guardedNames.js";
import { type HiddenPlace, secretPlaces } from "../../../exec/sandbox/hiddenPlaces.js";
import { TemporaryFolders } from "../../../exec/temporaryFolders.js";
import { followLinks, resolvedAsFarAsPossible } from "../../../platform/paths.js";
import type { ThreadSettings } from "../../../threads/settings.js";

export interface HostOptions {
  readonly codexHome: string;
  readonly env: NodeJS.ProcessEnv;
  readonly serverCwd: string;
  /** Programs in there are not trusted to be a sandbox. */
  readonly writable: WritablePlaces;
  /** A bubblewrap to use instead of the one that is found. */
  readonly sandboxBin?: string;
  /** Off: what has full access is a plain child process. */
  readonly containFullAccess?: boolean;
  /** What one command may use. */
  readonly commandLimits?: CommandLimits;
  /** Files of the server that no command may read. */
  readonly secretFiles?: readonly string[];
  /** Real paths of what the server itself runs, which no command may write. */
  readonly ownPrograms?: readonly string[];
  /** The turn that this server runs in. */
  readonly surrounding?: TurnMark | undefined;
}

/** What all threads share for running commands: the environment, the sandbox that works here, login environments. Each is loaded when first needed. */
export class HostEnvironment {
  readonly env: NodeJS.ProcessEnv;
  readonly codexHome: string;
  readonly ownPrograms: readonly string[];
  readonly namesMadeHere = new NamesMadeHere();
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

  /** What no command may read: CODEX_HOME, with credentials and everybody's threads, and where tokens and keys are. */
  get hidden(): readonly HiddenPlace[] {
    this.#hidden ??= this.#findHidden();
    return this.#hidden;
  }

  /**
   * The place that a thread works in: found once, when it is opened, and not a name that may lead elsewhere later. A folder that is reached through a
   * link which commands can change stays a name, and is refused as a place.
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

  /** The sandbox, tested once when it is first needed. */
  sandbox(): Promise<Sandbox> {
    this.#sandbox ??= this.#openSandbox();
    return this.#sandbox;
  }

  /** What confines commands of a thread that is opened now. Full access needs nothing, so nothing is tried out for it. */
  async sandboxBackend({ type }: SandboxPolicy): Promise<string> {
    await this.#sweepPlaceholders();
    return type === "danger-full-access" ? "none" : (await this.sandbox()).backend;
  }

  /** Launches a program with full access that does not outlive us, where the sandbox can do that. */
  async contain(command: ConfinedCommand): Promise<Launch> {
    const sandbox = await this.sandbox();
    return sandbox.wrap(command.argv, { ...command, policy: { type: "danger-full-access" }, workspace: command.cwd, unlimited: true });
  }

  async logins(): Promise<LoginEnvironments> {
    const { LoginEnvironments } = await import("../../../exec/loginEnvironment.js");
    this.#logins ??= new LoginEnvironments();
    return this.#logins;
  }

  /** What a thread tells everything it starts: that it is inside a turn, and how far that one may go. */
  mark({ sandboxPolicy, cwd }: Pick<ThreadSettings, "sandboxPolicy" | "cwd">): TurnMark {
    return markWithin(this.#options.surrounding, sandboxPolicy, realPathOf(cwd));
  }

  /** Clears away what the sandbox left lying for the next command. */
  async close(): Promise<void> {
    (await this.#sandbox)?.close();
  }

  get #claims(): string {
    return path.join(this.codexHome, "mcp-server", "placeholders");
  }

  /** Whatever this thread may do: what a killed server left in somebody's folder does not wait for the next command there. */
  async #sweepPlaceholders(): Promise<void> {
    const claims = this.#claims;
    if (!existsSync(claims) || readdirSync(claims).length === 0) return;
    const { sweepPlaceholders } = await import("../../../exec/sandbox/placeholders.js");
    sweepPlaceholders(claims);
  }

  async #openSandbox(): Promise<Sandbox> {
    const { env, writable, sandboxBin, containFullAccess = true, commandLimits: limits = {} } = this.#options;
    const { openSandbox } = await import("../../../exec/sandbox/backend.js");
    return openSandbox({
      env,
      claims: this.#claims,
      writable,
      containFullAccess,
      limits,
      hidden: this.hidden,
      ownPrograms: this.ownPrograms,
      ...(sandboxBin === undefined ? {} : { bin: sandboxBin }),
    });
  }

  /** A folder that is not there could not be hidden, and a command could make it. */
  #findHidden(): HiddenPlace[] {
    const { codexHome, env, serverCwd, secretFiles = [] } = this.#options;
    mkdirSync(codexHome, { recursive: true, mode: 0o700 });
    const secrets = secretFiles.flatMap((file) => secretPlaces(path.resolve(serverCwd, file), env));
    return [{ folder: resolvedAsFarAsPossible(codexHome), sealedBut: ["worktrees"] }, ...secrets];
  }
}

function realPathOf(folder: string): string | undefined {
  try {
    return realpathSync(folder);
  } catch {
    return undefined;
  }
}
