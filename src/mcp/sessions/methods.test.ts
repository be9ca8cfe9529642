import { describe, expect, it } from "vitest";
import { unknownTool } from "../../../test/support/callResults.js";
import { MemorySession } from "../../../test/support/memory/memorySession.js";
import { valueAt } from "../../../test/support/scenarios/scenario.js";
import { declarationsOf, toolsOf } from "../tools/sets.js";

function errorOf(answer: Readonly<Record<string, unknown>>): unknown {
  return answer["error"];
}

describe("methods", () => {
  it("ping is answered at once, before the handshake and while turns run", async () => {
    await using client = new MemorySession();
    expect(await client.request("ping", undefined, "p")).toEqual({ id: "p", jsonrpc: "2.0", result: {} });
    client.send({ id: 1, method: "tools/call", params: { name: "codex", arguments: { prompt: "!hang" } } });
    await client.untilEvent("user_message", 1);
    expect((await client.request("ping"))["result"]).toEqual({});
  });

  it("tools/list names the tools, whatever the cursor", async () => {
    await using client = new MemorySession();
    expect((await client.request("tools/list"))["result"]).toEqual({ tools: declarationsOf(toolsOf(["codex"])) });
    expect((await client.request("tools/list", { cursor: "x" }))["result"]).toEqual({ tools: declarationsOf(toolsOf(["codex"])) });
  });

  it.for([
    "foo/bar",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "tasks/list",
    "constructor",
    "",
  ])("%j is not one and is refused by name", async (method) => {
    await using client = new MemorySession();
    expect(await client.request(method, {}, 1)).toEqual({
      error: { code: -32601, message: `method not found: ${method}`, data: { method } },
      id: 1,
      jsonrpc: "2.0",
    });
  });
});

describe("tools/call", () => {
  it.for([[undefined], [[]], [{}], [{ name: 5 }], [{ arguments: {} }]] as const)("with the parameters %j is refused", async ([params]) => {
    await using client = new MemorySession();
    expect(errorOf(await client.request("tools/call", params))).toEqual({
      code: -32602,
      message: "tools/call: `name` must be a string",
    });
  });

  it.for(["nope", "", "constructor"])("of the tool %j, which is unknown, is an error result", async (name) => {
    await using client = new MemorySession();
    expect(await client.call(name, {})).toEqual(unknownTool(name));
  });

  it("of a tool of another set names the set; codex-original answers as Codex did", async () => {
    await using client = new MemorySession();
    expect(valueAt(await client.call("codex-exec", {}), "content.0.text")).toBe(
      "Unknown tool 'codex-exec'. It is in the set extras, which this server was not started with (--tools).",
    );
    await using original = new MemorySession({ sets: ["codex-original"] });
    expect(valueAt(await original.call("codex-exec", {}), "content.0.text")).toBe("Unknown tool 'codex-exec'");
  });

  it("of a tool that cannot be loaded is an internal error, reported with its cause", async () => {
    await using client = new MemorySession({ open: () => Promise.reject(new Error("the disk is on fire")) });
    expect(errorOf(await client.request("tools/call", { name: "codex", arguments: { prompt: "go" } }))).toEqual({
      code: -32603,
      message: "internal error: the disk is on fire",
    });
    expect(client.reported).toEqual([expect.stringContaining("tools/call failed unexpectedly: Error: the disk is on fire")]);
  });
});

describe("logging/setLevel", () => {
  it("accepts MCP's levels", async () => {
    await using client = new MemorySession();
    expect((await client.request("logging/setLevel", { level: "warning" }))["result"]).toEqual({});
    expect(client.session.logLevel).toBe("warning");
  });

  it.for([[undefined], [{}], [{ level: "loud" }], [{ level: 5 }]] as const)("refuses %j and changes nothing", async ([params]) => {
    await using client = new MemorySession();
    expect(errorOf(await client.request("logging/setLevel", params))).toEqual({
      code: -32602,
      message: "logging/setLevel: `level` must be one of debug, info, notice, warning, error, critical, alert, emergency",
    });
    expect(client.session.logLevel).toBeUndefined();
  });
});

it("unknown notifications, and cancellations of nothing, change nothing", async () => {
  await using client = new MemorySession();
  for (const method of ["initialized", "notifications/initialized", "notifications/roots/list_changed", "notifications/progress", "x"])
    client.send({ jsonrpc: "2.0", method });
  for (const params of [undefined, {}, { requestId: 9 }, { requestId: null }, { requestId: 1.5 }, "9"])
    client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params });
  await client.request("ping", undefined, "p");
  expect([client.received, client.reported]).toEqual([[{ id: "p", jsonrpc: "2.0", result: {} }], []]);
});
