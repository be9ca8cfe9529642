import { exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { KeysUnavailable } from "./issuer.js";
import { readKeySet, verifyJwt } from "./jwt.js";
import type { OAuthSettings } from "./oauthSettings.js";

const SETTINGS: OAuthSettings = { issuer: "https://issuer.example", audiences: ["codex", "other-name"], requiredScopes: [] };
const SHARED_SECRET = new Uint8Array(32).fill(7);

type Signer = Parameters<SignJWT["sign"]>[0];

function tokenOf(key: Signer, header: JWTHeaderParameters, audience = "codex"): Promise<string> {
  const claims = { iss: SETTINGS.issuer, aud: audience, sub: "alice" };
  return new SignJWT(claims).setProtectedHeader(header).setExpirationTime("1m").sign(key);
}

async function keyPair(alg: string): Promise<{ readonly privateKey: Signer; readonly jwk: JWK }> {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  return { privateKey, jwk: await exportJWK(publicKey) };
}

describe("a signed token", () => {
  it.each(["RS256", "PS512", "ES256", "ES384", "EdDSA"])("may use %s, for each audience of this server", async (alg) => {
    const { privateKey, jwk } = await keyPair(alg);
    for (const audience of SETTINGS.audiences) {
      const token = await tokenOf(privateKey, { alg }, audience);
      expect(await verifyJwt(token, readKeySet({ keys: [jwk] }), SETTINGS)).toMatchObject({ kind: "signed", claims: { sub: "alice" } });
    }
  });

  it("may not use a shared secret, even if the key set contains one", async () => {
    const secret = { kty: "oct", k: Buffer.from(SHARED_SECRET).toString("base64url"), alg: "HS256" };
    const token = await tokenOf(SHARED_SECRET, { alg: "HS256" });
    expect(await verifyJwt(token, readKeySet({ keys: [secret] }), SETTINGS)).toEqual({ kind: "unknown" });
  });

  it("may not use a public key as a shared secret", async () => {
    const { jwk } = await keyPair("RS256");
    const token = await tokenOf(Buffer.from(JSON.stringify(jwk)), { alg: "HS256" });
    expect(await verifyJwt(token, readKeySet({ keys: [jwk] }), SETTINGS)).toEqual({ kind: "unknown" });
  });

  it("must name its key if several fit", async () => {
    const [first, second] = [await keyPair("ES256"), await keyPair("ES256")];
    const keys = readKeySet({
      keys: [
        { ...first.jwk, kid: "1" },
        { ...second.jwk, kid: "2" },
      ],
    });
    expect(await verifyJwt(await tokenOf(first.privateKey, { alg: "ES256" }), keys, SETTINGS)).toEqual({
      kind: "unfit",
      reason: "The token does not say which of its issuer's keys has signed it.",
    });
    expect(await verifyJwt(await tokenOf(second.privateKey, { alg: "ES256", kid: "2" }), keys, SETTINGS)).toMatchObject({ kind: "signed" });
    expect(await verifyJwt(await tokenOf(second.privateKey, { alg: "ES256", kid: "1" }), keys, SETTINGS)).toEqual({ kind: "unknown" });
  });

  it("with an unknown key is reported as such, so that newer keys can be loaded", async () => {
    const { privateKey, jwk } = await keyPair("ES256");
    const token = await tokenOf(privateKey, { alg: "ES256", kid: "new" });
    expect(await verifyJwt(token, readKeySet({ keys: [{ ...jwk, kid: "old" }] }), SETTINGS)).toEqual({ kind: "unknown-key" });
  });
});

it.each([{}, { keys: "none" }, { keys: [1] }])("%j is no key set", (document) => {
  expect(() => readKeySet(document)).toThrow(KeysUnavailable);
});
