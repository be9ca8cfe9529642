import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventTypes, type FrontEndClient, overHttp, overStdio, overWebSocket, told } from "./support/clients/frontEnds.js";
import { claimMeta } from "./support/clients/statelessClient.js";
import { type AppServerDouble, buildAppServerDouble } from "./support/codex/appServerDouble.js";
import { LOGIN_DONE_FILE } from "./support/codex/appServerDoubleServices.js";
import { type HttpServer, startHttpServer } from "./support/http/httpServer.js";
import { stateless } from "./support/http/statelessHttp.js";
import { type McpServer, startServer } from "./support/processes/mcpServer.js";
import { valueAt } from "./support/scenarios/scenario.js";

const text = (...lines: readonly string[]) => [{ type: "text", data: { text: lines.join("\n") } }];
const UUID = /^[0-9a-f-]{36}$/;

describe("the methods on every transport", () => {
  let stdio: McpServer;
  let http: HttpServer;
  beforeAll(async () => {
    [stdio, http] = await Promise.all([startServer(), startHttpServer()]);
    await stdio.initialize();
  });
  afterAll(async () => {
    await stdio[Symbol.asyncDispose]();
    await http[Symbol.asyncDispose]();
  });

  const transports: readonly [string, () => Promise<FrontEndClient>, () => McpServer][] = [
    ["stdio", async () => overStdio(stdio), () => stdio],
    ["HTTP", () => overHttp(http), () => http.running],
    ["WebSocket", () => overWebSocket(http), () => http.running],
  ];

  it.each(transports)("%s: a conversation from its beginning to its archive", async (_, open, server) => {
    using client = await open();
    const { workspace, codexHome } = server().stage;
    const opened = await client.request("newConversation", {
      model: "gpt-5-codex",
      cwd: workspace,
      approvalPolicy: "untrusted",
      sandbox: "workspace-write",
    });
    const { conversationId, rolloutPath } = opened;
    expect(opened).toEqual({
      conversationId: expect.stringMatching(UUID),
      model: "gpt-5-codex",
      rolloutPath: expect.stringContaining(codexHome),
    });
    const { subscriptionId } = await client.request("addConversationListener", { conversationId });
    expect(subscriptionId).toMatch(UUID);
    expect(await client.request("sendUserMessage", { conversationId, items: text("!shell touch asked", "!say Done.") })).toEqual({});
    const asked = await told(client, "execCommandApproval");
    expect(asked["params"]).toMatchObject({ conversation_id: conversationId, call_id: expect.any(String), cwd: workspace });
    await client.reply(asked["id"], { decision: "approved" });
    await told(client, "codex/event/task_complete");
    expect(existsSync(path.join(workspace, "asked"))).toBe(true);
    expect((await told(client, "codex/event/agent_message"))["params"]).toMatchObject({
      conversationId,
      id: "0",
      msg: { type: "agent_message", message: "Done." },
    });
    const types = eventTypes(client, conversationId);
    expect(types.slice(types.indexOf("task_started"))).toEqual(
      expect.arrayContaining(["user_message", "exec_command_begin", "exec_command_end", "token_count"]),
    );
    const turn = {
      cwd: workspace,
      approvalPolicy: "never",
      sandboxPolicy: { mode: "read-only" },
      model: "gpt-5-codex",
      effort: "medium",
      summary: "auto",
    };
    expect(await client.request("sendUserTurn", { conversationId, items: text("!hang"), ...turn })).toEqual({});
    await told(client, "codex/event/task_started", 2);
    expect(await client.request("interruptConversation", { conversationId })).toEqual({ abortReason: "interrupted" });
    await told(client, "codex/event/turn_aborted");
    expect(await client.request("removeConversationListener", { subscriptionId })).toEqual({});
    const { items } = await client.request("listConversations", { pageSize: 10 });
    expect(items).toEqual(
      expect.arrayContaining([
        {
          conversationId,
          path: rolloutPath,
          preview: expect.stringContaining("!shell touch asked"),
          timestamp: expect.stringMatching(/Z$/),
        },
      ]),
    );
    expect(await client.request("resumeConversation", { path: rolloutPath, overrides: { model: "gpt-5" } })).toMatchObject({
      conversationId,
      model: "gpt-5",
    });
    await told(client, "sessionConfigured");
    expect(await client.request("archiveConversation", { conversationId, rolloutPath })).toEqual({});
    expect(existsSync(path.join(codexHome, "archived_sessions", path.basename(String(rolloutPath))))).toBe(true);
  });

  it.each(transports)("%s: settings, a command and the errors", async (_, open, server) => {
    using client = await open();
    const { workspace, codexHome } = server().stage;
    const sandboxPolicy = { mode: "read-only" };
    expect(
      await client.request("execOneOffCommand", { command: ["echo", "hi"], timeoutMs: 45_000, cwd: workspace, sandboxPolicy }),
    ).toEqual({ exitCode: 0, stdout: "hi\n", stderr: "" });
    expect(await client.request("setDefaultModel", { model: "gpt-5", reasoningEffort: "high" })).toEqual({});
    expect(await client.request("getUserSavedConfig")).toEqual({ config: { model: "gpt-5", modelReasoningEffort: "high", profiles: {} } });
    expect(await client.request("setDefaultModel", {})).toEqual({});
    expect(readFileSync(path.join(codexHome, "config.toml"), "utf8").trim()).toBe("");
    expect(await client.request("getUserAgent")).toEqual({ userAgent: expect.stringMatching(/\(test; 1/) });
    expect(await client.request("userInfo")).toEqual({ allegedUserEmail: null });
    expect(await client.request("getAuthStatus", {})).toEqual({ requiresOpenaiAuth: false });
    expect(valueAt(await client.request("gitDiffToRemote", { cwd: workspace }), "error")).toMatchObject({
      code: -32600,
      message: `failed to compute git diff to remote for cwd: ${JSON.stringify(workspace)}`,
    });
    expect(valueAt(await client.request("sendUserMessage", {}), "error.code")).toBe(-32602);
  });
});

describe("the era without sessions", () => {
  it("refuses the methods, and says where they are served", async () => {
    await using server = await startHttpServer();
    const refused = { code: -32601, message: expect.stringContaining("newConversation is served in sessions only") as unknown };
    const { body } = await server.ask(stateless({ method: "newConversation" }));
    expect(valueAt(body, "error")).toMatchObject(refused);
    expect(valueAt((await server.ask(stateless({ method: "noSuchMethod" }))).body, "error.message")).toBe("method not found: noSuchMethod");
    using socket = await overWebSocket(server);
    expect(valueAt(await socket.request("newConversation", { _meta: claimMeta() }), "error")).toMatchObject(refused);
  });
});

describe("a login", () => {
  it("with a key is kept 0600 and whole by the native engine, which leaves ChatGPT to Codex", async () => {
    await using server = await startServer({ args: ["--engine", "native"] });
    using client = overStdio(server);
    const file = path.join(server.stage.codexHome, "auth.json");
    expect(await client.request("getAuthStatus", {})).toEqual({ requiresOpenaiAuth: true });
    expect(await client.request("loginApiKey", { apiKey: "sk-test" })).toEqual({});
    expect(await told(client, "authStatusChange")).toEqual({
      jsonrpc: "2.0",
      method: "authStatusChange",
      params: { authMethod: "apikey" },
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await client.request("getAuthStatus", { includeToken: true, refreshToken: false })).toEqual({
      authMethod: "apikey",
      authToken: "sk-test",
      requiresOpenaiAuth: true,
    });
    expect(valueAt(await client.request("loginChatGpt"), "error")).toMatchObject({
      code: -32603,
      message: expect.stringMatching(/^failed to start login server: .*--engine codex/),
    });
    expect(valueAt(await client.request("cancelLoginChatGpt", { loginId: "none" }), "error")).toMatchObject({
      code: -32600,
      message: "login id not found: none",
    });
    const claims = Buffer.from(JSON.stringify({ email: "a@example.org" })).toString("base64url");
    writeFileSync(file, JSON.stringify({ OPENAI_API_KEY: "sk-test", tokens: { id_token: `x.${claims}.y` } }));
    expect(await client.request("userInfo")).toEqual({ allegedUserEmail: "a@example.org" });
    writeFileSync(file, JSON.stringify({ OPENAI_API_KEY: "sk-test" }));
    expect(await client.request("logoutChatGpt")).toEqual({});
    expect(await told(client, "authStatusChange", 2)).toEqual({ jsonrpc: "2.0", method: "authStatusChange", params: {} });
    expect(existsSync(file)).toBe(false);
    const log = path.join(server.stage.codexHome, "log", "codex-mcp-server.log");
    expect(existsSync(log) ? readFileSync(log, "utf8") : "").not.toContain("sk-test");
    expect(server.errorLines.join("\n")).not.toContain("sk-test");
  });

  let double: AppServerDouble;
  beforeAll(async () => {
    double = await buildAppServerDouble();
  });
  afterAll(() => double[Symbol.dispose]());

  it("with ChatGPT is begun, replaced, cancelled and completed by an installed Codex", async () => {
    await using server = await startServer({ args: ["--engine", "codex", "--codex-bin", double.program] });
    using client = overStdio(server);
    const first = await client.request("loginChatGpt");
    expect(first).toEqual({ loginId: expect.any(String), authUrl: expect.stringMatching(/^https:/) });
    // A second login ends the first.
    const second = await client.request("loginChatGpt");
    const notCompleted = "Login server error: Login was not completed";
    expect((await told(client, "loginChatGptComplete"))["params"]).toEqual({
      loginId: first["loginId"],
      success: false,
      error: notCompleted,
    });
    expect(await client.request("cancelLoginChatGpt", { loginId: second["loginId"] })).toEqual({});
    expect((await told(client, "loginChatGptComplete", 2))["params"]).toEqual({
      loginId: second["loginId"],
      success: false,
      error: notCompleted,
    });
    expect(valueAt(await client.request("cancelLoginChatGpt", { loginId: second["loginId"] }), "error.message")).toBe(
      `login id not found: ${String(second["loginId"])}`,
    );
    const third = await client.request("loginChatGpt");
    writeFileSync(path.join(server.stage.codexHome, LOGIN_DONE_FILE), "");
    expect((await told(client, "loginChatGptComplete", 3))["params"]).toEqual({ loginId: third["loginId"], success: true });
    expect((await told(client, "authStatusChange"))["params"]).toEqual({ authMethod: "chatgpt" });
  });
});
