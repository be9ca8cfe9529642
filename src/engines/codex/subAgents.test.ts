import { describe, expect, it } from "vitest";
import { settingsIn } from "../../../test/support/threads/rollouts.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { ThreadListener } from "./appServer/appServer.js";
import { SubAgents } from "./subAgents.js";

/** Agents with made-up messages, and the events that a turn gets about them. */
function stage({ status = "idle" }: { readonly status?: string } = {}) {
  const listeners = new Map<string, ThreadListener>();
  const shown: ThreadEvent[] = [];
  let settled = 0;
  const agents = new SubAgents({
    settings: settingsIn("/ws"),
    isNew: (text) => text !== "told before",
    follower: () => ({
      agentShown: (events) => shown.push(...events),
      agentNotified: () => {},
      agentAsked: async (agent, { method }) => `${agent.name} asks ${method}`,
      agentsSettled: () => settled++,
    }),
  });
  agents.enter({
    listen: (threadId, listener) => listeners.set(threadId, listener),
    unlisten: (threadId) => listeners.delete(threadId),
    request: async () => ({ thread: { status: { type: status } } }),
  });
  const tell = (threadId: string, method: string, params: object = {}) => listeners.get(threadId)?.notified(method, params);
  return { agents, listeners, shown, tell, settled: () => settled };
}

const started = (agentThreadId: string, agentPath = `/root/${agentThreadId}`) => ({
  item: { type: "subAgentActivity", id: `started-${agentThreadId}`, kind: "started", agentThreadId, agentPath },
});
const ended = (status: string, error: object | null = null) => ({ turn: { id: "t", status, error, items: [] } });
const call = (tool: string, ...receiverThreadIds: string[]) => ({
  item: { type: "collabAgentToolCall", id: tool, tool, status: "completed", receiverThreadIds },
});

describe("an agent of the agent", () => {
  it.each([
    ["newer models say so", "item/started", started("a1")],
    ["older models called for it", "item/completed", call("spawnAgent", "a1")],
  ])("counts as working from its start, when %s, to the end of its turn", (_how, method, params) => {
    const { agents, tell, settled } = stage();
    agents.observe(method, params);
    expect(agents.atWork).toHaveLength(1);
    tell("a1", "turn/started");
    expect([agents.atWork.length, settled()]).toEqual([1, 0]);
    tell("a1", "turn/completed", ended("completed"));
    expect([agents.atWork.length, settled()]).toEqual([0, 1]);
  });

  it("starts other agents, which count as well", () => {
    const { agents, tell, settled } = stage();
    agents.observe("item/started", started("a1"));
    tell("a1", "turn/started");
    tell("a1", "item/started", started("a2", "/root/a1/a2"));
    tell("a1", "turn/completed", ended("completed"));
    expect([agents.atWork, settled()]).toEqual([["a1/a2"], 0]);
    tell("a2", "turn/started");
    tell("a2", "turn/completed", ended("interrupted"));
    expect([agents.atWork, settled()]).toEqual([[], 1]);
  });

  it("shows its commands and changes, and its messages as notes; nothing of its history", () => {
    const { agents, tell, shown } = stage();
    agents.observe("item/started", started("a1"));
    tell("a1", "turn/started");
    const command = {
      type: "commandExecution",
      id: "c1",
      command: "ls",
      cwd: "/ws",
      aggregatedOutput: "x\n",
      exitCode: 0,
      status: "completed",
    };
    const item = (fields: object) => ({ item: fields });
    tell("a1", "item/started", item({ type: "userMessage", id: "u", content: [{ type: "text", text: "do it" }] }));
    tell("a1", "item/started", item(command));
    tell("a1", "item/completed", item(command));
    tell("a1", "item/completed", item({ type: "contextCompaction", id: "k" }));
    tell("a1", "rawResponseItem/completed", item({ type: "message", role: "assistant", content: [] }));
    tell("a1", "thread/tokenUsage/updated", { tokenUsage: { total: { totalTokens: 5 } } });
    tell("a1", "warning", { message: "told before" });
    tell("a1", "turn/plan/updated", { plan: [{ step: "x", status: "pending" }] });
    tell("a1", "item/completed", item({ type: "agentMessage", id: "m", text: "all\n  good" }));
    tell("a1", "turn/completed", ended("completed"));
    expect(shown.map(({ type }) => type)).toEqual([
      "agentChanged",
      "commandStarted",
      "commandOutput",
      "commandEnded",
      "backgroundNote",
      "agentChanged",
      "backgroundNote",
    ]);
    expect(shown.slice(-3)).toEqual([
      { type: "backgroundNote", message: "a1: all good" },
      { type: "agentChanged", agentId: "a1", name: "a1", task: null, status: "completed", result: "all\n  good", tokens: 5 },
      { type: "backgroundNote", message: "The agent a1 is done (5 tokens)" },
    ]);
  });

  it.each([
    ["newer models", "item/started", started("a1")],
    ["older models", "item/completed", call("spawnAgent", "a1")],
  ])("is shown with its task: %s", (_how, method, params) => {
    const { agents, tell, shown } = stage();
    const raw = { type: "function_call", name: "spawn_agent", call_id: params.item.id, arguments: '{"message":"count the files"}' };
    agents.observe("rawResponseItem/completed", { item: raw });
    agents.observe("rawResponseItem/completed", { item: { ...raw, call_id: "other", arguments: "{" } });
    agents.observe(method, params);
    tell("a1", "turn/started");
    expect(shown).toMatchObject([{ type: "agentChanged", agentId: "a1", task: "count the files", status: "running", result: null }]);
  });

  it("that ends in the middle of a command shows the command's end", () => {
    const { agents, tell, shown } = stage();
    agents.observe("item/started", started("a1"));
    tell("a1", "turn/started");
    tell("a1", "item/started", { item: { type: "commandExecution", id: "c1", command: "sleep 9", cwd: "/ws" } });
    tell("a1", "turn/completed", ended("failed", { message: "gone" }));
    expect(shown.slice(2)).toEqual([
      expect.objectContaining({ type: "commandEnded", callId: "c1", exitCode: -1 }),
      expect.objectContaining({ type: "agentChanged", status: "failed", result: "gone" }),
      { type: "warning", message: "The agent a1 failed: gone" },
    ]);
  });

  it("asks in its own name", async () => {
    const { agents, listeners } = stage();
    agents.observe("item/started", started("a1"));
    expect(await listeners.get("a1")?.asked({ id: 1, method: "x", params: {} })).toBe("a1 asks x");
  });

  it.each([
    ["idle", 0, 1],
    ["active", 1, 0],
  ])("that got a message and does not start is asked for its state: %s", async (status, atWork, settled) => {
    const scene = stage({ status });
    scene.agents.observe("item/started", started("a1"));
    await scene.agents.checkDue();
    expect([scene.agents.atWork.length, scene.settled()]).toEqual([atWork, settled]);
  });

  it("counts as working when it is idle and gets a task", () => {
    const { agents, tell } = stage();
    agents.observe("item/completed", call("spawnAgent", "a1"));
    tell("a1", "turn/started");
    tell("a1", "turn/completed", ended("completed"));
    agents.observe("item/completed", call("wait", "a1"));
    expect(agents.atWork).toEqual([]);
    agents.observe("item/completed", call("sendInput", "a1"));
    expect(agents.atWork).toHaveLength(1);
  });
});

describe("agents", () => {
  it("are no longer followed once their process has been left", () => {
    const { agents, listeners } = stage();
    agents.observe("item/started", started("a1"));
    agents.leave();
    expect([listeners.size, agents.threadIds, agents.atWork]).toEqual([0, [], []]);
    agents.observe("item/started", started("a2"));
    expect(agents.threadIds).toEqual([]);
  });

  it("are followed up to a limit, and invalid items are ignored", () => {
    const { agents } = stage();
    for (const item of [
      null,
      "x",
      {},
      { type: "subAgentActivity" },
      { type: "subAgentActivity", agentThreadId: 7 },
      { type: "collabAgentToolCall", receiverThreadIds: "a" },
    ])
      for (const method of ["item/started", "item/completed", "turn/started"]) agents.observe(method, { item });
    expect(agents.threadIds).toEqual([]);
    for (let at = 0; at < 1_000; at++) agents.observe("item/started", started(`a${at}`));
    expect(agents.threadIds).toHaveLength(200);
  });
});
