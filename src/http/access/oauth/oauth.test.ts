import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { createServer, get } from "node:https";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { bearer, startGated } from "../../../../test/support/http/gatedServer.js";
import { startIssuer } from "../../../../test/support/http/oauthIssuer.js";
import { selfSigned } from "../../../../test/support/http/selfSigned.js";
import { SCOPE_WORDS } from "../../../server/network.js";
import { openAccessControl } from "../../accessControl.js";
import type { OAuthSettings } from "./oauthSettings.js";

const TOKEN = "an-example-token-of-some-length";

function settings(issuer: string, more: Partial<OAuthSettings> = {}): OAuthSettings {
  return { issuer, audiences: ["codex"], requiredScopes: ["codex"], ...more };
}

describe("a server with an issuer", () => {
  it("accepts tokens of the issuer and of the operator", async () => {
    await using issuer = await startIssuer();
    await using server = await startGated({ oauth: settings(issuer.url), tokens: [TOKEN] });
    const token = await issuer.token({ scope: "codex" });
    const alice = { principal: `${issuer.url}#alice`, scopes: ["call", "read"] };
    expect((await server.ask(bearer(token))).body).toEqual(alice);
    expect((await server.ask(bearer(token))).body).toEqual(alice);
    expect((await server.ask(bearer(TOKEN))).body).toEqual({ principal: expect.stringMatching(/^token-/), scopes: ["call", "read"] });
  });

  it("names the address of its metadata to all other callers", async () => {
    await using issuer = await startIssuer();
    await using server = await startGated({ oauth: settings(issuer.url) });
    const metadata = `resource_metadata="http://127.0.0.1:${server.port}/.well-known/oauth-protected-resource`;
    const challenge = async (question: Parameters<typeof server.ask>[0]) => {
      const { status, headers } = await server.ask(question);
      return [status, headers["www-authenticate"]];
    };
    expect(await challenge({})).toEqual([401, `Bearer realm="codex-mcpd", ${metadata}/mcp"`]);
    expect(await challenge({ path: "/" })).toEqual([401, `Bearer realm="codex-mcpd", ${metadata}"`]);
    expect(await challenge(bearer("a.b.c"))).toEqual([
      401,
      `Bearer realm="codex-mcpd", error="invalid_token", error_description="The token is not known here.", ${metadata}/mcp"`,
    ]);
    expect(await challenge(bearer(await issuer.token()))).toEqual([
      403,
      `Bearer realm="codex-mcpd", error="insufficient_scope", error_description="The token lacks a scope.", scope="codex", ${metadata}/mcp"`,
    ]);
  });

  it("says so when it cannot ask the issuer", async () => {
    await using issuer = await startIssuer();
    issuer.goAway();
    await using server = await startGated({ oauth: settings(issuer.url) });
    const { status, headers, body } = await server.ask(bearer(await issuer.token()));
    expect([status, headers["retry-after"], body]).toEqual([
      503,
      "5",
      {
        error: "temporarily_unavailable",
        error_description: expect.stringMatching(/^The token could not be checked: http.* cannot be reached: /),
      },
    ]);
  });

  it("counts forged tokens as wrong, but not expired ones", async () => {
    await using issuer = await startIssuer();
    await using server = await startGated({ oauth: settings(issuer.url) });
    const expired = await issuer.token({ exp: 1 });
    for (let at = 0; at < 11; at++) expect((await server.ask(bearer(expired))).status).toBe(401);
    for (let at = 0; at < 10; at++) expect((await server.ask(bearer("a.b.c"))).status).toBe(401);
    expect((await server.ask(bearer("a.b.c"))).status).toBe(429);
  });
});

describe("the metadata of the server", () => {
  it("needs no token, and exists for each path of MCP", async () => {
    await using issuer = await startIssuer();
    await using server = await startGated({ oauth: settings(issuer.url, { operatorScope: "codex.admin" }) });
    const shared = {
      authorization_servers: [issuer.url],
      bearer_methods_supported: ["header"],
      resource_name: "codex-mcpd",
      scopes_supported: ["codex", "codex.admin"],
    };
    const origin = `http://127.0.0.1:${server.port}`;
    const documentAt = async (path: string) => (await server.ask({ path: `/.well-known/oauth-protected-resource${path}` })).body;
    expect(await documentAt("/mcp")).toEqual({ resource: `${origin}/mcp`, ...shared });
    expect(await documentAt("")).toEqual({ resource: `${origin}/`, ...shared });
    expect((await server.ask({ path: "/.well-known/oauth-protected-resource/other" })).status).toBe(404);
    expect((await server.ask({ path: "/.well-known/openid-configuration" })).status).toBe(404);
  });

  it("is https where the server is", async () => {
    await using issuer = await startIssuer();
    await using access = await openAccessControl({
      host: "127.0.0.1",
      oauth: settings(issuer.url),
      scopes: SCOPE_WORDS,
      resourcePath: "/mcp",
      problemText: () => "",
      report: () => {},
    });
    const material = selfSigned();
    const server = createServer(material, (request, response) => {
      const admission = access.admit(request);
      response.end("answer" in admission ? admission.answer.body : "");
    });
    onTestFinished(() => void server.close());
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const path = "/.well-known/oauth-protected-resource/mcp";
    const asked = get({
      host: "127.0.0.1",
      port,
      path,
      servername: "localhost",
      headers: { host: "localhost" },
      ca: material.cert,
      agent: false,
    });
    const [response]: IncomingMessage[] = await once(asked, "response");
    if (response === undefined) throw new Error("no response");
    expect(await json(response)).toMatchObject({ resource: "https://localhost/mcp" });
  });

  it("names the URL that clients know it by", async () => {
    await using issuer = await startIssuer();
    await using server = await startGated({ oauth: settings(issuer.url, { resource: "https://codex.example/team/mcp" }) });
    const url = "https://codex.example/.well-known/oauth-protected-resource/team/mcp";
    expect((await server.ask()).headers["www-authenticate"]).toBe(`Bearer realm="codex-mcpd", resource_metadata="${url}"`);
    const { body } = await server.ask({ path: new URL(url).pathname });
    expect(body).toMatchObject({ resource: "https://codex.example/team/mcp" });
  });
});

it.each<[Partial<OAuthSettings>, string]>([
  [{ issuer: "http://issuer.example" }, "--oauth-issuer: expected an https URL"],
  [{ issuer: "https://user:secret@issuer.example" }, "--oauth-issuer: expected an https URL"],
  [{ issuer: "issuer.example" }, "--oauth-issuer: expected an https URL"],
  [{ jwks: "http://issuer.example/keys" }, "--oauth-jwks: expected an https URL"],
  [{ resource: "mcp" }, "--oauth-resource: expected an https URL"],
  [{ audiences: [] }, "--oauth-issuer needs --oauth-audience"],
  [{ requiredScopes: ["a b"] }, '"a b" cannot be an OAuth scope'],
])("%j is not accepted", async (broken, complaint) => {
  const opening = startGated({ oauth: settings("https://issuer.example", broken) });
  await expect(opening).rejects.toThrow(complaint);
  await expect(opening).rejects.not.toThrow("secret");
});
