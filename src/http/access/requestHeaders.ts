import type { IncomingMessage } from "node:http";

/** Whether a header occurs more than once. Node keeps one of them, and a proxy may have checked another. */
export function isRepeated({ rawHeaders }: IncomingMessage, name: string): boolean {
  let seen = false;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const header = rawHeaders[at] ?? "";
    if (header.length !== name.length || header.toLowerCase() !== name) continue;
    if (seen) return true;
    seen = true;
  }
  return false;
}

/** The path of the request target, as written. */
export function requestPath({ url = "" }: IncomingMessage): string {
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}

/** The credential of a request. */
export type Credential =
  | { readonly kind: "none" }
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "unusable"; readonly complaint: string };

/** The characters of a bearer token (RFC 6750), so that every token can be sent in a header. */
export const TOKEN_FORM = /^[A-Za-z0-9._~+/-]+=*$/;
export const WHERE_TOKENS_BELONG = 'Send the token as "Authorization: Bearer TOKEN".';

const BEARER = /^bearer +(\S+)$/i;
const QUERY_NAMES = new Set(["access_token", "token"]);

export function credentialOf(request: IncomingMessage): Credential {
  const { authorization } = request.headers;
  if (authorization === undefined) return { kind: "none" };
  if (isRepeated(request, "authorization")) return { kind: "unusable", complaint: "There is more than one Authorization header." };
  const [, token] = BEARER.exec(authorization) ?? [];
  if (token === undefined || !TOKEN_FORM.test(token))
    return { kind: "unusable", complaint: "The Authorization header has no bearer token." };
  return { kind: "token", token };
}

/** URLs end up in logs and histories, so a token in a URL is compromised, whether or not one is needed. */
export function hasTokenInQuery({ url = "" }: IncomingMessage): boolean {
  const query = url.indexOf("?");
  if (query < 0) return false;
  return [...new URLSearchParams(url.slice(query + 1)).keys()].some((name) => QUERY_NAMES.has(name.toLowerCase()));
}
