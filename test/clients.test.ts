import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { completed } from "./support/callResults.js";
import { installInspector } from "./support/clients/inspector.js";
import { OFFICIAL_CLIENTS, type ServerProgram } from "./support/clients/officialClients.js";
import { eventually } from "./support/eventually.js";
import { installPacked, type PackedPackage } from "./support/processes/packedPackage.js";
import { runToEnd } from "./support/processes/runToEnd.js";
import { valueAt } from "./support/scenarios/scenario.js";
import { type Stage, setStage, stageEnvironment } from "./support/stage.js";
import { TOOL_NAMES } from "./support/toolPins.js";

const INSTALL_TIMEOUT_MS = 180_000;

let packed: PackedPackage;
beforeAll(async () => {
  packed = await installPacked();
}, INSTALL_TIMEOUT_MS);
afterAll(() => packed?.[Symbol.asyncDispose]());

function programOn(stage: Stage): ServerProgram {
  const env = stageEnvironment(stage, { name: "", about: "", steps: [] }, {});
  return { command: packed.bins.server, args: ["--engine", "scripted"], cwd: stage.workspace, env };
}

describe.concurrent.each(Object.entries(OFFICIAL_CLIENTS))("the packed server with the %s", (_, connect) => {
  it("shakes hands and lists its tools", async () => {
    await using stage = await setStage();
    await using connection = await connect(programOn(stage));
    expect(connection.client.getServerVersion()).toMatchObject({ name: "codex-mcp-server", title: "Codex" });
    expect(connection.client.getServerCapabilities()).toEqual({ logging: {}, tools: { listChanged: true } });
    const { tools } = await connection.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(TOOL_NAMES);
    expect(await connection.client.ping()).toEqual({});
  });

  it("answers a call and a reply with content that its schema allows", async () => {
    await using stage = await setStage();
    await using connection = await connect(programOn(stage));
    // From here on, the client validates every result against the tool's output schema.
    await connection.client.listTools();
    const first = await connection.call("codex", { prompt: "!say hello" });
    const threadId = String(valueAt(first, "structuredContent.threadId"));
    expect(first).toEqual(completed(threadId, "hello"));
    expect(await connection.call("codex-reply", { threadId, prompt: "!say again" })).toEqual(completed(threadId, "again"));
    expect(connection.events.map((event) => valueAt(event, "msg.type"))).toContain("task_complete");
    expect(connection.complaints).toEqual([]);
  });

  it("reports a failed turn as a result, not as an exception", async () => {
    await using stage = await setStage();
    await using connection = await connect(programOn(stage));
    await connection.client.listTools();
    expect(await connection.call("codex", { prompt: "!status 403 no" })).toMatchObject({ isError: true });
  });

  it("reports progress", async () => {
    await using stage = await setStage();
    await using connection = await connect(programOn(stage));
    const messages: unknown[] = [];
    const abort = new AbortController();
    const call = connection.call(
      "codex",
      { prompt: "!plan look|answer\n!slow 1000 200" },
      { onprogress: ({ message }) => messages.push(message), signal: abort.signal },
    );
    const ended = expect(call).rejects.toThrow();
    await eventually("three messages", () => messages.length >= 3 || undefined);
    abort.abort("seen");
    await ended;
    expect(messages).toEqual([expect.stringMatching(/^Thread [0-9a-f-]{36}: Thinking$/), "Plan: look", "Writing the answer"]);
    expect(connection.complaints).toEqual([]);
  });

  it("stops when the call is aborted, and the thread continues", async () => {
    await using stage = await setStage();
    await using connection = await connect(programOn(stage));
    const abort = new AbortController();
    const call = connection.call("codex", { prompt: "!hang" }, { signal: abort.signal });
    const ended = expect(call).rejects.toThrow();
    const seen = (type: string) => connection.events.find((event) => valueAt(event, "msg.type") === type);
    const started = await eventually("the turn runs", () => seen("user_message"));
    const threadId = String(valueAt(started, "_meta.threadId"));
    abort.abort("no longer wanted");
    await ended;
    await eventually("the turn is aborted", () => seen("turn_aborted"));
    expect(await connection.call("codex-reply", { threadId, prompt: "!say on" })).toEqual(completed(threadId, "on"));
  });

  it("is gone when the client has closed", async () => {
    await using stage = await setStage();
    const connection = await connect(programOn(stage));
    const { pid } = connection;
    await connection.client.close();
    expect(() => process.kill(Number(pid), 0)).toThrow("ESRCH");
  });
});

describe("the packed server with the inspector's command line", { timeout: INSTALL_TIMEOUT_MS }, () => {
  async function inspect(...args: string[]): Promise<unknown> {
    const cli = await installInspector();
    await using stage = await setStage();
    const { command, env } = programOn(stage);
    const { code, stdout, stderr } = await runToEnd([cli, "--cli", command, "--engine", "scripted", ...args], {
      cwd: stage.workspace,
      env,
    });
    expect({ code, stderr }).toMatchObject({ code: 0 });
    return JSON.parse(stdout);
  }

  it("lists its tools", async () => {
    expect(await inspect("--method", "tools/list")).toMatchObject({ tools: TOOL_NAMES.map((name) => ({ name })) });
  });

  it("answers a call", async () => {
    const result = await inspect("--method", "tools/call", "--tool-name", "codex", "--tool-arg", "prompt=!say hi");
    // The client shows all of a result, so the text occurs only once.
    expect(result).toMatchObject({ content: [{ type: "text", text: "hi" }], structuredContent: { content: "hi", status: "completed" } });
    expect(valueAt(result, "content")).toHaveLength(1);
  });
});
