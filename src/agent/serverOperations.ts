import type { ConfigTree } from "../config/schema/settingTypes.js";
import type { DefaultModel, UserConfig } from "../config/userConfig.js";
import type { Engine } from "../threads/engine.js";
import type {
  Account,
  AccountState,
  BrowserLogin,
  Credentials,
  DeviceCode,
  EngineServices,
  ModelSummary,
  OneOffResult,
} from "../threads/engineServices.js";
import type { TurnLimits } from "../threads/limits.js";
import type { ThreadSettings } from "../threads/settings.js";
import type { Asker } from "./access.js";
import { endedWithin, promptly } from "./callDeadline.js";
import { type Caller, checkScope, hasScope, type Scope } from "./caller.js";
import { InvalidArguments, NotOffered } from "./errors.js";
import type { AskedSettings, WorkingFolders } from "./grantedSettings.js";
import { diffToRemote, type RemoteDiff } from "./remoteDiff.js";
import type { TurnLimiter } from "./turnLimiter.js";

export interface AskedCommand {
  readonly argv: readonly string[];
  readonly cwd?: string | undefined;
  readonly sandbox?: AskedSettings["sandbox"];
  /** Replaces the configured sandbox policy. */
  readonly sandboxPolicy?: ThreadSettings["sandboxPolicy"] | undefined;
  readonly timeoutMs: number;
}

export interface ServerParts {
  readonly engine: Engine;
  /** Absent on stdio, where turns are not limited. */
  readonly limiter?: TurnLimiter | undefined;
  readonly settings: {
    withSandbox(settings: ThreadSettings, policy: ThreadSettings["sandboxPolicy"]): ThreadSettings;
  };
  /** Called with the settings of each command that runs outside any thread. */
  readonly inForce?: ((settings: ThreadSettings) => void) | undefined;
  /** The user's own configuration file. */
  readonly userConfig: Pick<UserConfig, "read" | "setDefaultModel">;
  /** Called with the list of models each time it was read for a caller. */
  readonly onModelsRead?: (models: readonly ModelSummary[]) => void;
  /** Absent: every folder is accepted. */
  readonly folders?: WorkingFolders | undefined;
  /** Throws `AppError` with the reason if the user's rules forbid the command, no matter who wants to run it. */
  readonly checkCommand: (argv: readonly string[], settings: ThreadSettings) => Promise<void>;
}

/** The checks of callers, which the `Agent` makes. */
export interface CallerRights {
  /** Throws `InsideTurn` and `ScopeMissing`. */
  check(ask: Asker, scope: Scope): void;
  settingsFor(asked: AskedSettings, caller: Caller | undefined): ThreadSettings;
  /** The settings for work in their folder, which must exist. */
  settingsForWork(ask: Asker, asked: AskedSettings): Promise<ThreadSettings>;
  limitsOf(caller: Caller | undefined): TurnLimits | undefined;
}

/** Time to start and to stop a command, in addition to the command's own timeout. */
const COMMAND_START_MS = 30_000;
const COMMAND_STOP_MS = 5_000;
/** Codex's own git timeout for a diff against the remote. */
const REMOTE_GIT_MS = 5_000;

/** What a caller may do outside any thread: run a command, and read or change models, settings and the account. Part of the `Agent`. */
export class ServerOperations {
  readonly #parts: ServerParts;
  readonly #rights: CallerRights;

  constructor(parts: ServerParts, rights: CallerRights) {
    this.#parts = parts;
    this.#rights = rights;
  }

  /** Runs one command in the requested sandbox, outside any thread. No approval is requested. */
  async run(ask: Asker, { argv, timeoutMs, sandboxPolicy: policy, ...asked }: AskedCommand): Promise<OneOffResult> {
    this.#rights.check(ask, "call");
    if (!argv[0]) throw new InvalidArguments("`command` must begin with a program.");
    const configured = await this.#rights.settingsForWork(ask, asked);
    const settings = policy ? this.#parts.settings.withSandbox(configured, policy) : configured;
    const limits = this.#rights.limitsOf(ask.caller);
    const check = () => limits?.check(settings);
    check();
    await this.#parts.checkCommand(argv, settings);
    this.#parts.inForce?.(settings);
    const { cwd, sandboxPolicy } = settings;
    const command = { argv, cwd, sandboxPolicy, timeoutMs, check, reach: limits?.reach };
    using _place = await this.#parts.limiter?.enter(ask);
    const limit = { ms: timeoutMs + COMMAND_START_MS, stopMs: COMMAND_STOP_MS };
    return await endedWithin(limit, ask, async (signal) => {
      const services = await this.#services();
      signal.throwIfAborted();
      return services.runOnce(command, signal);
    });
  }

  /** The user's own config.toml as written. It may hold secrets: the caller of this method chooses what to show. */
  savedConfig(ask: Asker): Promise<ConfigTree> {
    this.#rights.check(ask, "manage");
    return promptly(ask, () => this.#parts.userConfig.read());
  }

  /** Changes the user's own config.toml; applies to threads started from now on. */
  setDefaultModel(ask: Asker, wanted: DefaultModel): Promise<void> {
    this.#rights.check(ask, "manage");
    return promptly(ask, () => this.#parts.userConfig.setDefaultModel(wanted));
  }

  /** The diff between a folder's repository and its remote. Throws `NoRemoteDiff` with the reason if there is none. */
  async diffToRemote(ask: Asker, cwd: string): Promise<RemoteDiff> {
    this.#rights.check(ask, "manage");
    const settings = await this.#rights.settingsForWork(ask, { cwd });
    using _place = await this.#parts.limiter?.enter(ask);
    return await diffToRemote((argv) => this.runReading(ask, settings, { argv, timeoutMs: REMOTE_GIT_MS }));
  }

  /** The available models. Allowed inside a turn too: the list starts nothing and reveals nothing about other callers. */
  async models(ask: Asker): Promise<readonly ModelSummary[]> {
    checkScope(ask.caller, "call");
    const models = await promptly(ask, async (signal) => (await this.#services()).models(signal));
    this.#parts.onModelsRead?.(models);
    return models;
  }

  /** The settings in force in a folder, with secrets masked. */
  config(ask: Asker, cwd: string | undefined): Promise<Readonly<Record<string, unknown>>> {
    this.#rights.check(ask, "manage");
    const settings = this.#rights.settingsFor({ cwd }, ask.caller);
    const { cwd: folder } = settings;
    if (cwd !== undefined) {
      // A caller must not learn what exists outside its own folders.
      this.#rights.limitsOf(ask.caller)?.check({ ...settings, sandboxPolicy: { type: "read-only" } });
      this.#parts.folders?.checkUsable(folder);
    }
    return promptly(ask, async () => (await this.#services()).config(folder));
  }

  /** How the model is paid for. Only callers with `manage` see whose account it is. */
  async accountState(ask: Asker): Promise<AccountState> {
    this.#rights.check(ask, "call");
    const state = await promptly(ask, async () => (await this.#services()).account.state());
    if (state.kind !== "chatgpt" || hasScope(ask.caller, "manage")) return state;
    const { email: _, ...rest } = state;
    return rest;
  }

  /** Changes the account for everyone on this server. */
  login(ask: Asker, apiKey: string): Promise<void> {
    return this.#onAccount(ask, (account) => account.loginWithKey(apiKey));
  }

  loginWithDeviceCode(ask: Asker): Promise<DeviceCode> {
    return this.#onAccount(ask, (account) => account.loginWithDeviceCode());
  }

  /** The login continues after its caller has disconnected. */
  loginWithBrowser(ask: Asker): Promise<BrowserLogin> {
    return this.#onAccount(ask, (account) => account.loginWithBrowser());
  }

  /** Returns false if no such login is pending. */
  cancelLogin(ask: Asker, id: string): Promise<boolean> {
    return this.#onAccount(ask, (account) => account.cancelLogin(id));
  }

  /** How the server is logged in. The token itself needs the scope `operator` and is returned only on request. */
  async credentials(ask: Asker, { refresh, withToken }: { readonly refresh: boolean; readonly withToken: boolean }): Promise<Credentials> {
    if (withToken) checkScope(ask.caller, "operator");
    const { token, ...known } = await this.#onAccount(ask, (account) => account.credentials({ refresh }));
    return withToken && token !== undefined ? { ...known, token } : known;
  }

  logout(ask: Asker): Promise<void> {
    return this.#onAccount(ask, (account) => account.logout());
  }

  #onAccount<T>(ask: Asker, change: (account: Account) => Promise<T>): Promise<T> {
    this.#rights.check(ask, "manage");
    return promptly(ask, async () => change((await this.#services()).account));
  }

  /** Runs a command of the server's own in the caller's folder, in a read-only sandbox. The caller's rights were checked before. */
  runReading(ask: Asker, settings: ThreadSettings, { argv, timeoutMs }: Pick<AskedCommand, "argv" | "timeoutMs">): Promise<OneOffResult> {
    const limits = this.#rights.limitsOf(ask.caller);
    const command = {
      argv,
      cwd: settings.cwd,
      sandboxPolicy: { type: "read-only" } as const,
      timeoutMs,
      check: () => limits?.check(settings),
      reach: limits?.reach,
    };
    return promptly(ask, async (signal) => (await this.#services()).runOnce(command, signal));
  }

  async #services(): Promise<EngineServices> {
    const { engine } = this.#parts;
    if (!engine.services) throw new NotOffered(engine.name);
    return engine.services();
  }
}
