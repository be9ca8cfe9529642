import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { type FrontEndClient, overHttp, overStdio, overWebSocket, told } from "../support/clients/frontEnds.js";
import { NEWEST_TRIED, publishedCodex } from "../support/codex/codexPeers.js";
import { EMAIL, type IdentityServer, startIdentityServer } from "../support/codex/identityServer.js";
import { startHttpServer } from "../support/http/httpServer.js";
import { type McpServer, startServer } from "../support/processes/mcpServer.js";
import type { Stage } from "../support/stage.js";

const program = (await publishedCodex(NEWEST_TRIED)) ?? "";
const ENGINE = ["--engine", "codex", "--codex-bin", program];
const NOT_COMPLETED = "Login server error: Login was not completed";

async function startWith({ env, config }: IdentityServer): Promise<McpServer> {
  const server = await startServer({ args: ENGINE, env, config });
  await server.initialize();
  return server;
}

function authFile({ codexHome }: Stage): string {
  return path.join(codexHome, "auth.json");
}

/** All log lines of a server. */
function logsOf({ errorLines, stage }: McpServer): string {
  const folder = path.join(stage.codexHome, "log");
  const files = existsSync(folder) ? readdirSync(folder).map((name) => readFileSync(path.join(folder, name), "utf8")) : [];
  return [...errorLines, ...files].join("\n");
}

async function completed(client: FrontEndClient, nth = 1): Promise<unknown> {
  return (await told(client, "loginChatGptComplete", nth))["params"];
}

// Codex waits for the browser on a fixed port, so only one login at a time is possible.
describe.skipIf(program === "")("a login with ChatGPT through an installed Codex", { timeout: 120_000 }, () => {
  it("is begun, completed by the browser, reported to the client, renewed and ended", async () => {
    await using identity = await startIdentityServer();
    await using server = await startWith(identity);
    using client = overStdio(server);
    expect(await client.request("getAuthStatus", {})).toEqual({ requiresOpenaiAuth: true });
    const { loginId, authUrl } = await client.request("loginChatGpt");
    const address = new URL(String(authUrl));
    expect([address.pathname, address.searchParams.get("redirect_uri")]).toEqual([
      "/oauth/authorize",
      expect.stringMatching(/^http:\/\/(127\.0\.0\.1|localhost):\d+\/auth\/callback$/),
    ]);
    expect((await identity.consent(address.href)).status).toBe(200);
    expect(await completed(client)).toEqual({ loginId, success: true });
    expect((await told(client, "authStatusChange"))["params"]).toEqual({ authMethod: "chatgpt" });
    expect(await client.request("getAuthStatus", {})).toEqual({ authMethod: "chatgpt", requiresOpenaiAuth: true });
    const shown = await client.request("getAuthStatus", { includeToken: true, refreshToken: false });
    expect(shown).toEqual({ authMethod: "chatgpt", authToken: expect.toBeOneOf([...identity.secrets]), requiresOpenaiAuth: true });
    const renewed = await client.request("getAuthStatus", { includeToken: true, refreshToken: true });
    expect(renewed["authToken"]).toEqual(expect.toBeOneOf([...identity.secrets]));
    expect(renewed["authToken"]).not.toBe(shown["authToken"]);
    expect(identity.asked).toContain("refresh_token");
    expect(await client.request("userInfo")).toEqual({ allegedUserEmail: EMAIL });
    expect(statSync(authFile(server.stage)).mode & 0o777).toBe(0o600);
    expect(await client.request("logoutChatGpt")).toEqual({});
    expect((await told(client, "authStatusChange", 2))["params"]).toEqual({});
    expect(existsSync(authFile(server.stage))).toBe(false);
    expect(await client.request("getAuthStatus", { includeToken: true })).toEqual({ requiresOpenaiAuth: true });
    const written = logsOf(server);
    for (const secret of identity.secrets) expect(written).not.toContain(secret);
  });

  it("is replaced by another one and ended by a cancel; a later callback of the browser has no effect", async () => {
    await using identity = await startIdentityServer();
    await using server = await startWith(identity);
    using client = overStdio(server);
    const first = await client.request("loginChatGpt");
    const second = await client.request("loginChatGpt");
    expect(await completed(client)).toEqual({
      loginId: first["loginId"],
      success: false,
      error: expect.stringMatching(/^Login server error/),
    });
    // The browser of the first login reaches the second one, which has another `state`.
    expect((await identity.consent(String(first["authUrl"]))).status).toBe(400);
    expect(await client.request("cancelLoginChatGpt", { loginId: second["loginId"] })).toEqual({});
    expect(await completed(client, 2)).toEqual({ loginId: second["loginId"], success: false, error: NOT_COMPLETED });
    await expect(identity.consent(String(second["authUrl"]))).rejects.toThrow();
    expect(await client.request("cancelLoginChatGpt", { loginId: second["loginId"] })).toMatchObject({
      error: { code: -32600, message: `login id not found: ${String(second["loginId"])}` },
    });
    expect(await client.request("getAuthStatus", {})).toEqual({ requiresOpenaiAuth: true });
    expect(existsSync(authFile(server.stage))).toBe(false);
    expect(client.told().filter(({ method }) => method === "authStatusChange")).toEqual([]);
  });

  it("continues after its client has gone, and other clients are notified", async () => {
    await using identity = await startIdentityServer();
    await using server = await startHttpServer({ args: ENGINE, env: identity.env, config: identity.config });
    using other = await overHttp(server);
    expect(await other.request("getAuthStatus", {})).toEqual({ requiresOpenaiAuth: true });
    const gone = await overWebSocket(server);
    const { authUrl } = await gone.request("loginChatGpt");
    gone[Symbol.dispose]();
    expect((await identity.consent(String(authUrl))).status).toBe(200);
    expect((await told(other, "authStatusChange"))["params"]).toEqual({ authMethod: "chatgpt" });
    expect(await other.request("getAuthStatus", {})).toEqual({ authMethod: "chatgpt", requiresOpenaiAuth: true });
  });

  it("ends with the server, which leaves nothing running and no partial login", async () => {
    await using identity = await startIdentityServer();
    await using server = await startWith(identity);
    using client = overStdio(server);
    const { authUrl } = await client.request("loginChatGpt");
    await server.closeAndWait();
    expect(await server.leftBehind()).toEqual([]);
    await expect(identity.consent(String(authUrl))).rejects.toThrow();
    expect(existsSync(authFile(server.stage))).toBe(false);
  });
});
