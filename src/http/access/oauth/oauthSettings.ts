import { AccessMisconfigured } from "../errors.js";
import { hostOfAuthority, isLoopbackName } from "../host/hostName.js";

/** An authorization server whose access tokens this server takes. */
export interface OAuthSettings {
  /** As it stands in the tokens' `iss`. */
  readonly issuer: string;
  /** A token must be meant for one of these (`aud`). */
  readonly audiences: readonly string[];
  /** URL or file of the issuer's keys; without it they are found by the issuer's metadata. */
  readonly jwks?: string;
  readonly requiredScopes: readonly string[];
  /** Who has this scope may log in and see the settings. */
  readonly manageScope?: string;
  /** Who has this scope may do everything, and see what belongs to others. */
  readonly operatorScope?: string;
  /** The URL clients know this server by, where something stands in front of it; otherwise it is taken from each request. */
  readonly resource?: string;
}

/** Throws unless the settings can be worked with. */
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

/** The file that holds the issuer's keys, if they are in one. */
export function keyFileOf({ jwks }: OAuthSettings): string | undefined {
  return jwks === undefined || isUrl(jwks) ? undefined : jwks;
}

function isUrl(text: string): boolean {
  return /^https?:\/\//i.test(text);
}

/** Keys that travel in the open could be anybody's. */
export function isTrustworthy(url: URL): boolean {
  const host = hostOfAuthority(url.host);
  return url.protocol === "https:" || (url.protocol === "http:" && host !== undefined && isLoopbackName(host));
}

function checkUrl(text: string, flag: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !isTrustworthy(url) || url.username !== "" || url.password !== "" || url.hash !== "")
    throw new AccessMisconfigured(`${flag}: expected an https URL (or http on this machine) without a user, a password or a fragment`);
}
