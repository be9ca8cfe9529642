import { expect, it } from "vitest";
import { completed } from "../../../test/support/callResults.js";
import { claimMeta, FORMS, StatelessClient } from "../../../test/support/clients/statelessClient.js";
import { MemorySession } from "../../../test/support/memory/memorySession.js";
import { valueAt } from "../../../test/support/scenarios/scenario.js";
import { EVENTS_EXTENSION } from "../stateless/request.js";

const WITH_EVENTS = claimMeta({ ...FORMS, extensions: { [EVENTS_EXTENSION]: {} } });

/** One connection that carries both eras. */
class Pipe implements AsyncDisposable {
  readonly modern = new StatelessClient();
  readonly session = new MemorySession({ agent: this.modern.agent, parts: { stateless: async () => this.modern.server } });

  ask(method: string, params: Readonly<Record<string, unknown>> = {}, id?: number): Promise<Readonly<Record<string, unknown>>> {
    return this.session.request(method, { ...params, _meta: claimMeta() }, id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.session[Symbol.asyncDispose]();
    await this.modern[Symbol.asyncDispose]();
  }
}

it("a client that tries the newer era first and falls back is served like any other", async () => {
  await using pipe = new Pipe();
  expect(await pipe.ask("server/discover")).toMatchObject({ result: { supportedVersions: ["2026-07-28"], ttlMs: expect.any(Number) } });
  expect(await pipe.session.initialize("2025-06-18")).toMatchObject({ result: { protocolVersion: "2025-06-18" } });
  expect((await pipe.session.request("tools/list"))["result"]).toEqual({ tools: expect.any(Array) });
});

it("the newer era cannot be negotiated by a handshake", async () => {
  await using pipe = new Pipe();
  expect(await pipe.session.initialize("2026-07-28")).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
});

it.each(["initialize", "ping", "logging/setLevel", "resources/subscribe", "tasks/list", "constructor"])(
  "%s does not exist in the newer era",
  async (method) => {
    await using pipe = new Pipe();
    expect(await pipe.ask(method)).toMatchObject({ error: { code: -32601 } });
  },
);

it("the newer era does not exist for requests that do not name it", async () => {
  await using pipe = new Pipe();
  expect(await pipe.session.request("server/discover")).toMatchObject({ error: { code: -32601 } });
  expect(await pipe.session.request("ping", { _meta: {} })).toMatchObject({ result: {} });
});

it("requests of both eras that are in flight together are each answered in their own way", async () => {
  await using pipe = new Pipe();
  await pipe.session.initialize();
  const [legacy, modern] = await Promise.all([
    pipe.session.request("tools/call", { name: "codex", arguments: { prompt: "!say old" } }),
    pipe.ask("tools/call", { name: "codex", arguments: { prompt: "!say new" } }),
  ]);
  expect(legacy["result"]).toEqual(completed(String(valueAt(legacy, "result.structuredContent.threadId")), "old"));
  expect(modern["result"]).toMatchObject({ resultType: "complete", structuredContent: { content: "new" } });
});

it("`notifications/cancelled` ends a request of either era, which is not answered", async () => {
  await using pipe = new Pipe();
  await pipe.session.initialize();
  const { session } = pipe;
  session.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "codex", arguments: { prompt: "!hang" } } });
  session.send({
    jsonrpc: "2.0",
    id: 2,
    method: "tools/call",
    params: { name: "codex", arguments: { prompt: "!hang" }, _meta: WITH_EVENTS },
  });
  session.send({ jsonrpc: "2.0", id: 3, method: "subscriptions/listen", params: { notifications: {}, _meta: claimMeta() } });
  await Promise.all([session.untilEvent("user_message", 1), session.untilEvent("user_message", 2)]);
  await session.until(() => session.notified("notifications/subscriptions/acknowledged")[0]);
  for (const requestId of [1, 2, 3]) session.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
  await session.session.peer.idle();
  await pipe.modern.agent.open.settle();
  await session.request("ping");
  expect(session.received.filter((message) => "result" in message && [1, 2, 3].includes(Number(message["id"])))).toEqual([]);
});

it("a lost connection ends the requests without a session, and no others", async () => {
  await using pipe = new Pipe();
  await pipe.session.initialize();
  const { session } = pipe;
  session.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "codex", arguments: { prompt: "!slow 20 10" } } });
  session.send({
    jsonrpc: "2.0",
    id: 2,
    method: "tools/call",
    params: { name: "codex", arguments: { prompt: "!hang" }, _meta: WITH_EVENTS },
  });
  await Promise.all([session.untilEvent("user_message", 1), session.untilEvent("user_message", 2)]);
  session.session.leave();
  expect(await session.answerTo(1)).toMatchObject({ result: { structuredContent: { content: expect.stringContaining("w19") } } });
  await session.session.peer.idle();
  expect(session.received.filter(({ id }) => id === 2)).toEqual([]);
});

it("wrong data about the sender is refused, and the connection continues", async () => {
  await using pipe = new Pipe();
  const wrong = { "io.modelcontextprotocol/protocolVersion": "2030-01-01", "io.modelcontextprotocol/clientCapabilities": {} };
  expect(await pipe.session.request("tools/list", { _meta: wrong })).toMatchObject({
    error: { code: -32022, data: { supported: ["2026-07-28"], requested: "2030-01-01" } },
  });
  expect(await pipe.ask("tools/list")).toMatchObject({ result: { cacheScope: "public" } });
});
