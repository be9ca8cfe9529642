import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.js";
import { rpc } from "../support/http/httpClient.js";
import { startHttpServer } from "../support/http/httpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";

const LEGACY = { http: "legacy_sse = true" };

describe.concurrent("the HTTP+SSE transport of 2024-11-05", () => {
  it("is served only if configured", async () => {
    await using server = await startHttpServer();
    expect((await server.ask({ path: "/sse" })).status).toBe(404);
    expect((await server.ask({ path: "/messages?sessionId=x", message: rpc(1, "ping") })).status).toBe(404);
  });

  it("serves its official client: handshake, call, question, events and cancel", async () => {
    await using server = await startHttpServer(LEGACY);
    const client = new Client({ name: "old", version: "1" }, { capabilities: { elicitation: {} } });
    const steps: unknown[] = [];
    client.fallbackNotificationHandler = async ({ params }) => void steps.push(valueAt(params, "msg.type"));
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { decision: "approved" } }));
    await client.connect(new SSEClientTransport(new URL(`${server.origin}/sse`)));
    try {
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain("codex");
      const asked = { prompt: "!shell touch made.txt", "approval-policy": "untrusted", sandbox: "workspace-write" };
      expect(await client.callTool({ name: "codex", arguments: asked })).toMatchObject({ structuredContent: { content: "done" } });
      expect(steps).toEqual(expect.arrayContaining(["exec_approval_request", "exec_command_end", "task_complete"]));
      const abort = new AbortController();
      const unwanted = expect(
        client.callTool({ name: "codex", arguments: { prompt: "!hang" } }, undefined, { signal: abort.signal }),
      ).rejects.toThrow();
      const before = steps.length;
      await eventually("the turn", () => steps.slice(before).find((step) => step === "user_message"));
      abort.abort();
      await unwanted;
      await eventually("its end", () => steps.find((step) => step === "turn_aborted"));
      expect(await client.ping()).toEqual({});
    } finally {
      await client.close();
    }
  });

  it("ends the session and what it runs when the stream is closed", async () => {
    await using server = await startHttpServer(LEGACY);
    using stream = await server.stream({ path: "/sse" });
    const { data: address } = await eventually("the address", () => stream.events.find(({ event }) => event === "endpoint"));
    const id = new URLSearchParams(address.split("?")[1]).get("sessionId") ?? "";
    expect(
      (await server.ask({ path: address, message: rpc(1, "tools/call", { name: "codex", arguments: { prompt: "!hang" } }) })).status,
    ).toBe(202);
    await server.sessionWhere(id, (seen) => seen?.running === 1);
    stream.breakOff();
    await server.sessionWhere(id, (seen) => seen === undefined);
    expect((await server.ask({ path: address, message: rpc(2, "ping") })).status).toBe(404);
  });

  it("accepts no messages for sessions of the newer transport, nor without a session", async () => {
    await using server = await startHttpServer(LEGACY);
    const { session } = await server.ask({ message: rpc(1, "ping") });
    for (const path of [`/messages?sessionId=${session}`, "/messages", "/messages?sessionId=nobody"])
      expect((await server.ask({ path, message: rpc(1, "ping") })).status).toBe(404);
    expect((await server.ask({ path: "/messages?sessionId=x y", message: rpc(1, "ping") }).catch(() => ({ status: 400 }))).status).toBe(
      400,
    );
    expect((await server.ask({ path: "/sse", message: rpc(1, "ping") })).status).toBe(405);
    expect((await server.ask({ path: "/messages" })).status).toBe(405);
  });
});
