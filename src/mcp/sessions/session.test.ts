import { describe, expect, it } from "vitest";
import { interrupted, unknownTool } from "../../../test/support/callResults.js";
import { MemorySession } from "../../../test/support/memory/memorySession.js";
import { valueAt } from "../../../test/support/scenarios/scenario.js";

const CLIENT = { capabilities: {}, clientInfo: { name: "test", version: "1.0.0" } };

describe("the handshake", () => {
  it.for([
    ["2024-11-05", "2024-11-05"],
    ["2025-03-26", "2025-03-26"],
    ["2025-06-18", "2025-06-18"],
    ["2025-11-25", "2025-11-25"],
    ["1999-01-01", "2025-11-25"],
  ] as const)("asked for %s agrees on %s", async ([asked, agreed]) => {
    await using client = new MemorySession();
    const answer = await client.initialize(asked);
    expect([valueAt(answer, "result.protocolVersion"), client.session.profile]).toEqual([
      agreed,
      { revision: agreed, name: "test", version: "1.0.0", elicitation: false, roots: false },
    ]);
  });

  it("may be repeated by another client behind the same gateway, which then counts as the client", async () => {
    await using client = new MemorySession();
    await client.initialize("2025-06-18");
    await client.request("logging/setLevel", { level: "debug" });
    const second = { protocolVersion: "2025-03-26", capabilities: { elicitation: {} }, clientInfo: { name: "second", version: "2" } };
    expect(valueAt(await client.request("initialize", second), "result.protocolVersion")).toBe("2025-03-26");
    expect([client.session.profile, client.session.logLevel, client.session.peer.batchObjection]).toEqual([
      { revision: "2025-03-26", name: "second", version: "2", elicitation: true, roots: false },
      undefined,
      undefined,
    ]);
  });

  it("that is repeated does not affect the calls of the first client", async () => {
    await using client = new MemorySession();
    await client.initialize();
    client.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "codex", arguments: { prompt: "!delay 50\n!say done" } } });
    await client.initialize("2025-06-18");
    expect(valueAt(await client.answerTo(1), "result.structuredContent.content")).toBe("done");
  });

  it("happens once as recorded; a second one is refused and changes nothing", async () => {
    await using client = new MemorySession({ sets: ["codex-original"] });
    await client.initialize("2025-06-18");
    const second = await client.request("initialize", { protocolVersion: "2025-03-26", ...CLIENT }, 2);
    expect(second).toEqual({ error: { code: -32600, message: "initialize called more than once" }, id: 2, jsonrpc: "2.0" });
    expect(client.session.profile?.revision).toBe("2025-06-18");
    expect((await client.request("ping"))["result"]).toEqual({});
  });

  it("that failed does not count", async () => {
    await using client = new MemorySession();
    expect(valueAt(await client.request("initialize", {}), "error.code")).toBe(-32602);
    expect(valueAt(await client.initialize(), "result.protocolVersion")).toBe("2025-11-25");
  });

  it("triggers the preparation for the first call, once", async () => {
    let welcomed = 0;
    const parts = { welcomed: () => void welcomed++ };
    await using client = new MemorySession({ parts });
    await client.request("ping");
    expect(welcomed).toBe(0);
    await client.initialize();
    await client.initialize();
    expect(welcomed).toBe(1);
  });

  it("may be left out altogether", async () => {
    await using client = new MemorySession();
    expect(await client.call("codex", { prompt: "!say ok" })).toMatchObject({ structuredContent: { content: "ok" } });
  });
});

describe("batches", () => {
  const BATCH = [
    { id: 1, method: "ping" },
    { method: "notifications/initialized" },
    { id: 2, method: "tools/call", params: { name: "nope" } },
  ];
  const REFUSED = {
    error: { code: -32600, message: "Invalid request: batches exist only in protocol version 2025-03-26" },
    id: null,
    jsonrpc: "2.0",
  };

  it("are served after 2025-03-26 was negotiated", async () => {
    await using client = new MemorySession();
    await client.initialize("2025-03-26");
    client.send(BATCH);
    expect(await client.until(() => client.received.find((message) => Array.isArray(message)))).toEqual([
      { id: 1, jsonrpc: "2.0", result: {} },
      { id: 2, jsonrpc: "2.0", result: unknownTool("nope") },
    ]);
  });

  it("run whole turns, whose events are sent separately before the array", async () => {
    await using client = new MemorySession();
    await client.initialize("2025-03-26");
    const call = (id: number, text: string) => ({
      id,
      method: "tools/call",
      params: { name: "codex", arguments: { prompt: `!say ${text}` } },
    });
    client.send([call(1, "one"), call(2, "two")]);
    const answers = await client.until(() => client.received.find((message) => Array.isArray(message)));
    expect([client.eventTypesOf(1).at(-1), client.eventTypesOf(2).at(-1)]).toEqual(["task_complete", "task_complete"]);
    expect(client.received.at(-1)).toBe(answers);
    const said = Object.values(answers).map((answer) => valueAt(answer, "result.structuredContent.content"));
    expect(new Set(said)).toEqual(new Set(["one", "two"]));
  });

  it.for([[undefined], ["2024-11-05"], ["2025-06-18"], ["2025-11-25"]] as const)("are refused under %s", async ([revision]) => {
    await using client = new MemorySession();
    if (revision) await client.initialize(revision);
    client.send(BATCH);
    expect(await client.until(() => client.received.find(({ error }) => error !== undefined))).toEqual(REFUSED);
  });
});

it("an invalid message is reported without its text, and the session continues", async () => {
  await using client = new MemorySession();
  client.send("a secret", 5);
  expect((await client.request("ping"))["result"]).toEqual({});
  expect(client.reported).toEqual(["ignored a message: not a JSON object", "ignored a message: not a JSON object"]);
});

describe("a session that ends", () => {
  it("interrupts running calls and answers them, including calls that come later", async () => {
    await using client = new MemorySession();
    client.send({ id: 1, method: "tools/call", params: { name: "codex", arguments: { prompt: "!hang" } } });
    await client.untilEvent("user_message", 1);
    client.session.interrupt(new Error("shutting down"));
    const result = (await client.answerTo(1))["result"];
    expect(result).toEqual(interrupted(String(valueAt(result, "structuredContent.threadId")), "shutting down"));
    expect(await client.call("codex", { prompt: "!say too late" })).toMatchObject({ isError: true });
    await client.session.peer.idle();
  });

  it("interrupts what it runs and says nothing more once it is closed", async () => {
    await using client = new MemorySession();
    client.send({ id: 1, method: "tools/call", params: { name: "codex", arguments: { prompt: "!hang" } } });
    await client.untilEvent("token_count", 1);
    const before = client.received.length;
    client.session.close(new Error("the client is gone"));
    await client.session.peer.idle();
    expect(client.received.length).toBe(before);
  });
});
