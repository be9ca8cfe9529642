import type { IncomingMessage } from "node:http";

/** Whether a header came more than once. Node keeps one of them, and something in front of this server may have looked at another. */
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

/** The path of the request's target, as it was written. */
export function requestPath({ url = "" }: IncomingMessage): string {
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}

/** What a request shows of who sent it. */
export type Credential =
  | { readonly kind: "none" }
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "unusable"; readonly complaint: string };

/** The characters a bearer token may have (RFC 6750), so that any token can be sent as a header. */
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

/** URLs end up in logs and histories, so a token there is spoilt, whether or not one is needed. */
export function hasTokenInQuery({ url = "" }: IncomingMessage): boolean {
  const query = url.indexOf("?");
  if (query < 0) return false;
  return [...new URLSearchParams(url.slice(query + 1)).keys()].some((name) => QUERY_NAMES.has(name.toLowerCase()));
}
