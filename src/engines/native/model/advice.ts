import { errorCode } from "../../../lib/errors.js";
import { isFields } from "../../../lib/fields.js";
import { oneLine } from "../../../lib/oneLine.js";
import { visible } from "../../../lib/visibleText.js";
import type { ModelProvider } from "../../../threads/settings.js";
import type { RateLimits, RateLimitWindow } from "../../../threads/usage.js";
import type { ModelFailure } from "./client.js";
import { type CredentialSources, findCredential } from "./provider.js";

/** Adds to a failure about a key where that key comes from and how to get a valid one. */
export function aboutKey(failure: ModelFailure, provider: ModelProvider, sources: CredentialSources): ModelFailure {
  return failure.withAdvice(adviceAboutKey(provider, sources));
}

/** Where a refused key comes from, and how to get a valid one. */
export function adviceAboutKey(provider: ModelProvider, sources: CredentialSources): string {
  const used = findCredential(provider, sources);
  if (!used)
    return `Provider \`${provider.id}\` requires a key: name the environment variable that contains it with env_key in [model_providers.${provider.id}] of config.toml.`;
  const remedy = provider.requiresOpenaiAuth
    ? "Replace it there (a new key: https://platform.openai.com/api-keys), then start this server again; or run `codex login` and use --engine codex."
    : "Replace it there, then start this server again.";
  return `Provider \`${provider.id}\` refused the key from ${used.source}. ${remedy}`;
}

/** Why the provider could not be reached. `proxy`: the one in the environment that the request went through; empty for none. */
export function adviceOnConnection(error: unknown, url: URL, proxy: string): string {
  const code = errorCode(error);
  if (proxy === "") return connectionProblem(code, url);
  const through = "The request went through the proxy that this server's environment names: check that too.";
  return (URL.canParse(proxy) ? proxyProblem(code, new URL(proxy), url) : undefined) ?? `${connectionProblem(code, url)} ${through}`;
}

/** Only the proxy is resolved and connected to from here: the provider is its business. */
function proxyProblem(code: string | undefined, { host, hostname }: URL, url: URL): string | undefined {
  const remedy = `correct it there, or list ${url.hostname} in no_proxy.`;
  if (code === "ECONNREFUSED")
    return `Nothing accepts connections at ${host}, the proxy that this server's environment names: start it, ${remedy}`;
  if (isUnresolved(code))
    return `The name ${hostname} of the proxy in this server's environment could not be resolved (${code}): ${remedy}`;
  return undefined;
}

function isUnresolved(code: string | undefined): boolean {
  return code === "ENOTFOUND" || code === "EAI_AGAIN";
}

function connectionProblem(code: string | undefined, { host, hostname, protocol }: URL): string {
  if (code === "ECONNREFUSED") return `Nothing accepts connections at ${host}: start the provider, or correct its base_url in config.toml.`;
  if (isUnresolved(code))
    return `The name ${hostname} could not be resolved (${code}): check this machine's network, and the provider's base_url in config.toml.`;
  if (code === "EPROTO" || code?.startsWith("ERR_SSL_") || code?.startsWith("HPE_"))
    return `What answers at ${host} does not speak ${protocol === "https:" ? "HTTPS" : "HTTP"} (${code}): correct the provider's base_url in config.toml.`;
  if (code !== undefined && CERTIFICATE_PROBLEM.test(code))
    return `The certificate of ${host} was not accepted (${code}). NODE_EXTRA_CA_CERTS in this server's environment names a file of further ones to trust.`;
  return `The connection to ${host} failed${code === undefined ? "" : ` (${code})`}. Try again; if it goes on, check this machine's network.`;
}

const CERTIFICATE_PROBLEM = /CERT|SIGNATURE|ERR_TLS_/;

/** For a refusal that is not about the request's content: the address is not that of a Responses API. */
export function adviceOnAddress(status: number, location: unknown, url: string): string | undefined {
  // 404 is also the answer about an item of an earlier response that the provider has not kept.
  if (status === 404) return `Perhaps there is no Responses API at this address. ${CHECK_ADDRESS}`;
  if (status === 405) return `There is no Responses API at this address. ${CHECK_ADDRESS}`;
  if (status === 407) return "A proxy wants a login: write it into the proxy's address in this server's environment.";
  if (status < 300 || status >= 400) return undefined;
  const target = typeof location === "string" && URL.canParse(location, url) ? ` to ${new URL(location, url).origin}` : "";
  return `The provider redirects${target}; a redirect is not followed, because the key would go with it. ${CHECK_ADDRESS}`;
}

/** For an answer without a single event of the Responses API. */
export function adviceOnForeignAnswer(contentType: string | undefined): string {
  return `No event of the Responses API came (content type: ${visible(oneLine(contentType ?? "none", 80))}). ${CHECK_ADDRESS}`;
}

const CHECK_ADDRESS =
  "Check that base_url in config.toml leads to a provider that offers the Responses API (it often ends in /v1), and that no proxy or login page answers in its place.";

/** A provider's own explanation, where Codex's message has none. Pages for browsers explain nothing. */
export function adviceInItsWords(body: string): string | undefined {
  const words = explanationIn(body);
  return words === undefined || words.trim() === "" ? undefined : `The provider says: ${visible(oneLine(words, LONGEST_EXPLANATION))}`;
}

const LONGEST_EXPLANATION = 300;

function explanationIn(body: string): string | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return /^\s*</.test(body) ? undefined : body;
  }
  const error = isFields(parsed) ? (parsed["error"] ?? parsed) : parsed;
  const words = isFields(error) ? (error["message"] ?? error["detail"]) : error;
  return typeof words === "string" ? words : undefined;
}

/** When an exhausted limit resets; empty if unknown. */
export function resetAdvice(resetsAt: number | undefined, now = Date.now()): { readonly advice?: string } {
  if (resetsAt === undefined || !Number.isFinite(resetsAt)) return {};
  const at = new Date(resetsAt * 1000);
  const ms = at.getTime() - now;
  if (Number.isNaN(at.getTime()) || ms <= 0) return {};
  return { advice: `The limit resets at ${at.toISOString().replace(/\.\d+Z$/, "Z")} (in ${inWords(ms)}).` };
}

/** The latest reset of the exhausted windows. */
export function resetOf(limits: RateLimits | undefined): number | undefined {
  const windows = [limits?.primary, limits?.secondary].filter((window): window is RateLimitWindow => (window?.resets_at ?? null) !== null);
  const full = windows.filter(({ used_percent }) => used_percent >= 100);
  const resets = (full.length > 0 ? full : windows.slice(0, 1)).map(({ resets_at }) => resets_at ?? 0);
  return resets.length === 0 ? undefined : Math.max(...resets);
}

const MINUTE = 60_000;

function inWords(ms: number): string {
  const minutes = Math.ceil(ms / MINUTE);
  if (minutes <= 1) return `${Math.ceil(ms / 1000)} s`;
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}
