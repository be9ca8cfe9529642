import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { interrupted } from "../support/callResults.js";
import { eventually } from "../support/eventually.js";
import { handshake, rpc, SPEC, SPEC_LATER, toolCall } from "../support/http/httpClient.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { openSocket } from "../support/http/httpSocketClient.js";
import { valueAt } from "../support/scenarios/scenario.js";

const ENDED_CLEANLY = { code: 0, signal: null };

async function rollout({ running }: HttpServer): Promise<string> {
  const folder = path.join(running.stage.codexHome, "sessions");
  const names = await readdir(folder, { recursive: true });
  return readFile(path.join(folder, names.find((name) => name.endsWith(".jsonl")) ?? "none"), "utf8");
}

describe.concurrent("a server that receives a signal to end", () => {
  it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("by %s does so at once when it is idle", async (signal) => {
    await using server = await startHttpServer();
    await server.ask({ message: rpc(1, "ping") });
    server.running.process.kill(signal);
    expect(await server.running.exit()).toEqual(ENDED_CLEANLY);
    await expect(server.ask({ message: rpc(1, "ping") })).rejects.toThrow("ECONNREFUSED");
  });

  it("lets a turn finish within the grace, and delivers its answer", async () => {
    await using server = await startHttpServer();
    using watching = await server.stream({});
    const asked = server.ask({
      headers: { "mcp-session-id": watching.session ?? "" },
      message: toolCall(1, { prompt: "!slow 20 30" }),
    });
    await watching.step("agent_message_delta");
    server.running.process.kill("SIGTERM");
    const { body } = await asked;
    expect(valueAt(body, "result.isError")).toBeUndefined();
    expect(await watching.answerTo(1)).toEqual(body);
    expect(await watching.end()).toBe("gracefully");
    expect(await server.running.exit()).toEqual(ENDED_CLEANLY);
    expect(await rollout(server)).toContain("w19");
  });

  it("interrupts a longer turn, answers its call, stores it and leaves nothing running", async () => {
    await using server = await startHttpServer({ http: "shutdown_grace_seconds = 0.3" });
    using watching = await server.stream({});
    const own = { "mcp-session-id": watching.session ?? "" };
    const asked = server.ask({ headers: own, message: toolCall(1, { prompt: "!shell sleep 600" }) });
    await watching.step("exec_command_begin");
    await eventually("the command", () => server.running.started().find(({ commandLine }) => commandLine.includes("sleep 600")));
    server.running.process.kill("SIGTERM");
    const { body } = await asked;
    expect(body).toMatchObject({ id: 1, result: { isError: true, structuredContent: { status: "interrupted" } } });
    expect(await watching.answerTo(1)).toEqual(body);
    expect(await server.running.exit()).toEqual(ENDED_CLEANLY);
    expect(await server.running.leftBehind()).toEqual([]);
    expect(await rollout(server)).toContain("turn_aborted");
  });

  it("answers the call of a spec client on its own stream, and ends every stream and socket", async () => {
    await using server = await startHttpServer({ http: "shutdown_grace_seconds = 0.3" });
    const { session = "" } = await server.ask({ headers: SPEC, message: handshake(0) });
    const own = { ...SPEC_LATER, "mcp-session-id": session };
    using shared = await server.stream({ headers: own });
    using call = await server.stream({ headers: own, message: toolCall(1, { prompt: "!hang" }) });
    using socket = await openSocket(server.origin);
    using plain = await server.stream({});
    server.running.process.kill("SIGTERM");
    const answer = await call.answerTo(1);
    expect(answer["result"]).toEqual(interrupted(String(valueAt(answer, "result.structuredContent.threadId"))));
    expect([await call.end(), await shared.end(), await plain.end()]).toEqual(["gracefully", "gracefully", "gracefully"]);
    expect((await socket.close()).code).toBeOneOf([1000, 1001]);
    expect(await server.running.exit()).toEqual(ENDED_CLEANLY);
  });

  it("is no longer ready while turns finish, accepts no new connections, and says so on open ones", async () => {
    await using server = await startHttpServer();
    using watching = await server.stream({});
    const own = { "mcp-session-id": watching.session ?? "" };
    const asked = server.ask({ headers: own, message: toolCall(1, { prompt: "!slow 40 25" }) });
    await watching.step("agent_message_delta");
    server.running.process.kill("SIGTERM");
    await eventually("the line that says so", () => server.running.errorLines.find((line) => line.includes("shutting down")));
    await expect(server.ask({ path: "/readyz" })).rejects.toThrow("ECONNREFUSED");
    expect((await asked).status).toBe(200);
    await server.running.exit();
  });

  it("delivers an answer of many megabytes before it ends", async () => {
    await using server = await startHttpServer();
    using watching = await server.stream({});
    const asked = server.ask({
      headers: { "mcp-session-id": watching.session ?? "" },
      message: toolCall(1, { prompt: `!delay 500\n!say ${"x".repeat(3_900_000)}`, "result-tokens": 1_000_000 }),
    });
    await watching.step("user_message");
    server.running.process.kill("SIGTERM");
    expect(valueAt((await asked).body, "result.structuredContent.content")).toHaveLength(3_900_000);
    expect(await server.running.exit()).toEqual(ENDED_CLEANLY);
  });

  it("ends at once at a second signal", async () => {
    await using server = await startHttpServer();
    using call = await server.stream({ headers: { "x-mcp-post-stream": "1" }, message: toolCall(1, { prompt: "!hang" }) });
    await call.step("user_message");
    server.running.process.kill("SIGTERM");
    await eventually("the first signal's line", () => server.running.errorLines.find((line) => line.includes("shutting down")));
    server.running.process.kill("SIGTERM");
    expect(await server.running.exit()).toEqual({ code: 143, signal: null });
    expect(await server.running.leftBehind()).toEqual([]);
  });
});
