import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request as send } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { bearer, type GatedServer, type Question, startGated } from "../../../../test/support/http/gatedServer.js";
import { SCOPE_WORDS } from "../../../server/network.js";
import type { AccessControlOptions } from "../../accessControl.js";
import { keepOwnToken } from "../tokens/ownToken.js";
import type { OwnSide } from "./localLogin.js";

const LOCAL = { principal: "local", scopes: ["call", "read", "manage"] };
const OPERATOR = { principal: "local", scopes: ["call", "read", "manage", "operator"] };
const OF_THE_USER = '`codex-mcp-server token` shows it to the user who runs the server. Send the token as "Authorization: Bearer TOKEN".';
const NOBODY = 65_534;

const run = promisify(execFile);

/** A server with a token of its own, like a server on a port. */
async function startOwned(options: Partial<AccessControlOptions> = {}): Promise<{ readonly server: GatedServer; readonly token: string }> {
  const folder = mkdtempSync(path.join(tmpdir(), "local-login-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { file, token } = keepOwnToken(folder, SCOPE_WORDS);
  const server = await startGated({ ownTokenFile: file, ...options });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return { server, token };
}

/** The server's answer to a program of another user, or of this one. */
async function asked(port: number, { uid, token }: { readonly uid?: number; readonly token?: string } = {}): Promise<unknown> {
  const headers = token === undefined ? [] : ["-H", `Authorization: Bearer ${token}`];
  const asUser = uid === undefined ? {} : { uid, gid: uid };
  const { stdout } = await run("curl", ["-s", "-w", "%{http_code}", ...headers, `http://127.0.0.1:${port}/mcp`], asUser);
  return [Number(stdout.slice(-3)), JSON.parse(stdout.slice(0, -3))];
}

function needed(why: string): unknown {
  return { error: "invalid_token", error_description: `A token is needed: ${why} ${OF_THE_USER}` };
}

describe.skipIf(process.platform !== "linux")("a connection of this machine", () => {
  it("of the server's user needs no token", async () => {
    const { server } = await startOwned();
    expect(await asked(server.port)).toEqual([200, LOCAL]);
  });

  it.skipIf(process.getuid?.() !== 0)("of another user needs the server's own token (needs root)", async () => {
    const { server, token } = await startOwned();
    expect(await asked(server.port, { uid: NOBODY })).toEqual([401, needed("this server runs as another user of this machine.")]);
    expect(await asked(server.port, { uid: NOBODY, token: `${token}x` })).toMatchObject([401, { error: "invalid_token" }]);
    expect(await asked(server.port, { uid: NOBODY, token })).toEqual([200, OPERATOR]);
  });

  it.skipIf(process.getuid?.() !== 0)("of another user is accepted if every user is (needs root)", async () => {
    const { server } = await startOwned({ allowUnauthenticated: true });
    expect(await asked(server.port, { uid: NOBODY })).toEqual([200, LOCAL]);
    expect(server.reports).toEqual([
      "every user of this machine, and every program that forwards requests to it, may use the agent without a token",
    ]);
  });

  it("is looked up once per connection", async () => {
    let looked = 0;
    const processes = async () => {
      looked++;
      return [];
    };
    const ownSide: OwnSide = { connectsFrom: () => false, hasProcesses: () => true, processes, mayBeOwn: () => false };
    const { server } = await startOwned({ ownSide });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    for (let at = 0; at < 5; at++) {
      const asking = send({ host: "127.0.0.1", port: server.port, path: "/mcp", agent }).end();
      const [response] = await once(asking, "response");
      await response.resume().toArray();
      expect(response.statusCode).toBe(200);
    }
    expect(looked).toBe(1);
  });
});

it("where users cannot be distinguished, all need the server's own token", async () => {
  const { server, token } = await startOwned({ tellsUsers: false });
  expect(await server.ask()).toMatchObject({
    status: 401,
    body: needed("the user of this connection could not be determined."),
  });
  expect((await server.ask(bearer(token))).body).toEqual(OPERATOR);
  await expect(startGated({ tellsUsers: false })).rejects.toMatchObject({ code: "access_misconfigured" });
});

describe("a request that came through a proxy", () => {
  it.each([
    ["Forwarded", "for=203.0.113.1"],
    ["Via", "1.1 proxy"],
    ["X-Forwarded-For", "127.0.0.1"],
    ["X-Forwarded-Anything", ""],
    ["x-real-ip", "203.0.113.1"],
  ])("by its header %s needs a token, whichever user runs the proxy", async (name, value) => {
    const { server, token } = await startOwned({ trustedProxies: ["127.0.0.1"] });
    expect(await server.ask({ headers: [[name, value]] })).toMatchObject({
      status: 401,
      body: needed("this request came through a proxy."),
    });
    expect(
      (
        await server.ask({
          headers: [
            [name, value],
            ["authorization", `Bearer ${token}`],
          ],
        })
      ).body,
    ).toEqual(OPERATOR);
  });
});

describe("an upgrade without a token", () => {
  const upgrade = (headers: Question["headers"] = []): Question => ({
    headers: [["connection", "upgrade"], ["upgrade", "websocket"], ...headers],
  });

  it("may come from a program, and from a page of this very server", async () => {
    const { server } = await startOwned();
    const host = `localhost:${server.port}`;
    expect((await server.ask(upgrade())).status).toBe(200);
    expect(
      (
        await server.ask(
          upgrade([
            ["host", host],
            ["origin", `http://${host}`],
          ]),
        )
      ).status,
    ).toBe(200);
  });

  it.each([
    ["another port", (port: number) => `http://localhost:${port + 1}`],
    ["no port", () => "http://localhost"],
    ["another scheme", (port: number) => `https://localhost:${port}`],
    ["another name of this machine", (port: number) => `http://127.0.0.1:${port}`],
  ])("may not come from a page of %s", async (_, originOf) => {
    const { server, token } = await startOwned();
    const headers = [
      ["host", `localhost:${server.port}`],
      ["origin", originOf(server.port)],
    ] as const;
    expect((await server.ask(upgrade(headers))).status).toBe(403);
    expect((await server.ask(upgrade([...headers, ["authorization", `Bearer ${token}`]]))).status).toBe(200);
  });

  it("may not come from a page of another port that something forwards with its own Host", async () => {
    const { server } = await startOwned();
    const headers = [
      ["host", "localhost:3000"],
      ["origin", "http://localhost:3000"],
    ] as const;
    expect((await server.ask(upgrade(headers))).status).toBe(403);
  });

  it("may come from a page that the operator has listed", async () => {
    const { server } = await startOwned({ corsOrigins: ["http://localhost:5173"] });
    expect((await server.ask(upgrade([["origin", "http://localhost:5173"]]))).status).toBe(200);
  });
});
