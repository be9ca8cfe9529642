import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { UnsecuredJWT } from "jose";
import { describe, expect, it, onTestFinished } from "vitest";
import { type OAuthIssuer, startIssuer } from "../../../../test/support/http/oauthIssuer.js";
import { SCOPE_WORDS } from "../../../server/network.js";
import { type AccessTokens, openAccessTokens } from "./accessTokens.js";
import type { OAuthSettings } from "./oauthSettings.js";

interface Stage {
  readonly issuer: OAuthIssuer;
  readonly tokens: AccessTokens;
  readonly clock: { now: number };
  readonly reports: string[];
}

async function stage(settings: Partial<OAuthSettings> = {}, options: { readonly path?: string } = {}): Promise<Stage> {
  const issuer = await startIssuer(options);
  const clock = { now: 0 };
  const reports: string[] = [];
  const tokens = await openAccessTokens(
    { issuer: issuer.url, audiences: ["codex"], requiredScopes: [], ...settings },
    { scopes: SCOPE_WORDS, report: (line) => reports.push(line), now: () => clock.now },
  );
  onTestFinished(async () => {
    await tokens.close();
    await issuer[Symbol.asyncDispose]();
  });
  return { issuer, tokens, clock, reports };
}

const nowInSeconds = () => Math.floor(Date.now() / 1_000);

describe("a token of the issuer", () => {
  it("identifies its subject, and is cached", async () => {
    const { issuer, tokens, clock } = await stage();
    const token = await issuer.token();
    const alice = { principal: `${issuer.url}#alice`, scopes: ["call", "read"] };
    expect(tokens.recall(token)).toBeUndefined();
    expect(await tokens.check(token)).toEqual({ kind: "valid", identity: alice });
    expect(tokens.recall(token)).toEqual(alice);
    clock.now = 60_000;
    expect(tokens.recall(token)).toBeUndefined();
  });

  it("is not cached for longer than it is valid", async () => {
    const { issuer, tokens, clock } = await stage();
    const token = await issuer.token({ exp: nowInSeconds() + 20 });
    await tokens.check(token);
    clock.now = 20_000;
    expect(tokens.recall(token)).toBeUndefined();
  });

  it.each([
    [{ scope: "codex codex.admin" }, ["call", "read", "manage", "operator"]],
    [{ scp: ["codex", "codex.admin"] }, ["call", "read", "manage", "operator"]],
    [{ scope: "codex codex.manage" }, ["call", "read", "manage"]],
    [{ scope: "codex codex.administrator manage operator" }, ["call", "read"]],
  ])("with %j has the scopes %j", async (claims, scopes) => {
    const { issuer, tokens } = await stage({ requiredScopes: ["codex"], manageScope: "codex.manage", operatorScope: "codex.admin" });
    expect(await tokens.check(await issuer.token(claims))).toMatchObject({ kind: "valid", identity: { scopes } });
  });

  it("needs every required scope", async () => {
    const { issuer, tokens } = await stage({ requiredScopes: ["codex", "agents"] });
    expect(await tokens.check(await issuer.token({ scope: "codex openid" }))).toEqual({
      kind: "insufficient-scope",
      needed: ["codex", "agents"],
    });
  });

  it.each([
    [{ exp: nowInSeconds() - 60 }, "The token has expired."],
    [{ exp: undefined }, "The token does not say when it expires."],
    [{ nbf: nowInSeconds() + 600 }, "The token is not valid yet."],
    [{ aud: "another" }, "The token is meant for another server."],
    [{ aud: undefined }, "The token is meant for another server."],
    [{ iss: "https://another.example" }, "The token comes from another issuer."],
    [{ sub: undefined }, "The token does not name its subject."],
    [{ sub: "" }, "The token does not name its subject."],
    [{ sub: "a\nb" }, "The token does not name its subject."],
  ])("with %j is not valid here and now", async (claims, reason) => {
    const { issuer, tokens } = await stage();
    expect(await tokens.check(await issuer.token(claims))).toEqual({ kind: "unfit", reason });
  });

  it("may be slightly expired, because clocks differ", async () => {
    const { issuer, tokens } = await stage();
    const token = await issuer.token({ exp: nowInSeconds() - 5 });
    expect((await tokens.check(token)).kind).toBe("valid");
    expect(tokens.recall(token)).toBeUndefined();
  });
});

describe("a token without the issuer's signature is unknown", () => {
  it.each(["opaque-token-of-no-issuer", "a.b.c", "..", "e30.e30."])("%s", async (token) => {
    const { tokens } = await stage();
    expect(await tokens.check(token)).toEqual({ kind: "unknown" });
  });

  it("a token with another signature, or none", async () => {
    const { issuer, tokens } = await stage();
    const [header, payload] = (await issuer.token()).split(".");
    const unsigned = new UnsecuredJWT({ iss: issuer.url, aud: "codex", sub: "alice", exp: nowInSeconds() + 60 }).encode();
    expect(await tokens.check(`${header}.${payload}.${Buffer.alloc(64, 1).toString("base64url")}`)).toEqual({ kind: "unknown" });
    expect(await tokens.check(unsigned)).toEqual({ kind: "unknown" });
  });

  it("a token of another issuer that calls itself this one", async () => {
    const { issuer, tokens } = await stage();
    await using impostor = await startIssuer();
    expect(await tokens.check(await impostor.token({ iss: issuer.url }))).toEqual({ kind: "unknown" });
  });
});

describe("the issuer's keys", () => {
  it("are found by its metadata, even for an issuer with a path", async () => {
    const { issuer, tokens } = await stage({}, { path: "/realms/team" });
    expect((await tokens.check(await issuer.token())).kind).toBe("valid");
    expect(issuer.asked).toEqual([
      "/.well-known/oauth-authorization-server/realms/team",
      "/.well-known/openid-configuration/realms/team",
      "/realms/team/.well-known/openid-configuration",
      "/keys",
    ]);
  });

  it("may change: a token with a new key causes a new request", async () => {
    const { issuer, tokens, clock } = await stage();
    await tokens.check(await issuer.token());
    await issuer.rotateKeys();
    const token = await issuer.token();
    expect(await tokens.check(token)).toEqual({
      kind: "unfit",
      reason: "The token is signed with a key that its issuer does not publish.",
    });
    clock.now = 30_000;
    expect((await tokens.check(token)).kind).toBe("valid");
  });

  it("keep working while the issuer is unreachable", async () => {
    const { issuer, tokens, clock } = await stage();
    await tokens.check(await issuer.token());
    issuer.goAway();
    clock.now = 3_600_000;
    expect((await tokens.check(await issuer.token({ sub: "bob" }))).kind).toBe("valid");
  });

  it("that are unavailable leave the token unchecked until the issuer is back", async () => {
    const issuer = await startIssuer();
    issuer.goAway();
    const clock = { now: 0 };
    await using _ = issuer;
    const tokens = await openAccessTokens(
      { issuer: issuer.url, audiences: ["codex"], requiredScopes: [] },
      { scopes: SCOPE_WORDS, report: () => {}, now: () => clock.now },
    );
    const verdict = await tokens.check(await issuer.token());
    expect(verdict).toEqual({
      kind: "unchecked",
      reason: expect.stringContaining(`${issuer.url}/.well-known/oauth-authorization-server cannot be reached: `),
    });
    issuer.comeBack();
    clock.now = 5_000;
    expect((await tokens.check(await issuer.token())).kind).toBe("valid");
    await tokens.close();
  });

  it("may be in a file, which must be there at the start", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "keys-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    await using issuer = await startIssuer();
    const jwks = path.join(folder, "jwks.json");
    const settings = { issuer: issuer.url, audiences: ["codex"], requiredScopes: [], jwks };
    const open = () => openAccessTokens(settings, { scopes: SCOPE_WORDS, report: () => {} });
    await expect(open()).rejects.toThrow(`the keys in ${jwks} cannot be read: ENOENT`);
    writeFileSync(jwks, "{}");
    await expect(open()).rejects.toThrow("the issuer's key document is not a key set");
    writeFileSync(jwks, issuer.keySet());
    const tokens = await open();
    expect((await tokens.check(await issuer.token())).kind).toBe("valid");
    expect(issuer.asked).toEqual([]);
    await tokens.close();
  });
});
