import path from "node:path";
import { DEFAULT_ENVIRONMENT_POLICY, keptBackVariables } from "../../../exec/environment.js";
import type { SandboxPolicy } from "../../../exec/policies.js";
import { closedTo } from "../../../exec/sandbox/closedFolders.js";
import { GuardedNameSearch } from "../../../exec/sandbox/guardedNameSearch.js";
import { type CallerView, callerView, type HiddenPlace, secretPlaces } from "../../../exec/sandbox/hiddenPlaces.js";
import { withMountAliases } from "../../../exec/sandbox/mountAliases.js";
import { furtherFolders } from "../../../exec/sandbox/policy.js";
import { TemporaryFolders } from "../../../exec/temporaryFolders.js";
import { RpcError } from "../../../jsonrpc/errors.js";
import type { Fields } from "../../../lib/fields.js";
import { hasRawBytes } from "../../../lib/files/rawNames.js";
import { resolvedAsFarAsPossible } from "../../../platform/paths.js";
import { userHome } from "../../../platform/userAccount.js";
import type { Reach } from "../../../threads/limits.js";
import type { ThreadSettings } from "../../../threads/settings.js";
import type { AppServer } from "../appServer/appServer.js";
import { GIT_VARIABLE } from "../appServer/appServerProcess.js";
import { CodexRefused } from "../appServer/errors.js";
import { cannotHide, hidesSecrets, homeInTemporaryFolder } from "../appServer/handshake.js";
import { asFields, asTexts, nonEmptyText } from "../appServer/read.js";
import type { RunningCodex } from "../appServer/supervisor.js";
import { type EnforcedPolicy, permissionProfile, readablePlaces } from "./permissionProfile.js";

/** What restricting threads needs to know about the machine and the callers. */
export interface GuardOptions {
  readonly env: NodeJS.ProcessEnv;
  /** The folder in which the server was started. */
  readonly cwd: string;
  readonly codexHome?: string;
  /** Files of the server that no command of a network caller may read. */
  readonly secretFiles?: readonly string[];
  /** Real paths of the server's own programs. */
  readonly ownPrograms?: readonly string[];
  /** The settings of a thread that states none. */
  readonly defaults?: () => Pick<ThreadSettings, "shellEnvironment">;
  /** Callers come over the network. */
  readonly listens?: boolean;
  /** More than one principal may call: a Codex that cannot isolate them from each other must not serve them. */
  readonly severalCallers?: boolean;
}

/** How a thread is loaded and its turns are confined, in addition to its settings. */
export interface ThreadGuard {
  /** The caller it was made for: another caller's turn needs another guard. */
  readonly reach: Reach | undefined;
  /** The settings its permission profiles were made for; absent where it has none. */
  readonly madeFor?: Pick<ThreadSettings, "cwd" | "sandboxPolicy">;
  /** The folder in which Codex loads the thread. Its turns run in the thread's own folder, whose project configuration Codex has not read. */
  readonly loadIn: string;
  /** Overrides the thread's configuration. */
  readonly config: Fields;
  /** Names of permission profiles in that configuration; absent where Codex's own sandbox policies are used. */
  readonly profiles?: { readonly reading: string; readonly working: string };
  /** Codex's own calls of `git` fail, because a repository's configuration can name programs for git to run. */
  readonly withoutGit: boolean;
  release(): void;
}

/** A single command's profile, and its additional environment. */
interface CommandGuard extends Disposable {
  readonly profile: { readonly name: string; readonly definition: Fields };
  readonly env: Readonly<Record<string, string | null>>;
}

interface CommandToGuard {
  readonly cwd: string;
  readonly policy: EnforcedPolicy;
  readonly reach: Reach;
}

/** The file view of a caller who shares the machine with others, and the folder for its temporary files. */
interface CallerPlace {
  readonly view: CallerView;
  readonly tmp: string;
}

interface ProfiledThread {
  readonly cwd: string;
  readonly policy: EnforcedPolicy;
  readonly reach: Reach;
  readonly place: CallerPlace | undefined;
}

const READING = "codex_mcpd_reading";
const WORKING = "codex_mcpd_working";
/** A folder outside every project. */
const NOWHERE = path.parse(process.cwd()).root;

/** Creates the guards of threads and single commands. */
export class ThreadGuards {
  readonly #options: GuardOptions;
  readonly #codexHome: string;
  readonly #temporaryFolders: TemporaryFolders;
  readonly #guardedNames = new GuardedNameSearch();

  constructor(options: GuardOptions) {
    this.#options = options;
    const { env, cwd, codexHome = env["CODEX_HOME"] || path.join(userHome(env), ".codex") } = options;
    this.#codexHome = resolvedAsFarAsPossible(path.resolve(cwd, codexHome));
    this.#temporaryFolders = new TemporaryFolders(this.#codexHome);
  }

  /** Throws `CodexRefused` where hidden files cannot be kept from the caller, or no command could be confined. */
  async forThread(codex: RunningCodex, settings: ThreadSettings, reach: Reach | undefined): Promise<ThreadGuard> {
    this.#requireSandbox(settings.sandboxPolicy);
    const { trustsFolders, excludedVariables, mcpServers } = await readCodexConfig(codex.server);
    const stated = asFields(settings.stated?.["mcp_servers"]);
    const { looksOnly = false } = settings;
    const configured = { ...mcpServers, ...stated };
    // Codex can offer all tools of a server or a list of names, but cannot select the tools that declare themselves read-only.
    const servers = looksOnly ? turnedOff(configured) : mcpServersIn(this.#codexHome, configured);
    const secrets = keptBackVariables(settings.shellEnvironment, this.#options.env);
    const exclude = [...new Set([...excludedVariables, ...secrets])];
    const config = { mcp_servers: servers, shell_environment_policy: { exclude } };
    const loadIn = (reach || looksOnly) && trustsFolders ? NOWHERE : settings.cwd;
    if (!reach || !this.hides(codex)) return { reach, loadIn, config, withoutGit: false, release: () => {} };
    const { cwd, sandboxPolicy } = settings;
    const place = this.#placeOf(reach);
    try {
      const reading = await this.#profile(codex.program, { cwd, policy: { type: "read-only" }, reach, place });
      const working = await this.#profile(codex.program, { cwd, policy: enforced(sandboxPolicy), reach, place });
      return {
        reach,
        madeFor: { cwd, sandboxPolicy },
        loadIn,
        config: {
          mcp_servers: servers,
          permissions: { [READING]: reading, [WORKING]: working },
          default_permissions: READING,
          shell_environment_policy: { exclude: [...exclude, GIT_VARIABLE], set: temporaryVariables(place) },
        },
        profiles: { reading: READING, working: WORKING },
        withoutGit: true,
        release: () => this.#leave(place),
      };
    } catch (error) {
      this.#leave(place);
      throw error;
    }
  }

  /** For a command of a network caller, called before the Codex that will run it is started. */
  async forCommand(program: string, { reach, ...command }: CommandToGuard): Promise<CommandGuard> {
    const place = this.#placeOf(reach);
    try {
      const definition = await this.#profile(program, { ...command, reach, place });
      return {
        profile: { name: WORKING, definition },
        env: { ...this.withoutSecrets(), [GIT_VARIABLE]: null, ...temporaryVariables(place) },
        [Symbol.dispose]: () => this.#leave(place),
      };
    } catch (error) {
      this.#leave(place);
      throw error;
    }
  }

  /**
   * A fork is loaded only to be written, so it needs no servers. Its caller is not known here: on a server that listens, a network caller
   * is assumed.
   */
  async forFork(codex: RunningCodex): Promise<{ readonly cwd?: string; readonly config: Fields }> {
    const { trustsFolders, mcpServers } = await readCodexConfig(codex.server);
    const config = { mcp_servers: Object.fromEntries(Object.keys(mcpServers).map((name) => [name, { enabled: false }])) };
    return this.#options.listens && trustsFolders ? { cwd: NOWHERE, config } : { config };
  }

  /** The variables removed from a single command, which has no settings of its own. */
  withoutSecrets(): Readonly<Record<string, null>> {
    const { env, defaults } = this.#options;
    const names = keptBackVariables(defaults?.().shellEnvironment ?? DEFAULT_ENVIRONMENT_POLICY, env);
    return Object.fromEntries(names.map((name) => [name, null]));
  }

  /** Whether this Codex can hide files. Throws `CodexRefused` when it cannot but must. */
  hides({ version, program }: Pick<RunningCodex, "version" | "program">): boolean {
    if (hidesSecrets(version)) return true;
    if (this.#options.severalCallers) throw new CodexRefused(cannotHide(version, program));
    return false;
  }

  #requireSandbox({ type }: SandboxPolicy): void {
    const complaint = homeInTemporaryFolder({ codexHome: this.#codexHome, env: this.#options.env });
    if (complaint !== undefined && type !== "danger-full-access") throw new CodexRefused(complaint);
  }

  #placeOf({ folders, foreign = [] }: Reach): CallerPlace | undefined {
    if (folders === undefined) return undefined;
    const tmp = this.#temporaryFolders.make();
    return { tmp, view: callerView({ folders, foreign, env: this.#options.env, tmp: () => tmp }) };
  }

  #leave(place: CallerPlace | undefined): void {
    if (place) this.#temporaryFolders.remove(place.tmp);
  }

  async #profile(program: string, { cwd, policy, reach, place }: ProfiledThread): Promise<Fields> {
    const hidden = [...this.#hidden(), ...(place?.view.hidden ?? [])];
    const workspace = resolvedAsFarAsPossible(cwd);
    const further = furtherFolders(policy, workspace);
    const found = policy.type === "read-only" ? [] : (await this.#guardedNames.find(workspace, { further })).places;
    const guarded = found.map(aroundRawNames);
    const refused = [workspace, ...further].find((folder) => guarded.includes(folder));
    if (refused !== undefined) throw new CodexRefused(closedTo(refused));
    return permissionProfile({
      policy,
      cwd,
      readable: await readablePlaces({ hidden, shown: place?.view.shown ?? [] }),
      hidden,
      readOnly: [...(this.#options.ownPrograms ?? []), ...guarded],
      program,
      codexHome: this.#codexHome,
      places: reach,
      tmp: place?.tmp,
    });
  }

  #hidden(): HiddenPlace[] {
    const { cwd, env, secretFiles = [] } = this.#options;
    return withMountAliases([{ folder: this.#codexHome }, ...secretFiles.flatMap((file) => secretPlaces(path.resolve(cwd, file), env))]);
  }
}

/** Codex's profiles are JSON, which has no names that are not UTF-8: the folder around such a name is protected. */
function aroundRawNames(place: string): string {
  return hasRawBytes(place) ? aroundRawNames(path.dirname(place)) : place;
}

/** Full access has no profile; no profile extends a policy to it. */
function enforced(policy: SandboxPolicy): EnforcedPolicy {
  return policy.type === "danger-full-access" ? { type: "read-only" } : policy;
}

function temporaryVariables(place: CallerPlace | undefined): Record<string, string> {
  return place ? { TMPDIR: place.tmp, TMP: place.tmp, TEMP: place.tmp } : {};
}

/** The parts of the user's configuration that matter for guarding a thread. */
interface CodexConfig {
  /** Some folder is trusted: Codex would execute settings of its `.codex/config.toml`, including for folders that pretend to be part of it. */
  readonly trustsFolders: boolean;
  /** `shell_environment_policy.exclude`. */
  readonly excludedVariables: readonly string[];
  readonly mcpServers: Fields;
}

/** Reads the configuration without that of any project. A Codex that does not report it is assumed to trust folders. */
async function readCodexConfig(server: AppServer): Promise<CodexConfig> {
  const answer = await server.request("config/read", { includeLayers: false }).catch((error: unknown) => {
    if (!(error instanceof RpcError)) throw error;
  });
  if (answer === undefined) return { trustsFolders: true, excludedVariables: [], mcpServers: {} };
  const { projects, shell_environment_policy: environment, mcp_servers: servers } = asFields(asFields(answer)["config"]);
  return {
    trustsFolders: Object.values(asFields(projects)).some((project) => asFields(project)["trust_level"] === "trusted"),
    excludedVariables: asTexts(asFields(environment)["exclude"]),
    mcpServers: asFields(servers),
  };
}

/**
 * Sets the working folder of MCP servers that name none. Codex would start them in the thread's folder, where package runners prefer
 * programs that a command or a caller has put there.
 */
function mcpServersIn(folder: string, servers: Fields): Fields {
  const homeless = Object.entries(servers).filter(([, server]) => {
    const { command, cwd } = asFields(server);
    return nonEmptyText(command) !== undefined && nonEmptyText(cwd) === undefined;
  });
  return Object.fromEntries(homeless.map(([name]) => [name, { cwd: folder }]));
}

function turnedOff(servers: Fields): Fields {
  return Object.fromEntries(Object.keys(servers).map((name) => [name, { enabled: false }]));
}
