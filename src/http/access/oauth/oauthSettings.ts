import { AccessMisconfigured } from "../errors.js";
import { hostOfAuthority, isLoopbackName } from "../host/hostName.js";

/** An authorization server whose access tokens this server accepts. */
export interface OAuthSettings {
  /** As in the tokens' `iss`. */
  readonly issuer: string;
  /** A token's `aud` must contain one of these. */
  readonly audiences: readonly string[];
  /** URL or file of the issuer's keys. Default: found through the issuer's metadata. */
  readonly jwks?: string;
  readonly requiredScopes: readonly string[];
  /** This scope allows logging in and reading the settings. */
  readonly manageScope?: string;
  /** This scope allows everything, including access to what belongs to others. */
  readonly operatorScope?: string;
  /** The public URL of this server, if a proxy is in front of it. Default: taken from each request. */
  readonly resource?: string;
}

/** Throws if the settings are invalid. */
export function checkOAuth({ issuer, audiences, jwks, requiredScopes, manageScope, operatorScope, resource }: OAuthSettings): void {
  checkUrl(issuer, "--oauth-issuer");
  if (jwks !== undefined && isUrl(jwks)) checkUrl(jwks, "--oauth-jwks");
  if (resource !== undefined) checkUrl(resource, "--oauth-resource");
  if (audiences.length === 0 || audiences.includes(""))
    throw new AccessMisconfigured("--oauth-issuer needs --oauth-audience: a token that was meant for another server must not work here");
  for (const scope of [...requiredScopes, manageScope, operatorScope])
    if (scope !== undefined && !SCOPE_FORM.test(scope)) throw new AccessMisconfigured(`${JSON.stringify(scope)} cannot be an OAuth scope`);
}

const SCOPE_FORM = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** The file with the issuer's keys, if they are in a file. */
export function keyFileOf({ jwks }: OAuthSettings): string | undefined {
  return jwks === undefined || isUrl(jwks) ? undefined : jwks;
}

function isUrl(text: string): boolean {
  return /^https?:\/\//i.test(text);
}

/** Keys fetched without encryption could be replaced on the way. */
export function isTrustworthy(url: URL): boolean {
  const host = hostOfAuthority(url.host);
  return url.protocol === "https:" || (url.protocol === "http:" && host !== undefined && isLoopbackName(host));
}

function checkUrl(text: string, flag: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !isTrustworthy(url) || url.username !== "" || url.password !== "" || url.hash !== "")
    throw new AccessMisconfigured(`${flag}: expected an https URL (or http on this machine) without a user, a password or a fragment`);
}
