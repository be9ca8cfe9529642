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
