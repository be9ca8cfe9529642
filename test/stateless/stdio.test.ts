import { describe, expect, it } from "vitest";
import { claimMeta, FORMS, TASKS } from "../support/clients/statelessClient.js";
import { rpc } from "../support/http/httpClient.js";
import { type McpServer, startServer } from "../support/processes/mcpServer.js";
import { isRecord, valueAt } from "../support/scenarios/scenario.js";

const ENDED_CLEANLY = { code: 0, signal: null };
const ASKING = { prompt: "!shell touch made.txt", "approval-policy": "untrusted", sandbox: "workspace-write" };
const LATER = { ...FORMS, ...TASKS };

function send(server: McpServer, id: string, method: string, params: Readonly<Record<string, unknown>>, capabilities = {}): void {
  server.send(rpc(id, method, { ...params, _meta: claimMeta(capabilities) }));
}

async function ask(server: McpServer, id: string, method: string, params: Readonly<Record<string, unknown>>, capabilities = {}) {
  send(server, id, method, params, capabilities);
  return server.answer(id);
}

describe.concurrent("the end of input", () => {
  it("ends a turn that waits for its client: it cannot come back", async () => {
    await using server = await startServer({
      args: ["--engine", "scripted", "--eof-grace", "0.1", "-c", "mcp_server.task_after_seconds=1"],
    });
    expect(await ask(server, "c", "tools/call", { name: "codex", arguments: ASKING }, FORMS)).toMatchObject({
      result: { resultType: "input_required" },
    });
    expect(await server.closeAndWait()).toMatchObject(ENDED_CLEANLY);
    expect(await server.leftBehind()).toEqual([]);
  });

  it("interrupts a task, and the next server reports it", async () => {
    await using server = await startServer({
      args: ["--engine", "scripted", "--eof-grace", "0.1", "-c", "mcp_server.task_after_seconds=1"],
    });
    const handle = await ask(server, "c", "tools/call", { name: "codex", arguments: { prompt: "!shell sleep 656" } }, LATER);
    const taskId = valueAt(handle, "result.taskId");
    expect(await server.closeAndWait()).toMatchObject(ENDED_CLEANLY);
    expect(await server.leftBehind()).toEqual([]);
    await using next = await startServer({ stage: server.stage });
    const { result } = await ask(next, "g", "tasks/get", { taskId }, LATER);
    expect(isRecord(result) && result).toMatchObject({ status: "completed", result: { isError: true } });
    expect(valueAt(result, "result.content.0.text")).toContain("interrupted");
  });

  it("lets a task finish that does so in time", async () => {
    await using server = await startServer({
      args: ["--engine", "scripted", "--eof-grace", "10", "-c", "mcp_server.task_after_seconds=1"],
    });
    const handle = await ask(server, "c", "tools/call", { name: "codex", arguments: { prompt: "!delay 1500\n!say finished" } }, LATER);
    const taskId = valueAt(handle, "result.taskId");
    expect(await server.closeAndWait()).toMatchObject(ENDED_CLEANLY);
    await using next = await startServer({ stage: server.stage });
    const { result } = await ask(next, "g", "tasks/get", { taskId }, LATER);
    expect(result).toMatchObject({ status: "completed", result: { structuredContent: { content: "finished" } } });
  });

  it("lets a listener go at once, with a result", async () => {
    await using server = await startServer({ args: ["--engine", "scripted", "--eof-grace", "60"] });
    send(server, "s", "subscriptions/listen", { notifications: { toolsListChanged: true } });
    await server.waitFor("acknowledgement", () => server.notifications[0]);
    server.process.closeStdin();
    expect(await server.answer("s")).toMatchObject({
      result: { resultType: "complete", _meta: { "io.modelcontextprotocol/subscriptionId": "s" } },
    });
    expect(await server.exit()).toMatchObject(ENDED_CLEANLY);
  });
});
