import { UsageError } from "../lib/errors.js";

/** One command-line flag: its value and its help text. */
export interface FlagSpec {
  readonly short?: string;
  /** The name of the value in the help; absent for a switch. */
  readonly value?: string;
  readonly repeatable?: true;
  readonly help: string;
  /** Only for a server that listens. */
  readonly listening?: true;
}

export const FLAGS = {
  config: { short: "c", value: "KEY=VALUE", repeatable: true, help: "Override a setting of config.toml; dotted keys, TOML values." },
  model: { short: "m", value: "MODEL", help: "The model for new threads." },
  profile: { short: "p", value: "NAME", help: "A profile of config.toml." },
  cd: { short: "C", value: "DIR", help: "Working directory of new threads (default: where the server was started)." },
  sandbox: { short: "s", value: "MODE", help: "read-only, workspace-write or danger-full-access." },
  "ask-for-approval": { short: "a", value: "POLICY", help: "untrusted, on-failure, on-request or never." },
  "full-auto": { help: "Same as -s workspace-write -a on-request." },
  "dangerously-bypass-approvals-and-sandbox": { help: "Same as -s danger-full-access -a never." },
  yolo: { help: "Same as --dangerously-bypass-approvals-and-sandbox." },
  search: { help: 'Same as -c web_search="live".' },
  enable: { value: "FEATURE", repeatable: true, help: "Same as -c features.FEATURE=true." },
  disable: { value: "FEATURE", repeatable: true, help: "Same as -c features.FEATURE=false." },
  json: { help: "With `doctor`: print the report as JSON." },
  "strict-config": { help: "Unknown settings are errors instead of warnings." },
  engine: {
    value: "NAME",
    help: "codex: the Codex CLI of this machine; native: the agent of this program; auto (default): codex if it can be used; scripted: plays `!` lines offline.",
  },
  "codex-bin": { value: "PATH", help: "The Codex CLI to use (default: CODEX_BIN, or the one on PATH)." },
  tools: { value: "SET[,SET]", help: "Tool sets: codex (default), extras, codex-original, codex-cli, openoxide; also CODEX_MCP_TOOLS." },
  "approval-fallback": {
    value: "STRATEGY",
    help: "For clients that cannot be asked: auto-within-policy (default), deny, hold, or ask (ask anyway).",
  },
  events: { value: "MODE", help: "codex/event notifications: auto (default: not to clients that ignore them), all, no-deltas or none." },
  "sandbox-bin": { value: "PATH", help: "The bubblewrap to use (default: the one on PATH)." },
  "eof-grace": { value: "SECONDS", help: "How long running turns may continue after the client has closed its side (default 1.5)." },
  wait: {
    value: "SECONDS",
    help: "How long calls wait for their turns before they end with `running`; `unlimited` for clients without a limit (default: by client, 50 for most).",
  },
  help: { short: "h", help: "Show this text." },
  version: { short: "V", help: "Show the version." },
  host: { value: "HOST", help: "Listen for HTTP and WebSocket on this address (default 127.0.0.1)." },
  port: { value: "PORT", help: "Listen on this port; 0 is any free one. `serve` without it tries 4096." },
  token: {
    value: "TOKEN",
    repeatable: true,
    listening: true,
    help: "A bearer token clients must send. Other users can see it in the process list; CODEX_MCP_TOKEN is safer.",
  },
  "token-file": {
    value: "FILE",
    listening: true,
    help: "Lines `NAME TOKEN [call|read|manage|operator] [root=DIR]`; read again when it changes.",
  },
  "allow-unauthenticated": { listening: true, help: "On loopback: admit every user of this machine without a token." },
  "trusted-proxy": {
    value: "ADDRESS",
    repeatable: true,
    listening: true,
    help: "A proxy, or a network of proxies, whose X-Forwarded-For is trusted.",
  },
  "allow-host": { value: "NAME", repeatable: true, listening: true, help: "Another host name of the server." },
  "cors-origin": { value: "ORIGIN", repeatable: true, listening: true, help: "Allow browser pages of this origin." },
  "tls-cert": { value: "FILE", listening: true, help: "Serve HTTPS with this certificate." },
  "tls-key": { value: "FILE", listening: true, help: "The certificate's key." },
  "oauth-issuer": { value: "URL", listening: true, help: "Accept access tokens of this OAuth issuer." },
  "oauth-audience": { value: "AUD", repeatable: true, listening: true, help: "The audience that the issuer's tokens must have." },
  "oauth-jwks": { value: "URL|FILE", listening: true, help: "The issuer's keys (default: found by the issuer's metadata)." },
  "oauth-scope": { value: "SCOPE", repeatable: true, listening: true, help: "A scope that the issuer's tokens must have." },
  "oauth-manage-scope": { value: "SCOPE", listening: true, help: "The scope that allows a client to log in and see the settings." },
  "oauth-operator-scope": {
    value: "SCOPE",
    listening: true,
    help: "The scope that allows everything, including access to what belongs to others.",
  },
  "oauth-resource": { value: "URL", listening: true, help: "The public URL of this server." },
  "allow-root": {
    value: "DIR",
    repeatable: true,
    listening: true,
    help: "A folder in which network callers may work (default: the working directory).",
  },
  "read-root": {
    value: "DIR",
    repeatable: true,
    listening: true,
    help: "A folder in your home that callers with a token may read, besides those they work in.",
  },
  "max-sandbox": { value: "MODE", listening: true, help: "The highest sandbox mode for network callers (default workspace-write)." },
  "allow-config": { value: "KEY", repeatable: true, listening: true, help: "A further key that a call's `config` may set." },
} as const satisfies Readonly<Record<string, FlagSpec>>;

export type FlagName = keyof typeof FLAGS;

/** The values from the command line, by flag. */
export type Values = Readonly<Partial<Record<FlagName, string | boolean | readonly (string | boolean)[]>>>;

export function flagChoice<const T extends string>(flag: string, value: string | undefined, allowed: readonly T[]): T | undefined {
  if (value === undefined) return undefined;
  const found = allowed.find((name) => name === value);
  if (found === undefined) throw new UsageError(`invalid value '${value}' for ${flag}: expected ${allowed.join(", ")}`);
  return found;
}

/** More than a day is a mistake, and timers are limited to about 24 days. */
const MAX_SECONDS = 86_400;

export function flagSeconds(flag: string, value: string): number {
  const number = Number(value);
  if (value.trim() === "" || !(number >= 0 && number <= MAX_SECONDS))
    throw new UsageError(`invalid value '${value}' for ${flag}: expected seconds from 0 to ${MAX_SECONDS}`);
  return number * 1000;
}

/** In milliseconds; `Infinity` for `unlimited`. */
export function flagPatience(flag: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (value === "unlimited") return Number.POSITIVE_INFINITY;
  if (Number.isNaN(Number(value))) throw new UsageError(`invalid value '${value}' for ${flag}: expected seconds or 'unlimited'`);
  return flagSeconds(flag, value);
}

export function flagText(value: Values[FlagName]): string | undefined {
  return typeof value === "string" ? value : undefined;
}

export function flagTexts(value: Values[FlagName]): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}
