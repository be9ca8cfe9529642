import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTPayload, jwtVerify } from "jose";
import type { Fields } from "../../../lib/fields.js";
import { KeysUnavailable } from "./issuer.js";
import type { OAuthSettings } from "./oauthSettings.js";

/** The keys for checking signatures. */
export type KeySet = ReturnType<typeof createLocalJWKSet>;

export type Finding =
  | { readonly kind: "signed"; readonly claims: JWTPayload }
  | { readonly kind: "unknown" }
  | { readonly kind: "unknown-key" }
  | { readonly kind: "unfit"; readonly reason: string };

/** Symmetric algorithms are excluded: a server that can check such a signature can also create one. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"];
const CLOCK_TOLERANCE_SECONDS = 30;

export function readKeySet(document: Fields): KeySet {
  try {
    // The function validates the document itself.
    return createLocalJWKSet(document as unknown as JSONWebKeySet);
  } catch (error) {
    throw new KeysUnavailable("the issuer's key document is not a key set", { cause: error });
  }
}

/** Checks the signature of an access token, its issuer, its audience and its validity period. */
export async function verifyJwt(token: string, keys: KeySet, { issuer, audiences }: OAuthSettings): Promise<Finding> {
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience: [...audiences],
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      requiredClaims: ["exp", "sub"],
    });
    return { kind: "signed", claims: payload };
  } catch (error) {
    return findingOf(error);
  }
}

function findingOf(error: unknown): Finding {
  if (error instanceof errors.JWKSNoMatchingKey) return { kind: "unknown-key" };
  if (error instanceof errors.JWKSMultipleMatchingKeys) return unfit("The token does not say which of its issuer's keys has signed it.");
  // Claims are checked after the signature, so these tokens do come from the issuer.
  if (error instanceof errors.JWTExpired) return unfit("The token has expired.");
  if (error instanceof errors.JWTClaimValidationFailed) return unfit(COMPLAINTS[error.claim] ?? "The token lacks a claim.");
  return { kind: "unknown" };
}

const COMPLAINTS: Readonly<Record<string, string>> = {
  aud: "The token is meant for another server.",
  iss: "The token comes from another issuer.",
  nbf: "The token is not valid yet.",
  sub: "The token does not name its subject.",
  exp: "The token does not say when it expires.",
};

function unfit(reason: string): Finding {
  return { kind: "unfit", reason };
}
