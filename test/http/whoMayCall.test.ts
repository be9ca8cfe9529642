import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { isMissing } from "../sandbox/available.js";
import { refused } from "../support/callResults.js";
import { eventually } from "../support/eventually.js";
import { handshake, rpc, toolCall } from "../support/http/httpClient.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { openSocket } from "../support/http/httpSocketClient.js";
import { stateless } from "../support/http/statelessHttp.js";
import { ALICE, threePrincipals } from "../support/http/threePrincipals.js";
import { MAIN, startServer } from "../support/processes/mcpServer.js";
import { runToEnd } from "../support/processes/runToEnd.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { setStage } from "../support/stage.js";

/** The curl command for a `ping`; it prints the answer and its status. */
function pingBy(server: HttpServer, headers: readonly string[] = []): string[] {
  const said = ["content-type: application/json", ...headers].flatMap((header) => ["-H", header]);
  return ["curl", "-s", "-w", " %{http_code}", ...said, "-d", JSON.stringify(rpc(1, "ping")), server.url];
}

/** The output of a command that the server runs. */
async function executed(server: HttpServer, headers: Readonly<Record<string, string>>, args: object): Promise<unknown> {
  const { body } = await server.ask({ headers, message: toolCall(1, { ...args }, "codex-exec") });
  return valueAt(body, "result.structuredContent.stdout") ?? body;
}

async function openSession(server: HttpServer, headers: Readonly<Record<string, string>> = {}): Promise<Readonly<Record<string, string>>> {
  const { session = "" } = await server.ask({ headers, message: handshake(0) });
  return { ...headers, "mcp-session-id": session };
}

const WITH_NETWORK = 'sandbox_mode = "workspace-write"\n[sandbox_workspace_write]\nnetwork_access = true\n';

describe.skipIf(isMissing).concurrent("a command in a sandbox with network", () => {
  it.each([
    ["a server without tokens", async () => [], {}],
    ["a server with tokens, even with a valid token", threePrincipals, ALICE],
  ])("cannot call %s", async (_, argsOf, who) => {
    await using stage = await setStage();
    await using server = await startHttpServer({ stage, config: WITH_NETWORK, args: await argsOf(stage) });
    const session = await openSession(server, who);
    const health = ["curl", "-s", `${server.origin}/healthz`];
    expect(await executed(server, session, { command: health })).toBe('{"status":"ok"}');
    const shown = Object.entries(who).map(([name, value]) => `${name}: ${value}`);
    expect(await executed(server, session, { command: pingBy(server, shown) })).toMatch(/may not call it.* 403$/);
    // A caller outside the commands is served as before.
    expect((await server.ask({ headers: session, message: rpc(2, "ping") })).status).toBe(200);
  });

  it("cannot call the server by closing its side of the connection either", async () => {
    await using server = await startHttpServer({ config: WITH_NETWORK });
    const session = await openSession(server);
    const request = `GET /sessions HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nConnection: close\r\n\r\n`;
    const script = `
      const socket = require("node:net").connect({ port: ${server.port}, host: "127.0.0.1", allowHalfOpen: true });
      socket.on("connect", () => socket.end(${JSON.stringify(request)}));
      socket.pipe(process.stdout);`;
    expect(await executed(server, session, { command: [process.execPath, "-e", script] })).toMatch(/^(?:HTTP\/1.1 40[13] |$)/);
  });
});

it("a forwarded request needs a token, and a page's origin counts, however many headers come before", async () => {
  await using server = await startHttpServer();
  const others = Object.fromEntries(Array.from({ length: 1_500 }, (_, at) => [`a${at}`, ""]));
  const statusWith = async (more: Readonly<Record<string, string>>) => {
    const headers = { host: `127.0.0.1:${server.port}`, ...others, ...more };
    return (await server.ask({ method: "GET", path: "/api/v1/me", headers })).status;
  };
  const last: readonly Readonly<Record<string, string>>[] = [
    {},
    { via: "1.1 proxy" },
    { "x-forwarded-for": "203.0.113.1" },
    { origin: "https://evil.example" },
  ];
  expect(await Promise.all(last.map(statusWith))).toEqual([200, 401, 401, 403]);
});

describe.concurrent("a program that the server has started outside of a sandbox", () => {
  it("is accepted, but not with its caller's identity", async () => {
    await using server = await startHttpServer({ args: ["--max-sandbox", "danger-full-access"] });
    const session = await openSession(server);
    const command = (headers: readonly string[]) => ({ command: pingBy(server, headers), sandbox: "danger-full-access" });
    expect(await executed(server, session, command([]))).toMatch(/"result":\{\}\} 200$/);
    const stolen = await executed(server, session, command([`mcp-session-id: ${session["mcp-session-id"]}`]));
    expect(stolen).toMatch(/Session not found.* 404$/);
  });
});

describe.concurrent("the server's own token", () => {
  it("is shown by `token`, before and after the first start, and gives all scopes", async () => {
    await using stage = await setStage();
    const env = { PATH: process.env["PATH"] ?? "", CODEX_HOME: stage.codexHome };
    const shown = await runToEnd([process.execPath, MAIN, "token"], { env });
    expect(shown).toEqual({ code: 0, stdout: expect.stringMatching(/^[\w-]{43}\n$/), stderr: "" });
    await using server = await startHttpServer({ stage });
    expect(await runToEnd([process.execPath, MAIN, "token"], { env })).toEqual(shown);
    const forwarded = { "x-forwarded-for": "203.0.113.1" };
    expect((await server.ask({ headers: forwarded, message: rpc(1, "ping") })).status).toBe(401);
    const headers = { ...forwarded, authorization: `Bearer ${shown.stdout.trim()}` };
    expect((await server.ask({ headers, message: rpc(1, "ping") })).status).toBe(200);
    expect(server.running.errorLines.join("\n")).not.toContain(shown.stdout.trim());
  });
});

describe.concurrent("the line after the address", () => {
  const snippetOf = ({ running }: HttpServer) =>
    eventually("the snippet", () => running.errorLines.find((line) => line.includes("clients connect with")));

  it("is a client's configuration, for the user who started the server without a token", async () => {
    await using server = await startHttpServer();
    expect(await snippetOf(server)).toBe(
      `codex-mcp-server: clients connect with {"mcpServers": {"codex": {"type":"http","url":"${server.url}"}}}`,
    );
  });

  it("has a place for the token where one is needed", async () => {
    await using server = await startHttpServer({ env: { CODEX_MCP_TOKEN: "0123456789abcdef" } });
    expect(await snippetOf(server)).toContain(`"url":"${server.url}","headers":{"Authorization":"Bearer TOKEN"}`);
    expect(server.running.errorLines.filter((line) => line.includes("list of processes"))).toEqual([]);
  });
});

it("a token on the command line is warned about once", async () => {
  await using server = await startHttpServer({ args: ["--token", "0123456789abcdef", "--token", "0123456789abcdeg"] });
  expect(server.running.errorLines.filter((line) => line.includes("list of processes"))).toEqual([
    expect.stringContaining("CODEX_MCP_TOKEN or --token-file keeps it private"),
  ]);
});

describe.concurrent("--allow-unauthenticated", () => {
  it("is refused where other machines would reach the server, whatever tokens there are", async () => {
    for (const more of [[], ["--token", "0123456789abcdef", "--allow-root", "."]]) {
      await using server = await startServer({
        args: ["--engine", "scripted", "--host", "0.0.0.0", "--port", "0", "--allow-unauthenticated", ...more],
      });
      expect(await server.exit()).toMatchObject({ code: 2 });
      expect(server.errorLines.join("\n")).toContain("--allow-unauthenticated is only for loopback");
    }
  });

  it("admits every user on loopback, even through a proxy", async () => {
    await using server = await startHttpServer({ args: ["--allow-unauthenticated"] });
    expect((await server.ask({ headers: { via: "1.1 proxy" }, message: rpc(1, "ping") })).status).toBe(200);
  });
});

describe.concurrent("a token without a scope", () => {
  const TOKENS = { watch: "watch-token-0123456789", work: "work-token-01234567890" };

  it("gets the name of the missing scope, in both eras and on every route", async () => {
    await using stage = await setStage();
    const file = path.join(stage.root, "tokens");
    await writeFile(file, `ada ${TOKENS.watch} read\nada ${TOKENS.work} call\n`, { mode: 0o600 });
    await using server = await startHttpServer({ stage, args: ["--token-file", file] });
    const [watch, work] = [TOKENS.watch, TOKENS.work].map((token) => ({ authorization: `Bearer ${token}` }));
    const lacks = refused(expect.stringContaining("the scope `call`"));
    const session = await openSession(server, watch);
    const { body } = await server.ask({ headers: session, message: toolCall(1, { prompt: "!say hello" }) });
    expect(valueAt(body, "result")).toEqual(lacks);
    const call = { method: "tools/call", params: { name: "codex", arguments: { prompt: "!say hello" } } };
    expect(valueAt((await server.ask(stateless({ ...call, headers: watch ?? {} }))).body, "result")).toMatchObject(lacks as object);
    for (const page of ["/sessions", "/metrics"]) {
      expect((await server.ask({ path: page, headers: watch ?? {} })).status).toBe(200);
      expect(await server.ask({ path: page, headers: work ?? {} })).toMatchObject({
        status: 403,
        body: { error: { message: expect.stringContaining("the scope `read`") } },
      });
    }
    // The principal is the same, but the rights differ: one token cannot use the session of the other.
    const working = await openSession(server, work);
    expect((await server.ask({ headers: { ...working, ...watch }, message: rpc(2, "ping") })).status).toBe(404);
  });
});

it("a WebSocket without a token is refused to pages of other ports of this machine", async () => {
  await using server = await startHttpServer();
  const open = (origin: string) => openSocket(server.origin, { headers: { origin } });
  await expect(open(`http://127.0.0.1:${server.port + 1}`)).rejects.toMatchObject({ status: 403 });
  await expect(open("http://localhost:3000")).rejects.toMatchObject({ status: 403 });
  using own = await open(server.origin);
  expect(own.session).not.toBe("");
});
