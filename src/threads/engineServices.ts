import type { SandboxPolicy } from "../exec/policies.js";
import type { Reach } from "./limits.js";
import type { ReasoningEffort } from "./settings.js";
import type { RateLimits } from "./usage.js";

/** What an engine can do besides running turns. Anything it cannot do rejects with an `AppError` that names an alternative. */
export interface EngineServices {
  readonly account: Account;
  /** The models a call may name, the default first. Queried anew each time. */
  models(signal: AbortSignal): Promise<readonly ModelSummary[]>;
  /** The effective settings in a folder, in config.toml's form; keys, tokens and headers are masked. */
  config(cwd: string): Promise<Readonly<Record<string, unknown>>>;
  /** Runs one command in the given sandbox, outside any thread. Resolves when everything the command started has ended. */
  runOnce(command: OneOffCommand, signal: AbortSignal): Promise<OneOffResult>;
}

export interface ModelSummary {
  readonly model: string;
  readonly displayName: string;
  readonly isDefault: boolean;
  readonly reasoningEfforts: readonly ReasoningEffort[];
  /** The provider's list of models was read and does not contain it. */
  readonly notOffered?: true;
  /** The day the provider will remove the model, as announced. */
  readonly shutdownDate?: string;
}

/**
 * The account that pays for the model. Methods accept keys and tokens; only `credentials` returns one, and its caller decides who may see
 * it.
 */
export interface Account {
  state(): Promise<AccountState>;
  loginWithKey(apiKey: string): Promise<void>;
  /**
   * The user opens the URL and enters the code there; `state` reports when the login is complete. Starting a second login cancels the
   * first.
   */
  loginWithDeviceCode(): Promise<DeviceCode>;
  /** The user opens the URL on the server's machine and logs in there. Starting a second login cancels the first. */
  loginWithBrowser(): Promise<BrowserLogin>;
  /** False when no such login is pending. */
  cancelLogin(id: string): Promise<boolean>;
  logout(): Promise<void>;
  /** The login itself, including its secret. */
  credentials(how: { readonly refresh: boolean }): Promise<Credentials>;
}

export interface BrowserLogin {
  readonly id: string;
  readonly url: string;
  /** How it ended: completed, refused, cancelled, replaced or abandoned. Never rejects. */
  readonly ended: Promise<LoginEnd>;
}

export type LoginEnd = { readonly success: true } | { readonly success: false; readonly error: string };

export interface Credentials {
  /** The provider in use requires an OpenAI login. */
  readonly needsOpenai: boolean;
  /** Absent when not logged in. */
  readonly method?: "apikey" | "chatgpt";
  readonly token?: string;
  /** As stated in the login; not verified. */
  readonly email?: string;
}

export type AccountState = AccountLogin & {
  /** The account's limits as last reported by the provider; absent until it reports any. */
  readonly limits?: AccountLimits;
};

type AccountLogin =
  | { readonly kind: "none"; readonly isNeeded: boolean; readonly remedy?: string }
  | { readonly kind: "apiKey"; readonly source: string }
  | { readonly kind: "chatgpt"; readonly email?: string; readonly plan?: string };

/** How much of an account's limits is used, and when they reset. */
export interface AccountLimits {
  /** As Codex reports them: used shares of time windows, and credits. */
  readonly windows?: RateLimits;
  /** As the API reports them for a key: requests and tokens left in the current minute. */
  readonly requests?: KeyLimit;
  readonly tokens?: KeyLimit;
  /** When they were reported, in milliseconds since 1970. */
  readonly at: number;
}

export interface KeyLimit {
  readonly limit: number;
  readonly remaining: number;
  /** When the limit resets fully, in seconds since 1970; null if not reported. */
  readonly resetsAt: number | null;
}

export interface DeviceCode {
  readonly url: string;
  readonly code: string;
}

export interface OneOffCommand {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly sandboxPolicy: SandboxPolicy;
  readonly timeoutMs: number;
  /** Called right before the command runs: a link on the path of its folder may have changed by then. Throws when it must not run. */
  readonly check?: (() => void) | undefined;
  /** What may be read for the caller; absent for the server's own user. */
  readonly reach?: Reach | undefined;
}

export interface OneOffResult {
  /** 124 after a timeout. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut?: true;
  /** The output was truncated. */
  readonly isCut?: true;
}
