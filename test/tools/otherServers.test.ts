import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv";
import { describe, expect, it } from "vitest";
import { OFFICIAL_CLIENTS } from "../support/clients/officialClients.js";
import { handshake, toolCall } from "../support/http/httpClient.js";
import { startHttpServer } from "../support/http/httpServer.js";
import { ALICE, BOB, type Headers, threePrincipals } from "../support/http/threePrincipals.js";
import { mockProvider } from "../support/model/mockProvider.js";
import { startResponsesServer } from "../support/model/responsesServer.js";
import { MAIN, type McpServer, startServer } from "../support/processes/mcpServer.js";
import { runToEnd } from "../support/processes/runToEnd.js";
import { isRecord, valueAt } from "../support/scenarios/scenario.js";
import { type Stage, setStage, stageEnvironment } from "../support/stage.js";
import pins from "../support/toolPins.generated.json" with { type: "json" };

// The tool sets of other servers on the built server: the documented examples on stdio and HTTP, and clients that validate the results.

type Json = Readonly<Record<string, unknown>>;
type Call = (tool: string, args: Json) => Promise<unknown>;

const GIT = ["-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false"];

/** Creates a branch with a commit and an uncommitted file, and returns the commit. */
function repository({ workspace }: Stage): string {
  const git = (...args: string[]) => execFileSync("git", [...GIT, ...args], { cwd: workspace, encoding: "utf8" });
  git("init", "--quiet", "--initial-branch=main");
  writeFileSync(path.join(workspace, "a.txt"), "one\n");
  git("add", ".");
  git("commit", "--quiet", "--message=first");
  git("checkout", "--quiet", "-b", "topic");
  writeFileSync(path.join(workspace, "a.txt"), "two\n");
  git("commit", "--quiet", "--all", "--message=second");
  writeFileSync(path.join(workspace, "b.txt"), "new\n");
  return git("rev-parse", "HEAD").trim();
}

/** Every example of the package's documentation, in its order. */
async function playExamples(call: Call, commit: string): Promise<void> {
  const text = async (tool: string, args: Json) => {
    const result = await call(tool, args);
    expect(result, `${tool} ${JSON.stringify(args)}`).not.toHaveProperty("isError");
    return result;
  };
  await text("codex", { prompt: "Explain this Python function and suggest improvements" });
  const replaced = await text("codex", { prompt: "Perform complex architectural analysis", model: "gpt-4", reasoningEffort: "high" });
  expect(valueAt(replaced, "content.0._meta.model")).toEqual(expect.any(String));
  const first = await text("codex", { prompt: "Continue our previous discussion", sessionId: "my-coding-session" });
  const reset = await text("codex", { prompt: "Start fresh analysis", sessionId: "my-coding-session", resetSession: true });
  expect(valueAt(reset, "content.0._meta.threadId")).not.toBe(valueAt(first, "content.0._meta.threadId"));
  await text("review", { uncommitted: true });
  await text("review", { base: "main", prompt: "Focus on security vulnerabilities" });
  await text("review", { commit, title: "Security Audit" });
  const [session] = JSON.parse(String(valueAt(await text("listSessions", {}), "content.0.text"))) as Json[];
  expect(session).toMatchObject({ id: "my-coding-session", turnCount: 1 });
  expect(valueAt(await text("ping", { message: "Hello, server!" }), "content")).toEqual([{ type: "text", text: "Hello, server!" }]);
  expect(String(valueAt(await text("help", {}), "content.0.text")).length).toBeGreaterThan(100);
  await text("websearch", { query: "temporal" });
}

async function onStdio(server: McpServer): Promise<Call> {
  await server.initialize();
  return (tool, args) => server.call(tool, args).result();
}

describe("the documented examples of the npm package run", () => {
  it("on stdio with the engine native, where the provider does not have gpt-4", async () => {
    await using model = await startResponsesServer({ models: () => ["gpt-6.1-sol", "mock-model"] });
    await using stage = await setStage();
    const commit = repository(stage);
    await using server = await startServer({
      stage,
      args: ["--engine", "native", "--tools", "codex-cli"],
      config: mockProvider(model.url),
    });
    const call = await onStdio(server);
    await playExamples(call, commit);
    const replaced = await call("codex", { prompt: "!say ok", model: "gpt-4" });
    expect(valueAt(replaced, "content.0._meta.model")).toBe("gpt-6.1-sol");
    expect(valueAt(replaced, "content.1.text")).toBe("The model `gpt-4` is not offered: `gpt-6.1-sol` was used in its place.");
  });

  it("over HTTP, and a session is its principal's there", async () => {
    await using stage = await setStage();
    const commit = repository(stage);
    await using server = await startHttpServer({ stage, args: ["--tools", "codex-cli", ...(await threePrincipals(stage))] });
    let id = 0;
    const open = async (who: Headers): Promise<Call> => {
      const { session = "" } = await server.ask({ headers: who, message: handshake(0) });
      return async (tool, args) => {
        const { body } = await server.ask({ headers: { ...who, "mcp-session-id": session }, message: toolCall(++id, args, tool) });
        return valueAt(body, "result");
      };
    };
    const [alice, again, bob] = [await open(ALICE), await open(ALICE), await open(BOB)];
    await playExamples(alice, commit);
    const threadOf = async (call: Call) =>
      valueAt(await call("codex", { prompt: "!say ok", sessionId: "shared" }), "structuredContent.threadId");
    const hers = await threadOf(alice);
    expect(await threadOf(again)).toBe(hers);
    expect(await threadOf(bob)).not.toBe(hers);
    expect(await bob("codex", { prompt: "!say ok", callbackUri: "cb:1" })).toMatchObject({ isError: true });
    expect(await bob("codex", { prompt: "!say ok", sandbox: "danger-full-access" })).toMatchObject({ isError: true });
  });
});

it("a session continues after a restart, and a cancelled call ends its command", async () => {
  await using first = await startServer({ args: ["--engine", "scripted", "--tools", "codex-cli"] });
  const call = await onStdio(first);
  const folder = path.join(first.stage.workspace, "w");
  mkdirSync(folder);
  const begun = await call("codex", { prompt: "!say one", sessionId: "s", sandbox: "workspace-write", workingDirectory: folder });
  await first.closeAndWait();
  await using second = await startServer({ stage: first.stage, args: ["--engine", "scripted", "--tools", "codex-cli"] });
  const later = await onStdio(second);
  const gone = await later("codex", { prompt: "!shell touch made\n!say two", sessionId: "s" });
  expect(valueAt(gone, "structuredContent.threadId")).toBe(valueAt(begun, "structuredContent.threadId"));
  expect(existsSync(path.join(folder, "made"))).toBe(true);
  const hanging = second.call("codex", { prompt: "!shell sleep 300", sessionId: "s" }, { meta: { progressToken: 0 } });
  await second.waitFor("the command", () =>
    second.notifications.find((message) => valueAt(message, "params.message") === "Running sleep 300"),
  );
  second.cancel(hanging.id);
  expect(valueAt(await later("codex", { prompt: "!say three", sessionId: "s" }), "content.0.text")).toBe("three");
});

it.for(["codex,codex-cli", "codex-original,codex-cli"])("--tools %s is refused with an error that names both sets", async (sets) => {
  await using stage = await setStage();
  const env = stageEnvironment(stage, { name: "", about: "", steps: [] }, {});
  const { code, stderr } = await runToEnd([process.execPath, MAIN, "--tools", sets], { cwd: stage.workspace, env });
  expect(code).toBe(2);
  expect(stderr).toContain(`The tool sets ${sets.split(",").join(" and ")} both have a tool codex: choose one of them.`);
});

describe.each(Object.entries(OFFICIAL_CLIENTS))("a strict client (%s) accepts every result", (_, connect) => {
  it.each(["codex", "codex,extras", "codex-original", "codex-cli", "openoxide"])("of the set %s", async (set) => {
    await using stage = await setStage();
    repository(stage);
    const env = { ...stageEnvironment(stage, { name: "", about: "", steps: [] }, {}), CODEX_MCP_TOOLS: set };
    await using connection = await connect({ command: process.execPath, args: [MAIN, "--engine", "scripted"], cwd: stage.workspace, env });
    const { tools } = await connection.client.listTools();
    let threadId = "01a1deff-64d2-720b-95d7-1a4692eca0f5";
    const examples: Readonly<Record<string, Json>> = pins.examples;
    // Where a tool's own example does not fit this folder or needs a thread.
    const calls: Readonly<Record<string, () => Json>> = {
      codex: () => (set === "codex-cli" ? { prompt: "!say ok", sessionId: "s" } : { prompt: "!shell true\n!say ok" }),
      "codex-reply": () => ({ threadId, prompt: "!say again" }),
      "codex-query": () => ({ prompt: "!say looked" }),
      "codex-review": () => ({ target: "uncommitted" }),
      "codex-wait": () => ({ threadId }),
      "codex-threads": () => ({ action: "read", threadId }),
      "codex-answer": () => ({ id: "nothing", decision: "approve" }),
      "codex-steer": () => ({ threadId, prompt: "faster" }),
      "codex-manage": () => ({ action: "fork", threadId }),
      "codex-exec": () => ({ command: ["true"] }),
      review: () => ({ uncommitted: true }),
      websearch: () => ({ query: "x" }),
      openoxide: () => ({ prompt: "!say ok" }),
      "openoxide-reply": () => ({ thread_id: threadId, prompt: "!say again" }),
      "openoxide-query": () => ({ query: "!say ok" }),
    };
    const validator = new AjvJsonSchemaValidator();
    for (const { name, inputSchema, outputSchema } of tools) {
      const args = calls[name]?.() ?? examples[name] ?? {};
      expect(validator.getValidator(inputSchema as never)(args).valid).toBe(true);
      const result = await connection.call(name, args);
      if (!isRecord(result)) throw new Error("no result");
      const named = valueAt(result, "structuredContent.threadId") ?? valueAt(result, "structuredContent.thread_id");
      if (typeof named === "string") threadId = named;
      if (outputSchema && !result["isError"])
        expect(validator.getValidator(outputSchema as never)(result["structuredContent"]).valid).toBe(true);
    }
    expect(connection.complaints).toEqual([]);
  });
});
