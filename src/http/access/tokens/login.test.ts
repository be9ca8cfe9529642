import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { bearer, startGated } from "../../../../test/support/http/gatedServer.js";

const TOKEN = "an-example-token-of-some-length";
const WRONG = "another-token-of-the-same-length";

describe("a server that needs a token", () => {
  it("accepts it, however the scheme is written", async () => {
    await using server = await startGated({ tokens: [TOKEN] });
    const visitor = { principal: expect.stringMatching(/^token-/), scopes: ["call", "read"] };
    for (const value of [`Bearer ${TOKEN}`, `bearer ${TOKEN}`, `BEARER   ${TOKEN}`])
      expect((await server.ask({ headers: [["authorization", value]] })).body).toEqual(visitor);
  });

  it("uses the names in the token file as principals", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "login-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const tokenFile = path.join(folder, "tokens");
    writeFileSync(tokenFile, `alice ${TOKEN} operator\n`, { mode: 0o600 });
    await using server = await startGated({ tokenFile });
    expect((await server.ask(bearer(TOKEN))).body).toEqual({ principal: "alice", scopes: ["call", "read", "manage", "operator"] });
  });

  it("answers a request without one with what to send", async () => {
    await using server = await startGated({ tokens: [TOKEN] });
    const { status, headers, body } = await server.ask();
    expect([status, headers["www-authenticate"], body]).toEqual([
      401,
      'Bearer realm="codex-mcpd"',
      { error: "invalid_token", error_description: 'A token is needed. Send the token as "Authorization: Bearer TOKEN".' },
    ]);
  });

  it("refuses a wrong one as wrong", async () => {
    await using server = await startGated({ tokens: [TOKEN] });
    const { status, headers, body } = await server.ask(bearer(WRONG));
    expect([status, headers["www-authenticate"], body]).toEqual([
      401,
      'Bearer realm="codex-mcpd", error="invalid_token", error_description="The token is not known here."',
      { error: "invalid_token", error_description: "The token is not known here." },
    ]);
  });

  it.each(["Basic YWxpY2U6c2VjcmV0", "Bearer", "Bearer ", TOKEN, `Bearer ${TOKEN} ${TOKEN}`, `Bearer "${TOKEN}"`, `Bearer ${TOKEN},`])(
    "%j is not a bearer token",
    async (value) => {
      await using server = await startGated({ tokens: [TOKEN] });
      const { status, body } = await server.ask({ headers: [["authorization", value]] });
      expect([status, body]).toEqual([
        401,
        {
          error: "invalid_token",
          error_description: 'The Authorization header has no bearer token. Send the token as "Authorization: Bearer TOKEN".',
        },
      ]);
    },
  );

  it("accepts neither of two Authorization headers", async () => {
    await using server = await startGated({ tokens: [TOKEN] });
    const [right] = bearer(TOKEN).headers ?? [];
    const [wrong] = bearer(WRONG).headers ?? [];
    if (!right || !wrong) throw new Error("no headers");
    expect((await server.ask({ headers: [right, wrong] })).status).toBe(401);
  });

  it("answers clients that look for an issuer that there is none", async () => {
    await using server = await startGated({ tokens: [TOKEN] });
    expect((await server.ask({ path: "/.well-known/oauth-protected-resource" })).status).toBe(404);
  });
});

it.each(["/mcp?access_token=", "/mcp?a=b&Token=", "/healthz?%74oken="])(
  "refuses a token in the URL %s without repeating it",
  async (url) => {
    await using server = await startGated({ openPaths: ["/healthz"] });
    const { status, body } = await server.ask({ path: `${url}${TOKEN}` });
    expect([status, body]).toEqual([
      400,
      {
        error: "invalid_request",
        error_description: 'A token in the URL ends up in logs and histories. Send the token as "Authorization: Bearer TOKEN".',
      },
    ]);
  },
);

it("a server without tokens ignores a token", async () => {
  await using server = await startGated();
  expect((await server.ask(bearer(TOKEN))).body).toEqual({ principal: "local", scopes: ["call", "read", "manage"] });
});

// On other systems a machine has only one loopback address.
describe.skipIf(process.platform !== "linux")("after ten wrong tokens", () => {
  it("further ones from that address are refused, and the correct one is accepted from everywhere", async () => {
    await using server = await startGated({ tokens: [TOKEN] });
    for (let guess = 0; guess < 10; guess++) expect((await server.ask(bearer(WRONG))).status).toBe(401);
    const { status, headers, body } = await server.ask(bearer(WRONG));
    expect([status, body]).toEqual([
      429,
      { error: "too_many_requests", error_description: "Too many wrong tokens came from this address." },
    ]);
    expect(Number(headers["retry-after"])).toBeGreaterThan(0);
    expect((await server.ask(bearer(TOKEN))).status).toBe(200);
    expect((await server.ask({ ...bearer(WRONG), from: "127.0.0.2" })).status).toBe(401);
    expect(server.reports).toEqual(["too many wrong tokens from 127.0.0.1; further ones from there are refused for a minute"]);
  });

  it("requests without a token still get the challenge", async () => {
    await using server = await startGated({ tokens: [TOKEN] });
    await Promise.all(Array.from({ length: 10 }, () => server.ask(bearer(WRONG))));
    expect((await server.ask()).status).toBe(401);
  });

  it("clients are distinguished by the headers of a trusted proxy, and of no other", async () => {
    await using server = await startGated({ tokens: [TOKEN], trustedProxies: ["127.0.0.0/31"] });
    const guess = async (client: string, from: string) =>
      (await server.ask({ headers: [...(bearer(WRONG).headers ?? []), ["x-forwarded-for", client]], from })).status;
    for (let at = 0; at < 10; at++) expect(await guess("203.0.113.1", "127.0.0.1")).toBe(401);
    expect([await guess("203.0.113.1", "127.0.0.1"), await guess("203.0.113.2", "127.0.0.1")]).toEqual([429, 401]);
    for (let at = 0; at < 10; at++) expect(await guess(`203.0.113.${100 + at}`, "127.0.0.2")).toBe(401);
    expect(await guess("203.0.113.200", "127.0.0.2")).toBe(429);
  });
});

it("streams whose token was withdrawn are checked again without counting as guesses", async () => {
  await using server = await startGated({ tokens: [TOKEN] });
  const stream = { headers: { host: "localhost", authorization: `Bearer ${WRONG}` }, url: "/mcp", rawHeaders: [], socket: {} };
  // The parts of a request that access control reads.
  for (let at = 0; at < 20; at++) expect(await server.access.readmit(stream as never)).toMatchObject({ answer: { status: 401 } });
  expect((await server.ask(bearer(WRONG))).status).toBe(401);
  expect(server.reports).toEqual([]);
});
