import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { startGated } from "../../test/support/http/gatedServer.js";

const LOCAL = { principal: "local", scopes: ["call", "read", "manage"] };

function refusal(message: string) {
  return { jsonrpc: "2.0", id: null, error: { code: -32_000, message } };
}

describe("on a server that only this machine can reach", () => {
  it("its user needs no token", async () => {
    await using server = await startGated();
    const { status, body } = await server.ask();
    expect({ status, body }).toEqual({ status: 200, body: LOCAL });
  });

  it.each(["localhost", "LOCALHOST:1", "localhost.", "127.0.0.1:4096", "[::1]:4096", "[0:0::1]"])("Host %s is answered", async (host) => {
    await using server = await startGated();
    expect((await server.ask({ headers: [["Host", host]] })).body).toEqual(LOCAL);
  });

  it.each([
    "evil.example",
    "evil.localhost",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "127.0.0.2",
    "0.0.0.0",
    "192.168.1.5",
    "2130706433",
    "0x7f.1",
    "[::ffff:127.0.0.1]",
  ])("Host %s is refused", async (host) => {
    await using server = await startGated();
    const { status, body } = await server.ask({ headers: [["host", `${host}:4096`]] });
    expect(status).toBe(403);
    expect(body).toMatchObject({
      error: { code: -32_000, message: expect.stringMatching(/^This server does not accept requests for the host/) },
    });
  });

  it("a Host that is malformed or doubled is refused", async () => {
    await using server = await startGated();
    const malformed = await server.ask({ headers: [["host", "user@localhost"]] });
    const doubled = await server.ask({
      headers: [
        ["host", "localhost"],
        ["HOST", "evil.example"],
      ],
    });
    expect([malformed.status, malformed.body]).toEqual([403, refusal("The Host header is not a host with an optional port.")]);
    expect([doubled.status, doubled.body]).toEqual([403, refusal("The request has more than one Host header.")]);
  });

  it("a request of HTTP/1.0, which may have no Host, is refused", async () => {
    await using server = await startGated();
    const socket = connect(server.port, "127.0.0.1");
    socket.write("GET /mcp HTTP/1.0\r\n\r\n");
    const answer = await text(socket);
    expect(answer.split("\r\n")[0]).toBe("HTTP/1.1 403 Forbidden");
    expect(answer).toContain("The request has no Host header.");
  });

  it("a request target with a host of its own is refused", async () => {
    await using server = await startGated();
    const { status, body } = await server.ask({ path: "http://evil.example/mcp" });
    expect([status, body]).toEqual([400, refusal("The target of a request is a path.")]);
  });

  it.each(["http://localhost:3000", "https://127.0.0.1", "HTTP://[::1]:9"])("a page of %s may ask", async (origin) => {
    await using server = await startGated();
    const { body, headers } = await server.ask({ headers: [["origin", origin]] });
    expect(body).toEqual(LOCAL);
    expect(headers).not.toHaveProperty("access-control-allow-origin");
  });

  it.each([
    "null",
    "",
    "https://evil.example",
    "http://localhost.evil.example",
    "http://localhost@evil.example",
    "http://evil.example:80#localhost",
    "http://localhost/",
    "file://localhost",
    "localhost",
  ])("a page of %j may not", async (origin) => {
    await using server = await startGated();
    const { status, body } = await server.ask({ headers: [["origin", origin]] });
    expect([status, body]).toEqual([403, refusal("This server does not accept requests from this origin. --cors-origin adds one.")]);
  });

  it("two origins are none", async () => {
    await using server = await startGated();
    const origins = [
      ["origin", "http://localhost"],
      ["origin", "https://evil.example"],
    ] as const;
    expect((await server.ask({ headers: origins })).status).toBe(403);
  });

  it("an image of another site is refused although it has no origin; a link to this server is not", async () => {
    await using server = await startGated();
    const crossSite = (destination: string) =>
      server.ask({
        headers: [
          ["sec-fetch-site", "cross-site"],
          ["sec-fetch-dest", destination],
        ],
      });
    expect((await crossSite("image")).status).toBe(403);
    expect((await crossSite("document")).status).toBe(200);
  });

  it("requests to names that the operator adds are answered, to names that end in them not", async () => {
    await using server = await startGated({ allowedHosts: ["Codex.Example", "fd00::1"] });
    const asked = ["codex.example:80", "[FD00:0::1]", "evil.codex.example", "evilcodex.example"];
    const statuses = await Promise.all(asked.map(async (host) => (await server.ask({ headers: [["host", host]] })).status));
    expect(statuses).toEqual([200, 200, 403, 403]);
    expect(server.reports).toEqual([
      "requests for Codex.Example, fd00::1 need no token unless a forwarding header marks them: a proxy that adds no such header admits everyone",
    ]);
  });
});

describe("on a server that others can reach", () => {
  const TOKEN = "an-example-token-of-some-length";

  it("only the host it was given is answered", async () => {
    await using server = await startGated({ host: "192.168.1.5", tokens: [TOKEN], allowedHosts: ["codex.example"] });
    const statusFor = async (host: string) =>
      (
        await server.ask({
          headers: [
            ["host", host],
            ["authorization", `Bearer ${TOKEN}`],
          ],
        })
      ).status;
    expect(await Promise.all(["192.168.1.5:80", "codex.example", "localhost", "192.168.1.6"].map(statusFor))).toEqual([200, 200, 403, 403]);
  });

  it("on every address, any address is answered and no name but localhost", async () => {
    await using server = await startGated({ host: "0.0.0.0", tokens: [TOKEN] });
    const statusFor = async (host: string) =>
      (
        await server.ask({
          headers: [
            ["host", host],
            ["authorization", `Bearer ${TOKEN}`],
          ],
        })
      ).status;
    expect(await Promise.all(["10.0.0.7:80", "[2001:db8::1]", "localhost", "evil.example"].map(statusFor))).toEqual([200, 200, 200, 403]);
  });

  it("pages of the visitor's machine are foreign", async () => {
    await using server = await startGated({ host: "0.0.0.0", tokens: [TOKEN] });
    expect((await server.ask({ headers: [["origin", "http://localhost:3000"]] })).status).toBe(403);
  });

  it("without a token it does not start, whatever its options are", async () => {
    for (const allowUnauthenticated of [false, true])
      await expect(startGated({ host: "0.0.0.0", allowUnauthenticated })).rejects.toMatchObject({ code: "unguarded_exposure" });
  });
});

it.each(["*", "https://codex.example", "codex.example:80", "a b"])("%j cannot be a host to allow", async (host) => {
  await expect(startGated({ allowedHosts: [host] })).rejects.toMatchObject({ code: "access_misconfigured" });
});

it.each(["*", "null", "app.example", "https://app.example/path", "https://user@app.example"])(
  "%j cannot be an origin to allow",
  async (origin) => {
    await expect(startGated({ corsOrigins: [origin] })).rejects.toMatchObject({ code: "access_misconfigured" });
  },
);

it("open paths need no token, but an accepted Host", async () => {
  await using server = await startGated({ tokens: ["an-example-token-of-some-length"], openPaths: ["/healthz"] });
  const open = await server.ask({ path: "/healthz?verbose" });
  expect([open.status, open.body]).toEqual([200, { principal: "nobody", scopes: [] }]);
  expect((await server.ask({ path: "/healthz", headers: [["host", "evil.example"]] })).status).toBe(403);
  expect((await server.ask({ path: "/healthz/more" })).status).toBe(401);
});
