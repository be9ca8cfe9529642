import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { sandbox } from "../sandbox/available.js";
import { completed, refused } from "../support/callResults.js";
import { claimMeta } from "../support/clients/statelessClient.js";
import { eventually } from "../support/eventually.js";
import { mockProvider } from "../support/model/mockProvider.js";
import { type ResponsesServer, startResponsesServer } from "../support/model/responsesServer.js";
import { type McpServer, type ServerStart, startServer } from "../support/processes/mcpServer.js";
import { processesIn } from "../support/processes/processesIn.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { setStage, workspaceFiles } from "../support/stage.js";
import { spokenOn, storyOf } from "../support/threads/storedThread.js";
import { CODEX_TOOLS } from "../support/toolPins.js";

interface Pair extends AsyncDisposable {
  readonly server: McpServer;
  readonly model: ResponsesServer;
}

/** The built server with the engine native, on a model that plays scripts. */
async function startNative({ args = [], config = "", ...start }: ServerStart = {}): Promise<Pair> {
  const model = await startResponsesServer();
  const server = await startServer({ ...start, args: ["--engine", "native", ...args], config: mockProvider(model.url) + config });
  return {
    server,
    model,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await model.close();
    },
  };
}

async function call(server: McpServer, tool: string, args: Readonly<Record<string, unknown>>): Promise<unknown> {
  return server.call(tool, args).result();
}

async function begin(server: McpServer, prompt: string): Promise<string> {
  return String(valueAt(await call(server, "codex", { prompt }), "structuredContent.threadId"));
}

async function listed(server: McpServer, query: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
  const page = valueAt(await call(server, "codex-threads", { action: "list", ...query }), "structuredContent.threads");
  return (page as { id: string }[]).map(({ id }) => id);
}

describe.concurrent("threads", () => {
  it("are listed, forked and archived, and each of them can continue", async () => {
    await using pair = await startNative();
    const { server } = pair;
    const first = await begin(server, "!say one");
    const second = await begin(server, "!say two");
    expect(await listed(server)).toEqual([second, first]);
    const fork = String(valueAt(await call(server, "codex-manage", { action: "fork", threadId: first }), "structuredContent.threadId"));
    expect(await call(server, "codex-reply", { threadId: fork, prompt: "!say three" })).toEqual(completed(fork, "three", "native"));
    expect(await call(server, "codex-reply", { threadId: first, prompt: "!say four" })).toEqual(completed(first, "four", "native"));
    expect(spokenOn(server.stage, fork)).toEqual(["user: !say one", "assistant: one", "user: !say three", "assistant: three"]);
    expect(spokenOn(server.stage, first)).toEqual(["user: !say one", "assistant: one", "user: !say four", "assistant: four"]);

    await call(server, "codex-manage", { action: "archive", threadId: first });
    expect([await listed(server), await listed(server, { archived: true })]).toEqual([[fork, second], [first]]);
    expect(await call(server, "codex-reply", { threadId: first, prompt: "!say five" })).toEqual(completed(first, "five", "native"));
    await call(server, "codex-manage", { action: "unarchive", threadId: first });
    expect(await listed(server, { search: "SAY ONE" })).toEqual([fork, first]);
  });

  it("of a turn that runs are not archived", async () => {
    await using pair = await startNative();
    const { server } = pair;
    const running = server.call("codex", { prompt: "!hang" });
    const threadId = await running.threadId();
    await running.event("task_started");
    const why = `A turn runs or waits on thread ${threadId}. Wait for its answer or cancel it, then ask again. \`codex-wait\` returns its answer, \`codex-manage\` with \`stop\` ends it.`;
    for (const action of ["archive", "fork"]) expect(await call(server, "codex-manage", { action, threadId })).toEqual(refused(why));
  });

  it("outlive the server that began them", async () => {
    await using pair = await startNative();
    const { server, model } = pair;
    const threadId = await begin(server, "!say one");
    await server.closeAndWait();
    await using after = await startServer({ stage: server.stage, args: ["--engine", "native"], config: mockProvider(model.url) });
    const fork = valueAt(await call(after, "codex-manage", { action: "fork", threadId }), "structuredContent.threadId");
    expect(await listed(after)).toEqual([fork, threadId]);
  });
});

describe.concurrent("a turn", () => {
  it("that runs accepts further input, and its call is answered with the result", async () => {
    await using pair = await startNative();
    const { server } = pair;
    const untilTold = "!shell until test -e go; do sleep 0.05; done\n!say alone";
    const running = server.call("codex", { prompt: untilTold, sandbox: "danger-full-access", "approval-policy": "never" });
    await running.event("exec_command_begin");
    const threadId = await running.threadId();
    const added = "Added to the running turn. Its effect is in the answer of that turn, which codex-wait returns.";
    expect(await call(server, "codex-steer", { threadId, prompt: "!say steered" })).toEqual({
      content: [{ text: added, type: "text" }],
      structuredContent: { threadId, content: added },
    });
    writeFileSync(path.join(server.stage.workspace, "go"), "");
    expect(valueAt(await running.result(), "structuredContent")).toMatchObject({ threadId, content: "steered" });
    expect(await call(server, "codex-steer", { threadId, prompt: "!say late" })).toEqual(
      refused(`No turn of thread ${threadId} takes more instructions now. Send them as a reply instead. That is \`codex-reply\`.`),
    );
  });

  it("puts a summary in the place of the past", async () => {
    await using pair = await startNative();
    const { server } = pair;
    const threadId = await begin(server, "!say alpha");
    const compacting = server.call("codex-manage", { action: "compact", threadId });
    expect(await compacting.result()).toEqual(
      completed(threadId, "The thread was summarised: a summary has replaced its history.", "native"),
    );
    await compacting.event("context_compacted");
    expect(await call(server, "codex-reply", { threadId, prompt: "!say on" })).toEqual(completed(threadId, "on", "native"));
  });

  it("reviews changes, and the thread can be asked about them", async () => {
    await using pair = await startNative();
    const { server, model } = pair;
    const { workspace } = server.stage;
    execFileSync("git", ["init", "-q", workspace]);
    writeFileSync(path.join(workspace, "new.txt"), "new\n");
    const review = server.call("codex-review", { target: "custom", instructions: "!say looks fine" });
    const result = await review.result();
    const threadId = await review.threadId();
    expect(result).toEqual(completed(threadId, "looks fine", "native"));
    await review.event("entered_review_mode");
    await review.event("exited_review_mode");
    expect(await call(server, "codex-reply", { threadId, prompt: "!say why" })).toEqual(completed(threadId, "why", "native"));
    const found = await call(server, "codex-review", { target: "custom", instructions: "!say - [P1] Empty — new.txt:1\\n  Why?" });
    expect(valueAt(found, "structuredContent.findings")).toEqual([
      { priority: 1, title: "Empty", file: "new.txt", lines: [1, 1], body: "Why?", confidence: null },
    ]);
    await call(server, "codex-review", { target: "uncommitted" });
    expect(JSON.stringify(model.requests.at(-1)?.body.input)).toMatch(/git (diff|status)/);
    expect(storyOf(server.stage, threadId)).toContain("exited_review_mode");
  });

  it("reports what an MCP server changed", async () => {
    await using stage = await setStage();
    const program = fileURLToPath(new URL("../programs/mcpServerFiles.mjs", import.meta.url));
    const config = `[mcp_servers.files]\ncommand = "${process.execPath}"\nargs = ["${program}", "${stage.workspace}"]\n`;
    await using pair = await startNative({ stage, config, args: ["-s", "danger-full-access", "-a", "never"] });
    const result = await call(pair.server, "codex", { prompt: '!call mcp__files__write {"name":"by-server"}\n!say done' });
    expect(readdirSync(stage.workspace)).toEqual(["by-server"]);
    expect(valueAt(result, "structuredContent.files")).toEqual([{ path: "by-server", kind: "add" }]);
  });

  it.skipIf(sandbox.backend === "none").for([
    ["codex-query", (prompt: string) => ({ prompt })],
    ["codex-review", (instructions: string) => ({ target: "custom", instructions })],
  ] as const)("%s changes nothing and asks nobody, whatever config, rules and MCP servers would allow", async ([tool, argsFor]) => {
    await using stage = await setStage();
    const program = fileURLToPath(new URL("../programs/mcpServerFiles.mjs", import.meta.url));
    const files = `[mcp_servers.files]\ncommand = "${process.execPath}"\nargs = ["${program}", "${stage.workspace}"]\n`;
    await using pair = await startNative({ stage, config: files, args: ["-s", "danger-full-access", "-a", "on-request"] });
    const { server, model } = pair;
    mkdirSync(path.join(server.stage.codexHome, "rules"));
    writeFileSync(path.join(server.stage.codexHome, "rules", "default.rules"), 'prefix_rule(pattern=["touch"], decision="allow")\n');
    await server.initialize("2025-11-25", { elicitation: {} });
    const prompt = [
      "!shell touch by-shell",
      "!escalate touch by-escalation",
      "!patch by-patch.txt hello",
      '!call mcp__files__write {"name":"by-server"}',
      '!call mcp__files__silent {"name":"by-silent-server"}',
      '!call mcp__files__read {"name":"x"}',
      "!say looked",
    ].join("\n");
    const looking = server.call(tool, argsFor(prompt));
    expect(await looking.result()).toMatchObject({ structuredContent: { content: "looked" } });
    expect([readdirSync(stage.workspace), server.questions]).toEqual([[], []]);
    expect(await looking.event("mcp_tool_call_end")).toMatchObject({ invocation: { tool: "read" } });
    // The first request may be sent before the MCP server has started; at the last one it has.
    const offered = JSON.stringify(model.requests.at(-1)?.body["tools"]);
    const names = ["mcp__files__read", "mcp__files__write", "mcp__files__silent", "apply_patch"];
    expect(names.filter((name) => offered.includes(`"${name}"`))).toEqual(["mcp__files__read"]);
    // The same holds for a forked thread, whose history is read from the disk.
    const fork = await call(server, "codex-manage", { action: "fork", threadId: await looking.threadId() });
    const reply = await call(server, "codex-reply", { threadId: valueAt(fork, "structuredContent.threadId"), prompt });
    expect(reply).toMatchObject({ structuredContent: { content: "looked" } });
    expect([readdirSync(stage.workspace), server.questions]).toEqual([[], []]);
  });
});

it.each([
  ["by its name", ["touch", "made"]],
  ["in a script", ["bash", "-c", "cd . && eval 'touch made'"]],
  ["by another path", ["/usr/bin/env", "/usr/bin/touch", "made"]],
  ["in a script that cannot be read", ["bash", "-c", `touch made; ${"# ".repeat(500_000)}`]],
])("a command that the user's rules forbid is refused %s, with full access too", async (_, command) => {
  await using pair = await startNative();
  const { stage } = pair.server;
  mkdirSync(path.join(stage.codexHome, "rules"));
  writeFileSync(path.join(stage.codexHome, "rules/my.rules"), 'prefix_rule(pattern=["touch"], decision="forbidden")\n');
  expect(await call(pair.server, "codex-exec", { command, sandbox: "danger-full-access" })).toEqual(
    refused(
      expect.stringMatching(
        /rejected: (policy forbids commands starting with `touch`|rules forbid some commands or require a question about them)/,
      ),
    ),
  );
  expect(await call(pair.server, "codex-exec", { command: ["echo", "hi"], sandbox: "danger-full-access" })).toMatchObject({
    structuredContent: { stdout: "hi\n" },
  });
  expect(await workspaceFiles(stage)).toEqual({});
});

describe.runIf(sandbox.backend !== "none").concurrent("a command", () => {
  it("runs in the sandbox it names, and its exit code is no error of the call", async () => {
    await using pair = await startNative();
    const { server } = pair;
    expect(await call(server, "codex-exec", { command: ["sh", "-c", "pwd; echo no >&2; exit 3"] })).toEqual({
      content: [{ text: `${server.stage.workspace}\nno\n(exit code 3)`, type: "text" }],
      structuredContent: { exitCode: 3, stdout: `${server.stage.workspace}\n`, stderr: "no\n" },
    });
    expect(valueAt(await call(server, "codex-exec", { command: ["touch", "a.txt"] }), "structuredContent.exitCode")).toBe(1);
    await call(server, "codex-exec", { command: ["touch", "b.txt"], sandbox: "workspace-write" });
    expect(Object.keys(await workspaceFiles(server.stage))).toEqual(["b.txt"]);
    expect(await call(server, "codex-exec", { command: ["no-such-program"] })).toMatchObject({ isError: true });
    const slow = { command: ["sleep", "30"], timeoutMs: 200 };
    expect(valueAt(await call(server, "codex-exec", slow), "structuredContent.exitCode")).toBe(124);
  });

  it("is gone with its call", async () => {
    await using pair = await startNative();
    const { server } = pair;
    const running = server.call("codex-exec", { command: ["sleep", "300"] });
    const others = () => processesIn(server.stage.workspace).filter((pid) => pid !== server.process.pid);
    await eventually("a command at work", () => (others().length > 0 ? true : undefined));
    server.cancel(running.id);
    await eventually("the command's end", () => (others().length === 0 ? true : undefined));
    expect(await server.request("ping")).toEqual({});
    expect(server.answersTo(running.id)).toEqual([]);
  });
});

describe.concurrent("the rest", () => {
  it("models and settings are shown, with secrets masked", async () => {
    await using pair = await startNative({ config: 'experimental_bearer_token = "tok-secret-0123456789"\n' });
    const { server } = pair;
    expect(await call(server, "codex-models", {})).toMatchObject({ structuredContent: { models: [{ isDefault: true }] } });
    const config = await call(server, "codex-config", {});
    expect(valueAt(config, "structuredContent.config.model")).toBe("mock-model");
    expect(JSON.stringify(config)).not.toContain("tok-secret");
  });

  it("a login key is stored and never shown", async () => {
    const key = "sk-secret-0123456789";
    await using pair = await startNative({ env: { LOG_LEVEL: "trace", CODEX_MCP_LOG_PROMPTS: "1" } });
    const { server } = pair;
    await server.initialize();
    await server.request("logging/setLevel", { level: "debug" });
    expect(await call(server, "codex-account", { action: "login", apiKey: key })).toMatchObject({ content: [{ type: "text" }] });
    const state = await call(server, "codex-account", { action: "state" });
    await server.closeAndWait();
    const { codexHome } = server.stage;
    expect(JSON.parse(readFileSync(path.join(codexHome, "auth.json"), "utf8"))).toMatchObject({ OPENAI_API_KEY: key });
    const logs = readdirSync(path.join(codexHome, "log")).map((name) => readFileSync(path.join(codexHome, "log", name), "utf8"));
    expect(logs.join("")).toContain("codex-account");
    expect([...logs, ...server.errorLines, JSON.stringify([state, server.notifications])].join("\n")).not.toContain(key);
  });

  it("a server for strict clients has Codex's two tools alone", async () => {
    await using pair = await startNative({ args: ["--tools", "codex-original"] });
    const { server } = pair;
    const names = valueAt(await server.request("tools/list"), "tools") as { name: string }[];
    expect(names.map(({ name }) => name)).toEqual(CODEX_TOOLS.map(({ name }) => name));
    expect(await call(server, "codex-models", {})).toEqual({
      content: [{ text: "Unknown tool 'codex-models'", type: "text" }],
      isError: true,
    });
  });

  it("clients of the era without sessions have the same tools", async () => {
    await using pair = await startNative();
    const { server } = pair;
    const ask = (name: string, args: object) => server.request("tools/call", { name, arguments: args, _meta: claimMeta({}) });
    const threadId = valueAt(await ask("codex", { prompt: "!say one" }), "structuredContent.threadId");
    expect(await ask("codex-threads", { action: "list" })).toMatchObject({ structuredContent: { threads: [{ id: threadId }] } });
    expect(await ask("codex-manage", { action: "compact", threadId })).toMatchObject({
      structuredContent: { content: expect.stringContaining("summarised") },
    });
    expect(await ask("codex-manage", { action: "fork" })).toMatchObject(
      refused(expect.stringContaining("missing field `threadId`")) as object,
    );
  });
});
