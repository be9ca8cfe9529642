import { expect, it } from "vitest";
import { newThreadId } from "../../lib/ids.js";
import type { HelpingAgent } from "../../threads/events.js";
import { StoredItems } from "./storedItems.js";
import { TurnItems } from "./turnItems.js";

const HELPER: HelpingAgent = { agentId: "a1", name: "helper", task: "count the files", status: "running", result: null, tokens: 0 };

function turnItems(): TurnItems {
  return new TurnItems({ threadId: newThreadId(), turnId: "t1", ranMs: () => 1 });
}

it("an agent is one item from its beginning to its end", () => {
  const items = turnItems();
  expect(items.take({ type: "agentChanged", ...HELPER })).toMatchObject([{ type: "item.started", item: { task: "count the files" } }]);
  items.take({ type: "agentChanged", ...HELPER, name: "other", agentId: "a2" });
  items.take({ type: "agentChanged", ...HELPER, status: "completed", result: "There are 12.", tokens: 40 });
  expect(items.items).toMatchObject([
    { type: "subAgent", id: "agent-a1-t1", name: "helper", status: "completed", result: "There are 12.", tokens: 40 },
    { type: "subAgent", id: "agent-a2-t1", name: "other", status: "running" },
  ]);
  items.take({ type: "turnAborted", reason: "interrupted" });
  expect(items.items[1]).toMatchObject({ status: "failed" });
});

it("long tasks and results are cut, and say so", () => {
  const items = turnItems();
  items.take({ type: "agentChanged", ...HELPER, result: "x".repeat(1_000_000) });
  const [item] = items.items;
  expect(item).toMatchObject({ truncated: true, task: "count the files" });
  expect(JSON.stringify(item).length).toBeLessThan(100_000);
});

it("a record has the names and tasks of the agents", () => {
  const items = new StoredItems();
  const given = JSON.stringify({ task_name: "helper", message: "count the files" });
  const call = { type: "function_call", name: "spawn_agent", namespace: "collaboration", arguments: given, call_id: "c1" };
  items.take({ type: "item", at: undefined, item: call });
  items.take({ type: "item", at: undefined, item: { type: "function_call_output", call_id: "c1", output: "{}" } });
  expect(items.items).toMatchObject([
    { type: "subAgent", id: "c1", name: "helper", task: "count the files", status: "completed", result: null },
  ]);
});
