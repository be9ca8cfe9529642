import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { startLoopback } from "./loopback.js";

/** An authorization server on this machine: metadata, keys, and tokens signed with them. */
export interface OAuthIssuer extends AsyncDisposable {
  readonly url: string;
  /** The requested paths, in order. */
  readonly asked: readonly string[];
  /** Replaces the signing key; only the new one is published. */
  rotateKeys(): Promise<void>;
  /** While it is down, every request ends without a response. */
  goAway(): void;
  comeBack(): void;
  /** A token for `alice`, valid for an hour, unless the claims say otherwise; an undefined claim is left out. */
  token(claims?: JWTPayload): Promise<string>;
  keySet(): string;
}

export async function startIssuer({ path = "" }: { readonly path?: string } = {}): Promise<OAuthIssuer> {
  const asked: string[] = [];
  let away = false;
  let generation = 0;
  let key = await makeKey(`key-${generation}`);
  const keySet = () => JSON.stringify({ keys: [key.shown] });
  const server = await startLoopback((request, response) => {
    if (away) return void request.socket.destroy();
    const asking = request.url ?? "";
    asked.push(asking);
    const documents: Readonly<Record<string, string>> = {
      [`${path}/.well-known/openid-configuration`]: JSON.stringify({ issuer: url, jwks_uri: `${server.origin}/keys` }),
      "/keys": keySet(),
    };
    const document = documents[asking];
    response.writeHead(document ? 200 : 404, { "content-type": "application/json", connection: "close" }).end(document);
  });
  const url = `${server.origin}${path}`;
  return {
    url,
    asked,
    keySet,
    async rotateKeys() {
      generation += 1;
      key = await makeKey(`key-${generation}`);
    },
    goAway: () => {
      away = true;
    },
    comeBack: () => {
      away = false;
    },
    token: async (claims = {}) => {
      const inAnHour = Math.floor(Date.now() / 1_000) + 3_600;
      const payload = { iss: url, aud: "codex", sub: "alice", exp: inAnHour, ...claims };
      return new SignJWT(payload).setProtectedHeader({ alg: "ES256", kid: key.shown.kid }).sign(key.privateKey);
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function makeKey(kid: string) {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  return { privateKey, shown: { ...(await exportJWK(publicKey)), kid, alg: "ES256", use: "sig" } };
}
