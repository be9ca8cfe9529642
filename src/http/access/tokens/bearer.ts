import type { IncomingMessage } from "node:http";
import { isRepeated } from "../requestHeaders.js";

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
