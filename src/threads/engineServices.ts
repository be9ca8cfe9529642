import type { SandboxPolicy } from "../exec/policies.js";
import type { Reach } from "./limits.js";
import type { ReasoningEffort } from "./settings.js";
import type { RateLimits } from "./usage.js";

/** What an engine can do besides running turns. Whatever it cannot do rejects with an `AppError` that says what to do instead. */
export interface EngineServices {
  readonly account: Account;
  /** The models a call may name, the default one first. Asked anew each time. */
  models(signal: AbortSignal): Promise<readonly ModelSummary[]>;
  /** The settings in force in a folder, as config.toml would say them; keys, tokens and headers are masked. */
  config(cwd: string): Promise<Readonly<Record<string, unknown>>>;
  /** Runs one command in the sandbox it names, outside any thread, and ends with everything it started. */
  runOnce(command: OneOffCommand, signal: AbortSignal): Promise<OneOffResult>;
}

export interface ModelSummary {
  readonly model: string;
  readonly displayName: string;
  readonly isDefault: boolean;
  readonly reasoningEfforts: readonly ReasoningEffort[];
  /** The provider's list of models was read and lacks it. */
  readonly notOffered?: true;
  /** The day from which on it is not offered any more, as the provider announces it. */
  readonly shutdownDate?: string;
}

/** Who pays for the model. Keys and tokens are taken; `credentials` alone gives one out, and whoever asks for it decides who may see it. */
export interface Account {
  state(): Promise<AccountState>;
  loginWithKey(apiKey: string): Promise<void>;
  /** The user opens the address, types the code there, and `state` tells when it is done. A second one ends the first. */
  loginWithDeviceCode(): Promise<DeviceCode>;
  /** The user opens the address on the machine of the server and logs in there. A second login ends the first. */
  loginWithBrowser(): Promise<BrowserLogin>;
  /** False when no such login waits. */
  cancelLogin(id: string): Promise<boolean>;
  logout(): Promise<void>;
  /** The login itself, with its secret. */
  credentials(how: { readonly refresh: boolean }): Promise<Credentials>;
}

export interface BrowserLogin {
  readonly id: string;
  readonly url: string;
  /** How it ended: done, refused, cancelled, replaced or given up. Never rejects. */
  readonly ended: Promise<LoginEnd>;
}

export type LoginEnd = { readonly success: true } | { readonly success: false; readonly error: string };

export interface Credentials {
  /** The provider in use wants a login of OpenAI's. */
  readonly needsOpenai: boolean;
  /** Absent when nobody is logged in. */
  readonly method?: "apikey" | "chatgpt";
  readonly token?: string;
  /** As the login itself says; nobody has checked it. */
  readonly email?: string;
}

export type AccountState = AccountLogin & {
  /** What the provider said last about the account's limits; absent while it has said nothing. */
  readonly limits?: AccountLimits;
};

type AccountLogin =
  | { readonly kind: "none"; readonly isNeeded: boolean; readonly remedy?: string }
  | { readonly kind: "apiKey"; readonly source: string }
  | { readonly kind: "chatgpt"; readonly email?: string; readonly plan?: string };

/** How much of an account is used up, and when it is whole again. */
export interface AccountLimits {
  /** As Codex tells them: shares of windows, and credits. */
  readonly windows?: RateLimits;
  /** As the API tells them of a key: what is left of a minute's requests and tokens. */
  readonly requests?: KeyLimit;
  readonly tokens?: KeyLimit;
  /** When this was said, in milliseconds since 1970. */
  readonly at: number;
}

export interface KeyLimit {
  readonly limit: number;
  readonly remaining: number;
  /** When all of it is there again, in seconds since 1970; null where nothing was said. */
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
  /** Called right before it runs: a link on the way to its folder may lead elsewhere by then. Throws when it must not run. */
  readonly check?: (() => void) | undefined;
  /** What may be read for whoever asks; absent for the server's own user. */
  readonly reach?: Reach | undefined;
}

export interface OneOffResult {
  /** 124 after a time-out. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut?: true;
  /** There was more output than is kept. */
  readonly isCut?: true;
}
