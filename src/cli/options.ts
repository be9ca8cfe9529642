/** Every flag as data: what it takes, what it does, and, where it is not built yet, the sentence that says so. */
export interface FlagSpec {
  readonly short?: string;
  /** Name of the value in the help; absent for a switch. */
  readonly value?: string;
  readonly repeatable?: true;
  readonly help?: string;
  readonly notYet?: string;
}

const HTTP_NOT_YET = "This version serves MCP on stdio only; HTTP and WebSocket are not built yet.";

export const FLAGS = {
  config: { short: "c", value: "KEY=VALUE", repeatable: true, help: "Override a setting of config.toml; dotted keys, TOML values." },
  model: { short: "m", value: "MODEL", help: "The model for new threads." },
  profile: { short: "p", value: "NAME", help: "A profile of config.toml." },
  cd: { short: "C", value: "DIR", help: "Working directory of new threads (default: where the server was started)." },
  sandbox: { short: "s", value: "MODE", help: "read-only, workspace-write or danger-full-access." },
  "ask-for-approval": { short: "a", value: "POLICY", help: "untrusted, on-failure, on-request or never." },
  enable: { value: "FEATURE", repeatable: true, help: "Same as -c features.FEATURE=true." },
  disable: { value: "FEATURE", repeatable: true, help: "Same as -c features.FEATURE=false." },
  "strict-config": { help: "Unknown settings are errors instead of warnings." },
  engine: { value: "NAME", help: "auto (default), native, or scripted: an offline model that plays `!` lines of the prompt." },
  tools: { value: "SET", help: "codex (default) or codex-original; also CODEX_MCP_TOOLS." },
  "approval-fallback": {
    value: "STRATEGY",
    help: "For clients that cannot be asked: auto-within-policy (default), deny, hold, or ask (all the same).",
  },
  "sandbox-bin": { value: "PATH", help: "The bubblewrap to use (default: the one on PATH)." },
  "eof-grace": { value: "SECONDS", help: "How long running turns may go on when the client has closed its side (default 2)." },
  help: { short: "h", help: "Show this text." },
  version: { short: "V", help: "Show the version." },
  host: { value: "HOST", notYet: HTTP_NOT_YET },
  port: { value: "PORT", notYet: HTTP_NOT_YET },
  token: { value: "TOKEN", repeatable: true, notYet: HTTP_NOT_YET },
  "token-file": { value: "FILE", notYet: HTTP_NOT_YET },
  "allow-root": { value: "DIR", repeatable: true, notYet: HTTP_NOT_YET },
  "max-sandbox": { value: "MODE", notYet: HTTP_NOT_YET },
  "allow-config": { value: "KEY", repeatable: true, notYet: HTTP_NOT_YET },
  "codex-bin": { value: "PATH", notYet: "The codex engine is not built yet; use --engine native." },
} as const satisfies Readonly<Record<string, FlagSpec>>;

export type FlagName = keyof typeof FLAGS;

export const SUBCOMMANDS_NOT_YET: ReadonlyMap<string, string> = new Map([["serve", HTTP_NOT_YET]]);
