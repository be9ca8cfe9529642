import type { ModelProvider } from "../../../threads/settings.js";
import { ModelFailure } from "./client.js";
import { type CredentialSources, findBearerToken } from "./credentials.js";

/** An address below the provider's base URL, with its query parameters. Throws `ModelFailure` when that is no URL. */
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

/** Without what may be secret: query values and credentials. */
export function shownUrl(url: URL): string {
  return `${url.protocol}//${url.host}${url.pathname}`;
}

/** The headers a provider asks for, its credentials included. Throws `ModelFailure` when those are missing. */
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
