import { readFileSync } from "node:fs";
import path from "node:path";
import { errorCode } from "../../../lib/errors.js";
import type { AccountLimits, KeyLimit } from "../../../threads/engineServices.js";
import type { ModelProvider } from "../../../threads/settings.js";
import type { RateLimits, RateLimitWindow } from "../../../threads/usage.js";
import { ModelFailure } from "./client.js";

/** A URL below the provider's base URL, with its query parameters. Throws `ModelFailure` when the base is not a URL. */
export function endpoint(provider: ModelProvider, name: "responses" | "models"): URL {
  const url = baseUrlOf(provider);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/${name}`;
  for (const [key, value] of Object.entries(provider.queryParams)) url.searchParams.set(key, value);
  return url;
}

function baseUrlOf({ id, baseUrl }: ModelProvider): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  throw new ModelFailure(`The base_url of provider \`${id}\` must begin with http:// or https://. Correct it in config.toml.`, {
    retry: "never",
  });
}

/** The URL without its credentials and query, which may be secret, except for the version of the API. */
export function shownUrl(url: URL): string {
  const version = url.searchParams.get(VERSION_PARAMETER);
  const query = version === null ? "" : `?${VERSION_PARAMETER}=${encodeURIComponent(version)}`;
  return `${url.protocol}//${url.host}${url.pathname}${query}`;
}

const VERSION_PARAMETER = "api-version";

/** The headers for a provider, including its credentials. Throws `ModelFailure` when those are missing. */
export function providerHeaders(provider: ModelProvider, sources: CredentialSources): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(provider.httpHeaders)) headers[name.toLowerCase()] = value;
  for (const [name, variable] of Object.entries(provider.envHttpHeaders)) {
    const value = sources.env[variable]?.trim();
    if (value) headers[name.toLowerCase()] = value;
  }
  const token = findBearerToken(provider, sources);
  if (token !== undefined) headers["authorization"] = `Bearer ${token}`;
  return headers;
}

export interface CredentialSources {
  readonly env: NodeJS.ProcessEnv;
  readonly codexHome: string;
}

/** A key and its source. */
interface Credential {
  readonly token: string;
  /** For people: names the source, never the key. */
  readonly source: string;
}

/** The bearer token for a provider; undefined when it needs none. Throws `ModelFailure` naming what to set. */
export function findBearerToken(provider: ModelProvider, sources: CredentialSources): string | undefined {
  return findCredential(provider, sources)?.token;
}

/** The key for a provider, with its source; undefined when it needs none. Throws `ModelFailure` naming what to set. */
export function findCredential(provider: ModelProvider, { env, codexHome }: CredentialSources): Credential | undefined {
  if (provider.envKey !== undefined) return requiredVariable(provider.envKey, provider, env);
  if (provider.bearerToken !== undefined)
    return { token: provider.bearerToken, source: `experimental_bearer_token of provider ${provider.id} in config.toml` };
  // A key for OpenAI is never sent to a provider that does not require it.
  if (!provider.requiresOpenaiAuth) return undefined;
  const given = fromVariable("CODEX_API_KEY", env);
  if (given) return given;
  const { apiKey, hasChatGptTokens } = readLogin(codexHome);
  const found = apiKey === undefined ? fromVariable("OPENAI_API_KEY", env) : { token: apiKey, source: AUTH_JSON };
  if (!found) throw new ModelFailure(hasChatGptTokens ? CHATGPT_ONLY : NO_KEY, { retry: "never", info: "unauthorized" });
  return found;
}

const AUTH_JSON = "auth.json in CODEX_HOME";
const NO_KEY =
  "No API key for the OpenAI provider: set OPENAI_API_KEY (or CODEX_API_KEY) in this server's environment, put a key into auth.json in CODEX_HOME, " +
  "or choose another provider with model_provider in config.toml.";
const CHATGPT_ONLY =
  "auth.json holds a ChatGPT login, which only the Codex CLI itself may use. Set OPENAI_API_KEY (or CODEX_API_KEY) in this server's environment, " +
  "or choose another provider with model_provider in config.toml.";

function fromVariable(name: string, env: NodeJS.ProcessEnv): Credential | undefined {
  const token = filled(env[name]);
  return token === undefined ? undefined : { token, source: `environment variable ${name}` };
}

function requiredVariable(name: string, provider: ModelProvider, env: NodeJS.ProcessEnv): Credential {
  const found = fromVariable(name, env);
  if (found) return found;
  const remedy = provider.envKeyInstructions === undefined ? "" : ` ${provider.envKeyInstructions}`;
  throw new ModelFailure(`Missing environment variable: \`${name}\`.${remedy}`, {
    retry: "never",
    advice: `Set it in this server's environment (often \`env\` in the client's configuration), then start the server again.`,
  });
}

interface Login {
  readonly apiKey: string | undefined;
  readonly hasChatGptTokens: boolean;
}

/** The content of `auth.json` in CODEX_HOME. Throws `ModelFailure` when it exists but cannot be read. */
export function readLogin(codexHome: string): Login {
  let text: string;
  try {
    text = readFileSync(path.join(codexHome, "auth.json"), "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return { apiKey: undefined, hasChatGptTokens: false };
    throw new ModelFailure("auth.json in CODEX_HOME cannot be read: check its permissions.", { retry: "never", cause: error });
  }
  try {
    const parsed = JSON.parse(text) as { OPENAI_API_KEY?: unknown; tokens?: unknown } | null;
    const apiKey = typeof parsed?.OPENAI_API_KEY === "string" ? filled(parsed.OPENAI_API_KEY) : undefined;
    return { apiKey, hasChatGptTokens: typeof parsed?.tokens === "object" && parsed.tokens !== null };
  } catch (error) {
    throw new ModelFailure("auth.json in CODEX_HOME is not valid JSON: log in again, or remove it.", { retry: "never", cause: error });
  }
}

function filled(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === "" ? undefined : value.trim();
}

/** Environment variables with the provider's keys, which commands do not get. */
export function secretVariables({ envKey, envHttpHeaders }: ModelProvider): string[] {
  return ["OPENAI_API_KEY", "CODEX_API_KEY", ...(envKey === undefined ? [] : [envKey]), ...Object.values(envHttpHeaders)];
}

/** Headers of an HTTP response, names in lower case. */
export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The rate limits in a provider's response headers; undefined when there are none. */
export function readRateLimits(headers: ResponseHeaders): RateLimits | undefined {
  const primary = readWindow(headers, "primary");
  const secondary = readWindow(headers, "secondary");
  const credits = readCredits(headers);
  if (!primary && !secondary && !credits) return undefined;
  return { primary, secondary, credits, plan_type: null };
}

function readWindow(headers: ResponseHeaders, which: "primary" | "secondary"): RateLimitWindow | null {
  const used = readNumber(headers[`x-codex-${which}-used-percent`]);
  if (used === null) return null;
  const window_minutes = readNumber(headers[`x-codex-${which}-window-minutes`]);
  const resets_at = readNumber(headers[`x-codex-${which}-reset-at`]);
  // Accounts without this window get zeros.
  if (used === 0 && !window_minutes && resets_at === null) return null;
  return { used_percent: used, window_minutes, resets_at };
}

function readCredits(headers: ResponseHeaders): RateLimits["credits"] {
  const has = headers["x-codex-credits-has-credits"];
  const unlimited = headers["x-codex-credits-unlimited"];
  if (has === undefined || unlimited === undefined) return null;
  const balance = headers["x-codex-credits-balance"];
  return {
    has_credits: isTrue(has),
    unlimited: isTrue(unlimited),
    balance: typeof balance === "string" && balance !== "" ? balance : null,
  };
}

export function readNumber(value: string | string[] | undefined): number | null {
  if (typeof value !== "string" || value.trim() === "") return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

function isTrue(value: string | string[]): boolean {
  return typeof value === "string" && /^(true|1)$/i.test(value);
}

/** The limit of providers whose limits are remembered. */
const MOST_PROVIDERS = 32;

/** The account limits that providers reported with their last responses, whichever thread made the request. */
export class ReportedLimits {
  readonly #byProvider = new Map<string, AccountLimits>();

  record({ id, baseUrl }: ModelProvider, headers: ResponseHeaders, now = Date.now()): void {
    const limits = limitsIn(headers, now);
    if (!limits) return;
    const key = `${id} ${baseUrl}`;
    if (this.#byProvider.size >= MOST_PROVIDERS && !this.#byProvider.has(key)) this.#byProvider.clear();
    // A response about one limit does not reset the others.
    this.#byProvider.set(key, { ...this.#byProvider.get(key), ...limits });
  }

  of({ id, baseUrl }: ModelProvider): AccountLimits | undefined {
    return this.#byProvider.get(`${id} ${baseUrl}`);
  }
}

function limitsIn(headers: ResponseHeaders, now: number): AccountLimits | undefined {
  const windows = readRateLimits(headers);
  const requests = keyLimit(headers, "requests", now);
  const tokens = keyLimit(headers, "tokens", now);
  if (!windows && !requests && !tokens) return undefined;
  return { ...(windows && { windows }), ...(requests && { requests }), ...(tokens && { tokens }), at: now };
}

/** The headers of OpenAI's API, which other providers copied: `x-ratelimit-limit-requests`, `-remaining-requests`, `-reset-requests`. */
function keyLimit(headers: ResponseHeaders, of: "requests" | "tokens", now: number): KeyLimit | undefined {
  const limit = readNumber(headers[`x-ratelimit-limit-${of}`]);
  const remaining = readNumber(headers[`x-ratelimit-remaining-${of}`]);
  if (limit === null || remaining === null) return undefined;
  const resetMs = durationMs(headers[`x-ratelimit-reset-${of}`]);
  return { limit, remaining, resetsAt: resetMs === undefined ? null : Math.ceil((now + resetMs) / 1000) };
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `6m0s`, `120ms`, `1h2m3.5s`; undefined for anything else. */
export function durationMs(text: ResponseHeaders[string]): number | undefined {
  if (typeof text !== "string" || !/^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)];
  return parts.reduce((sum, [, amount, unit = ""]) => sum + Number(amount) * (UNITS[unit] ?? 0), 0);
}
