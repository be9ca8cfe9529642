import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { METHODS } from "../../src/codexrpc/codexRpc.js";
import { type FrontEndClient, overHttp, overStdio, overWebSocket, told } from "../support/clients/frontEnds.js";
import { eventually } from "../support/eventually.js";
import { handshake, notice, rpc } from "../support/http/httpClient.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { openSocket } from "../support/http/httpSocketClient.js";
import { ALICE, BOB, OPERATOR, threePrincipals } from "../support/http/threePrincipals.js";
import { startServer } from "../support/processes/mcpServer.js";
import { processesIn } from "../support/processes/processesIn.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { setStage } from "../support/stage.js";

const text = (...lines: readonly string[]) => [{ type: "text", data: { text: lines.join("\n") } }];
const SECRET = "sk-nobody-may-see";

async function startForThree(): Promise<HttpServer> {
  const stage = await setStage();
  const server = await startHttpServer({ stage, args: await threePrincipals(stage) });
  const end = server[Symbol.asyncDispose].bind(server);
  return Object.assign(server, {
    async [Symbol.asyncDispose]() {
      await end();
      await stage[Symbol.asyncDispose]();
    },
  });
}

/** The events of a conversation that a listener received, in order. */
function eventsOf(client: FrontEndClient, conversationId: unknown): unknown[] {
  return client
    .told()
    .filter(({ method, params }) => String(method).startsWith("codex/event/") && valueAt(params, "conversationId") === conversationId)
    .map((message) => valueAt(message, "params.msg"));
}

describe("callers over the network", () => {
  it("are refused every method whose scope their token lacks, and get no secret unless they are operators", async () => {
    await using stage = await setStage();
    const scopes = { calls: ["call"], reads: ["read"], manages: ["manage"], most: ["call", "read", "manage"] };
    const bearer = (name: string) => ({ authorization: `Bearer ${name}-token-0123456789abcdef` });
    const tokens = path.join(stage.root, "tokens");
    const lines = Object.entries(scopes).map(([name, words]) => `${name} ${name}-token-0123456789abcdef ${words.join(" ")}\n`);
    writeFileSync(tokens, lines.join(""), { mode: 0o600 });
    writeFileSync(path.join(stage.codexHome, "auth.json"), JSON.stringify({ OPENAI_API_KEY: SECRET }), { mode: 0o600 });
    await using server = await startHttpServer({ stage, args: ["--engine", "native", "--token-file", tokens] });
    for (const [name, words] of Object.entries(scopes)) {
      using client = await overHttp(server, bearer(name));
      for (const { name: method, scope } of METHODS.values()) {
        if (words.includes(scope)) continue;
        const answer = await client.request(method, { apiKey: "sk-other", model: "other", loginId: "x" });
        expect([name, method, valueAt(answer, "error.code"), valueAt(answer, "error.data.code")]).toEqual([
          name,
          method,
          -32600,
          "scope_missing",
        ]);
      }
    }
    using most = await overWebSocket(server, bearer("most"));
    const answers = [
      await most.request("getAuthStatus", { includeToken: true }),
      await most.request("getAuthStatus", {}),
      await most.request("execOneOffCommand", { command: ["cat", path.join(stage.codexHome, "auth.json")] }),
      await most.request("gitDiffToRemote", { cwd: stage.codexHome }),
      await most.request("newConversation", { cwd: stage.codexHome }),
    ];
    expect(valueAt(answers[0], "error.data.code")).toBe("scope_missing");
    expect(answers[1]).toEqual({ authMethod: "apikey", requiresOpenaiAuth: true });
    expect(valueAt(answers[2], "exitCode")).not.toBe(0);
    expect(JSON.stringify(answers)).not.toContain(SECRET);
    expect(server.running.errorLines.join("\n")).not.toContain(SECRET);
    expect(JSON.parse(readFileSync(path.join(stage.codexHome, "auth.json"), "utf8"))).toEqual({ OPENAI_API_KEY: SECRET });
    expect(existsSync(path.join(stage.codexHome, "config.toml"))).toBe(false);
  });

  it("cannot reach another caller's conversation, by any method and path", async () => {
    await using server = await startForThree();
    const { workspace, codexHome } = server.running.stage;
    using alice = await overHttp(server, ALICE);
    using bob = await overWebSocket(server, BOB);
    const { conversationId, rolloutPath } = await alice.request("newConversation", {});
    await alice.request("addConversationListener", { conversationId });
    await alice.request("sendUserMessage", { conversationId, items: text("!say mine") });
    await told(alice, "codex/event/task_complete");
    const file = String(rolloutPath);
    const turn = { cwd: workspace, approvalPolicy: "never", sandboxPolicy: { mode: "read-only" }, model: "m", summary: "auto" };
    const tries: readonly [string, Readonly<Record<string, unknown>>][] = [
      ["resumeConversation", { conversationId }],
      ["resumeConversation", { path: file }],
      ["archiveConversation", { conversationId, rolloutPath: file }],
      ["sendUserMessage", { conversationId, items: text("!say not mine") }],
      ["sendUserTurn", { conversationId, items: text("!say not mine"), ...turn }],
      ["interruptConversation", { conversationId }],
      ["addConversationListener", { conversationId }],
    ];
    for (const [method, params] of tries)
      expect([method, valueAt(await bob.request(method, params), "error.message")]).toEqual([
        method,
        `conversation not found: ${String(conversationId)}`,
      ]);
    mkdirSync(path.join(workspace, "links"));
    symlinkSync(file, path.join(workspace, "links", path.basename(file)));
    symlinkSync(codexHome, path.join(workspace, "home"));
    const detours = [
      path.join(workspace, "links", path.basename(file)),
      `${path.dirname(file)}/../${path.basename(file)}`,
      `${workspace}/../codex-home/auth.json`,
      path.join(workspace, "home", "auth.json"),
      "../codex-home/config.toml",
    ];
    for (const named of detours) {
      const refused = { code: -32600, message: `rollout path \`${named}\` must be in sessions directory` };
      expect(valueAt(await alice.request("resumeConversation", { path: named }), "error")).toMatchObject(refused);
      // The error may also be that there is no such conversation, whether it exists or not.
      expect(valueAt(await bob.request("resumeConversation", { path: named }), "error.code")).toBe(-32600);
      expect(valueAt(await alice.request("archiveConversation", { conversationId, rolloutPath: named }), "error.code")).toBe(-32600);
    }
    expect(await bob.request("listConversations", {})).toEqual({ items: [] });
    expect(bob.told().filter(({ method }) => String(method).startsWith("codex/event"))).toEqual([]);
    expect(readFileSync(file, "utf8")).not.toContain("not mine");
  });

  it("cannot run a single command beyond the ceilings", async () => {
    await using server = await startForThree();
    const { workspace, codexHome } = server.running.stage;
    symlinkSync("/", path.join(workspace, "root"));
    using alice = await overHttp(server, ALICE);
    const command = ["true"];
    const beyond = [
      { command, sandboxPolicy: { mode: "danger-full-access" } },
      { command, sandboxPolicy: { type: "danger-full-access" } },
      { command, sandboxPolicy: { mode: "workspace-write", network_access: true } },
      { command, sandboxPolicy: { mode: "workspace-write", writable_roots: ["/etc"] } },
      { command, sandboxPolicy: { mode: "workspace-write", writable_roots: [`${workspace}/..`] } },
      { command, cwd: "/" },
      { command, cwd: ".." },
      { command, cwd: codexHome },
      { command, cwd: path.join(workspace, "root") },
    ];
    for (const params of beyond)
      expect([params, valueAt(await alice.request("execOneOffCommand", params), "error.data.code")]).toEqual([params, "above_ceiling"]);
    expect(await alice.request("execOneOffCommand", { command: ["pwd"], sandboxPolicy: { mode: "read-only" } })).toEqual({
      exitCode: 0,
      stdout: `${workspace}\n`,
      stderr: "",
    });
  });

  it("end a command by cancelling its request", async () => {
    await using server = await startForThree();
    const { workspace } = server.running.stage;
    using socket = await openSocket(server.origin, { headers: ALICE });
    socket.send(handshake("hi"));
    await socket.answerTo("hi");
    // Other processes of the server come and go in this folder.
    const isRunning = () => processesIn(workspace).some((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("86401"));
    socket.send(rpc("run", "execOneOffCommand", { command: ["sleep", "86401"], timeoutMs: 3_600_000, cwd: workspace }));
    await eventually("the command", () => isRunning() || undefined);
    socket.send(notice("notifications/cancelled", { requestId: "run" }));
    await eventually("the end of the command", () => !isRunning() || undefined);
    socket.send(rpc("after", "getUserAgent"));
    await socket.answerTo("after");
    // A cancelled request gets no response.
    expect(socket.messages.filter(({ id }) => id === "run")).toEqual([]);
  });

  it("can answer the open question of a client that disconnected", async () => {
    await using server = await startForThree();
    const { workspace } = server.running.stage;
    const gone = await overWebSocket(server, ALICE);
    const { conversationId } = await gone.request("newConversation", { approvalPolicy: "untrusted", sandbox: "workspace-write" });
    await gone.request("addConversationListener", { conversationId });
    await gone.request("sendUserMessage", { conversationId, items: text("!shell touch later.txt", "!say done") });
    await told(gone, "execCommandApproval");
    gone[Symbol.dispose]();
    using back = await overHttp(server, ALICE);
    await back.request("addConversationListener", { conversationId });
    const asked = await told(back, "execCommandApproval");
    expect(asked["params"]).toMatchObject({ conversation_id: conversationId, cwd: workspace });
    await back.reply(asked["id"], { decision: "approved" });
    await told(back, "codex/event/task_complete");
    expect(existsSync(path.join(workspace, "later.txt"))).toBe(true);
    // The later listener gets the turn from its start.
    expect(eventsOf(back, conversationId).map((msg) => valueAt(msg, "type"))).toEqual(
      expect.arrayContaining(["task_started", "user_message", "exec_approval_request", "exec_command_end", "task_complete"]),
    );
  });

  it("can listen to an archived conversation, and get an error for a deleted one", async () => {
    await using server = await startForThree();
    using alice = await overHttp(server, ALICE);
    const { conversationId, rolloutPath } = await alice.request("newConversation", {});
    await alice.request("addConversationListener", { conversationId });
    await alice.request("sendUserMessage", { conversationId, items: text("!say said") });
    await told(alice, "codex/event/task_complete");
    expect(await alice.request("archiveConversation", { conversationId, rolloutPath })).toEqual({});
    const { subscriptionId } = await alice.request("addConversationListener", { conversationId });
    expect(await alice.request("removeConversationListener", { subscriptionId })).toEqual({});
    rmSync(path.join(server.running.stage.codexHome, "archived_sessions"), { recursive: true });
    expect(valueAt(await alice.request("sendUserMessage", { conversationId, items: text("!say more") }), "error.message")).toBe(
      `conversation not found: ${String(conversationId)}`,
    );
  });

  it("get 1,000 events of their conversation completely and in order, and an operator those of both", async () => {
    await using server = await startForThree();
    using alice = await overHttp(server, ALICE);
    using bob = await overWebSocket(server, BOB);
    using watcher = await overWebSocket(server, OPERATOR);
    const [first, second] = await Promise.all(
      [alice, bob].map(async (client) => (await client.request("newConversation", {}))["conversationId"]),
    );
    for (const conversationId of [first, second]) await watcher.request("addConversationListener", { conversationId });
    await alice.request("addConversationListener", { conversationId: first });
    await bob.request("addConversationListener", { conversationId: second });
    await Promise.all([
      alice.request("sendUserMessage", { conversationId: first, items: text("!tokens 1000", "!say first") }),
      bob.request("sendUserMessage", { conversationId: second, items: text("!tokens 1000", "!say second") }),
    ]);
    await told(alice, "codex/event/task_complete");
    await told(bob, "codex/event/task_complete");
    await told(watcher, "codex/event/task_complete", 2);
    const [hers, his] = [eventsOf(alice, first), eventsOf(bob, second)];
    expect(Math.min(hers.length, his.length)).toBeGreaterThan(1_000);
    expect(eventsOf(watcher, first)).toEqual(hers);
    expect(eventsOf(watcher, second)).toEqual(his);
    for (const events of [hers, his]) {
      const pieces = events.filter((msg) => valueAt(msg, "type") === "agent_message_delta").map((msg) => valueAt(msg, "delta"));
      const whole = events.filter((msg) => valueAt(msg, "type") === "agent_message").map((msg) => valueAt(msg, "message"));
      expect(pieces.join("")).toBe(whole.join(""));
    }
    expect([eventsOf(alice, second), eventsOf(bob, first)]).toEqual([[], []]);
  });
});

it.each([1, 4, 9])("a server that is killed while it stores keys leaves a complete file: after answer %i", async (answers) => {
  await using stage = await setStage();
  const keys = Array.from({ length: 12 }, (_, at) => `sk-${String(at).padStart(2, "0")}-${"k".repeat(4_000)}`);
  {
    await using server = await startServer({ stage, args: ["--engine", "native"] });
    using client = overStdio(server);
    const asked = keys.map((apiKey) => client.request("loginApiKey", { apiKey }));
    // Requests that are cut off get no answer.
    for (const request of asked) request.catch(() => undefined);
    await Promise.all(asked.slice(0, answers));
    server.process.kill("SIGKILL");
    await server.exit();
  }
  const file = path.join(stage.codexHome, "auth.json");
  expect(keys).toContain(valueAt(JSON.parse(readFileSync(file, "utf8")), "OPENAI_API_KEY"));
  expect(statSync(file).mode & 0o777).toBe(0o600);
});
