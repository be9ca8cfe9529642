import { expect, it } from "vitest";
import { MemorySession, type MemorySessionOptions } from "../../../test/support/memory/memorySession.js";
import { valueAt } from "../../../test/support/scenarios/scenario.js";

/** The kinds of events that a client with this name receives during a short answer. */
async function shown(name: string, options: MemorySessionOptions): Promise<readonly unknown[]> {
  await using client = new MemorySession(options);
  await client.initialize("2025-11-25", name);
  await client.call("codex", { prompt: "!say one two" });
  return client.notified("codex/event").map((params) => valueAt(params, "msg.type"));
}

it.for([
  ["auto", "somebody", "all"],
  ["auto", "claude-code", "none"],
  ["all", "claude-code", "all"],
  ["no-deltas", "somebody", "no-deltas"],
  ["none", "somebody", "none"],
] as const)("with --events %s the client %s gets %s", async ([events, name, expected]) => {
  const types = await shown(name, { events });
  expect({
    any: types.includes("task_complete"),
    deltas: types.some((type) => String(type).endsWith("_delta")),
  }).toEqual({ any: expected !== "none", deltas: expected === "all" });
});

it("codex-original sends all events to every client, unless the server is configured otherwise", async () => {
  expect(await shown("claude-code", { sets: ["codex-original"] })).toContain("agent_message_delta");
  expect(await shown("claude-code", { sets: ["codex-original"], events: "none" })).toEqual([]);
});
