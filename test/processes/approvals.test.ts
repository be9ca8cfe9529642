import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { MAIN, type McpServer, startServer, type ToolCall } from "../support/processes/mcpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { setStage, stageEnvironment } from "../support/stage.js";

const ASKING = { elicitation: {} };
const INTERRUPTED = "The turn was interrupted before it ended: ";

/** A turn that must ask before it creates a file. */
function touch(server: McpServer, file: string): ToolCall {
  return server.call("codex", { prompt: `!shell touch ${file}\n!say done`, "approval-policy": "untrusted", sandbox: "workspace-write" });
}

function made(server: McpServer, file: string): boolean {
  return existsSync(path.join(server.stage.workspace, file));
}

/** The output of the command that the model received. */
function told(call: ToolCall): unknown {
  const item = call.events.map((event) => valueAt(event, "item")).find((each) => valueAt(each, "type") === "function_call_output");
  return valueAt(item, "output");
}

async function textOf(call: ToolCall): Promise<unknown> {
  return valueAt(await call.result(), "structuredContent.content");
}

/** The server still answers other requests and runs another turn of the thread. */
async function goesOn(server: McpServer, call: ToolCall): Promise<void> {
  const reply = server.call("codex-reply", { threadId: await call.threadId(), prompt: "!say again" });
  expect(await textOf(reply)).toBe("again");
}

describe.concurrent("a client that answers", () => {
  it("approved lets the command run", async ({ expect: expectHere }) => {
    await using server = await startServer();
    await server.initialize("2025-11-25", ASKING);
    const call = touch(server, "made.txt");
    const question = await server.question();
    expectHere(question).toMatchObject({ id: 0, method: "elicitation/create", params: { codex_elicitation: "exec-approval" } });
    expectHere(await call.event("exec_approval_request")).toMatchObject({ command: ["/bin/bash", "-lc", "touch made.txt"] });
    expectHere(made(server, "made.txt")).toBe(false);
    server.decide(question, { decision: "approved" });
    expectHere([await textOf(call), made(server, "made.txt")]).toEqual(["done", true]);
  });

  it("denied with a reason keeps it from running, and the model learns why", async ({ expect: expectHere }) => {
    await using server = await startServer();
    await server.initialize("2025-11-25", ASKING);
    const call = touch(server, "made.txt");
    server.decide(await server.question(), { action: "accept", content: { decision: "denied", reason: "use another name" } });
    expectHere([await textOf(call), made(server, "made.txt")]).toEqual(["done", false]);
    expectHere(told(call)).toBe("exec command rejected by user: use another name");
  });

  it("abort ends the turn, and the call is answered", async ({ expect: expectHere }) => {
    await using server = await startServer();
    await server.initialize("2025-11-25", ASKING);
    const call = touch(server, "made.txt");
    server.decide(await server.question(), { decision: "abort" });
    expectHere(await call.result()).toMatchObject({
      isError: true,
      structuredContent: { content: `${INTERRUPTED}the question about touch made.txt was answered "abort" in the client.` },
    });
    expectHere(made(server, "made.txt")).toBe(false);
    await goesOn(server, call);
  });

  it("cancel denies the request, and the turn continues", async ({ expect: expectHere }) => {
    await using server = await startServer();
    await server.initialize("2025-11-25", ASKING);
    const call = touch(server, "made.txt");
    server.decide(await server.question(), { action: "cancel" });
    expectHere([await textOf(call), made(server, "made.txt")]).toEqual(["done", false]);
    expectHere(told(call)).toBe("exec command not approved: the client declined by itself, and nobody was asked");
  });

  it("twice counts once", async ({ expect: expectHere }) => {
    await using server = await startServer();
    await server.initialize("2025-11-25", ASKING);
    const call = touch(server, "made.txt");
    const question = await server.question();
    server.decide(question, { decision: "denied" });
    server.decide(question, { decision: "approved" });
    expectHere([await textOf(call), made(server, "made.txt")]).toEqual(["done", false]);
    await goesOn(server, call);
  });

  it("with a JSON-RPC error counts as a denial", async ({ expect: expectHere }) => {
    await using server = await startServer();
    await server.initialize("2025-11-25", ASKING);
    const call = touch(server, "made.txt");
    const { id } = await server.question();
    server.send({ jsonrpc: "2.0", id, error: { code: -32_600, message: "no dialogs here" } });
    expectHere([await textOf(call), told(call)]).toEqual([
      "done",
      "exec command not approved: the client could not answer: no dialogs here",
    ]);
  });

  it("the questions of two calls in reverse order decides both correctly", async ({ expect: expectHere }) => {
    await using server = await startServer();
    await server.initialize("2025-11-25", ASKING);
    const first = touch(server, "first.txt");
    const one = await server.question(1);
    const second = touch(server, "second.txt");
    const two = await server.question(2);
    server.decide(two, { decision: "approved" });
    expectHere([await textOf(second), made(server, "second.txt"), made(server, "first.txt")]).toEqual(["done", true, false]);
    server.decide(one, { decision: "denied" });
    expectHere([await textOf(first), made(server, "first.txt")]).toEqual(["done", false]);
  });

  it("a patch", async ({ expect: expectHere }) => {
    await using server = await startServer();
    await server.initialize("2025-11-25", ASKING);
    const call = server.call("codex", { prompt: "!patch new.txt hello\n!say done", "approval-policy": "on-request", sandbox: "read-only" });
    const question = await server.question();
    expectHere(valueAt(question, "params.codex_changes")).toEqual({
      [path.join(server.stage.workspace, "new.txt")]: { type: "add", content: "hello\n" },
    });
    server.decide(question, { decision: "approved" });
    expectHere([await textOf(call), made(server, "new.txt")]).toEqual(["done", true]);
  });

  it("a patch that its sandbox stopped, with the reason of the question", async ({ expect: expectHere }) => {
    await using server = await startServer();
    await server.initialize("2025-11-25", ASKING);
    const call = server.call("codex", { prompt: "!patch new.txt hello\n!say done", "approval-policy": "on-failure", sandbox: "read-only" });
    const question = await server.question();
    const reason = "command failed; retry without sandbox?";
    expectHere(valueAt(question, "params.codex_reason")).toBe(reason);
    expectHere(String(valueAt(question, "params.message")).split("\n").slice(0, 2)).toEqual([
      reason,
      "Allow Codex to apply proposed code changes?",
    ]);
    server.decide(question, { decision: "approved" });
    expectHere([await textOf(call), made(server, "new.txt")]).toEqual(["done", true]);
  });
});

describe.concurrent("a client that never answers", () => {
  it("and cancels gets the withdrawal of the question; its late answer has no effect", async ({ expect: expectHere }) => {
    await using server = await startServer();
    await server.initialize("2025-11-25", ASKING);
    const call = touch(server, "made.txt");
    const question = await server.question();
    server.cancel(call.id);
    await call.event("turn_aborted");
    const withdrawal = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: question["id"] } };
    await server.waitFor("withdrawal", () => server.notifications.find(({ method }) => method === "notifications/cancelled"));
    expectHere(server.notifications).toContainEqual(withdrawal);
    server.decide(question, { decision: "approved" });
    await goesOn(server, call);
    expectHere([server.answersTo(call.id), made(server, "made.txt")]).toEqual([[], false]);
  });

  it("and closes its side ends the server, its call answered", async ({ expect: expectHere }) => {
    await using server = await startServer({ args: ["--engine", "scripted", "--eof-grace", "0.1"] });
    await server.initialize("2025-11-25", ASKING);
    const call = touch(server, "made.txt");
    await server.question();
    expectHere(await server.closeAndWait()).toEqual({ code: 0, signal: null });
    expectHere(await call.result()).toMatchObject({
      isError: true,
      structuredContent: { content: `${INTERRUPTED}the server is shutting down.` },
    });
    expectHere(made(server, "made.txt")).toBe(false);
  });

  it("has denied at the deadline", async ({ expect: expectHere }) => {
    await using server = await startServer({ config: "[mcp_server]\napproval_timeout_minutes = 0.005\n" });
    await server.initialize("2025-11-25", ASKING);
    const call = touch(server, "made.txt");
    expectHere(await textOf(call)).toBe("done");
    expectHere(told(call)).toBe("exec command not approved: nobody answered within 1 second");
  });
});

describe.concurrent("a client without support for questions", () => {
  const withFallback = (fallback: string) => startServer({ args: ["--engine", "scripted", "--approval-fallback", fallback] });

  it("has commands run inside the sandbox, and never outside, unless configured otherwise", async ({ expect: expectHere }) => {
    await using server = await startServer();
    await server.initialize();
    const inside = touch(server, "made.txt");
    expectHere([await textOf(inside), made(server, "made.txt")]).toEqual(["done", true]);
    const outside = touch(server, "../outside.txt");
    expectHere([await textOf(outside), made(server, "../outside.txt")]).toEqual(["done", false]);
    expectHere(told(outside)).toMatch(/^exec command not approved: this would leave the sandbox/);
    const dangerous = touch(server, "x; rm -rf made.txt");
    expectHere([await textOf(dangerous), made(server, "made.txt")]).toEqual(["done", true]);
    expectHere(server.questions).toEqual([]);
  });

  it("has everything denied under deny", async ({ expect: expectHere }) => {
    await using server = await withFallback("deny");
    await server.initialize();
    const call = touch(server, "made.txt");
    expectHere([await textOf(call), made(server, "made.txt")]).toEqual(["done", false]);
    expectHere(told(call)).toMatch(/nobody can be asked/);
  });

  it("has its questions kept open under hold, and the result lists them", async ({ expect: expectHere }) => {
    await using server = await withFallback("hold");
    await server.initialize();
    const call = touch(server, "made.txt");
    const running = await call.result();
    expectHere([valueAt(running, "structuredContent.status"), made(server, "made.txt"), server.questions]).toEqual(["running", false, []]);
    const id = valueAt(running, "structuredContent.questions.0.id");
    const threadId = await call.threadId();
    await server.call("codex-answer", { id, decision: "approve" }).result();
    expectHere([await textOf(server.call("codex-wait", { threadId })), made(server, "made.txt")]).toEqual(["done", true]);
    await goesOn(server, call);
  });

  it("is still asked under ask", async ({ expect: expectHere }) => {
    await using server = await withFallback("ask");
    await server.initialize();
    const call = touch(server, "made.txt");
    server.decide(await server.question(), { decision: "approved" });
    expectHere([await textOf(call), made(server, "made.txt")]).toEqual(["done", true]);
  });
});

describe("the official client", () => {
  it.for([
    ["approves", { decision: "approved" }, true],
    ["denies", { decision: "denied", reason: "no" }, false],
  ] as const)("%s with the form it was given", async ([, content, expected]) => {
    await using stage = await setStage();
    const client = new Client({ name: "official", version: "1.0.0" }, { capabilities: { elicitation: {} } });
    const seen: unknown[] = [];
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      seen.push(params);
      return { action: "accept", content };
    });
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [MAIN, "--engine", "scripted"],
        cwd: stage.workspace,
        env: stageEnvironment(stage, { name: "", about: "", steps: [] }, {}),
        stderr: "ignore",
      }),
    );
    try {
      const args = { prompt: "!shell touch made.txt\n!say done", "approval-policy": "untrusted", sandbox: "workspace-write" };
      const result = await client.callTool({ name: "codex", arguments: args });
      expect(result.structuredContent).toMatchObject({
        content: "done",
        approvals: { asked: 1, allowed: expected ? 1 : 0, denied: expected ? 0 : 1 },
      });
      expect(seen).toMatchObject([
        {
          message: `Allow Codex to run \`/bin/bash -lc 'touch made.txt'\` in \`${stage.workspace}\`?`,
          requestedSchema: { properties: { decision: { enum: ["approved", "approved_for_session", "denied", "abort"] } } },
          _meta: { "codex-mcpd/approval": { kind: "command", codex_command: ["/bin/bash", "-lc", "touch made.txt"] } },
        },
      ]);
      expect(existsSync(path.join(stage.workspace, "made.txt"))).toBe(expected);
    } finally {
      await client.close();
    }
  });
});

describe("a question of one of the agent's own MCP servers", () => {
  const program = fileURLToPath(new URL("../programs/mcpServerOfficial.mjs", import.meta.url));
  const ask = (server: McpServer) =>
    server.call("codex", {
      prompt: "!call mcp__official__ask {}\n!say done",
      config: { mcp_servers: { official: { command: process.execPath, args: [program] } } },
    });

  it("reaches the client, and the answer reaches the MCP server", async () => {
    await using server = await startServer();
    await server.initialize("2025-11-25", ASKING);
    const call = ask(server);
    const question = await server.question();
    expect(question).toMatchObject({
      params: { message: "official: Which colour?", codex_elicitation: "mcp-elicitation", codex_mcp_server: "official" },
    });
    server.decide(question, { action: "accept", content: { colour: "red" } });
    expect(await textOf(call)).toBe("done");
    expect(JSON.parse(String(told(call)))).toEqual({ action: "accept", content: { colour: "red" } });
    expect(await call.event("elicitation_request")).toMatchObject({ server_name: "official", message: "Which colour?" });
  });

  it("is cancelled by an answer that does not fit its form", async () => {
    await using server = await startServer();
    await server.initialize("2025-11-25", ASKING);
    const form = { properties: { count: { type: "integer", maximum: 9 } } };
    const call = server.call("codex", {
      prompt: `!call mcp__official__fill ${JSON.stringify(form)}\n!say done`,
      config: { mcp_servers: { official: { command: process.execPath, args: [program] } } },
    });
    server.decide(await server.question(), { action: "accept", content: { count: 10 } });
    expect(await textOf(call)).toBe("done");
    expect(JSON.parse(String(told(call)))).toEqual({ action: "cancel" });
  });

  it("is declined for a client that cannot be asked", async () => {
    await using server = await startServer();
    await server.initialize("2025-11-25", {});
    const call = ask(server);
    expect(await textOf(call)).toBe("done");
    expect(JSON.parse(String(told(call)))).toEqual({ action: "decline" });
  });
});
