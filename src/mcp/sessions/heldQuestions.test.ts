import { existsSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { MemoryAgent } from "../../../test/support/memory/memoryAgent.js";
import { MemorySession, threadOf } from "../../../test/support/memory/memorySession.js";
import { valueAt } from "../../../test/support/scenarios/scenario.js";
import type { ApprovalDecision, ApprovalId } from "../../approvals/model.js";

const ASKING = { prompt: "!shell touch made.txt\n!say done", "approval-policy": "untrusted", sandbox: "workspace-write" };
const CLIENT = { protocolVersion: "2025-11-25", clientInfo: { name: "test", version: "1" } };

async function decide(agent: MemoryAgent, id: string, decision: ApprovalDecision): Promise<boolean> {
  const ask = { caller: undefined, signal: new AbortController().signal };
  return agent.open.agent.answer(ask, id as ApprovalId, decision);
}

it.for([
  ["declines by itself", { elicitation: {} }],
  ["cannot be asked", {}],
] as const)("under hold, a client that %s gets the open questions, and others answer them", async ([, capabilities]) => {
  await using agent = new MemoryAgent({ approvalFallback: "hold" });
  await using client = new MemorySession({ agent });
  const asked = client.answerQuestions({ action: "cancel" });
  await client.request("initialize", { ...CLIENT, capabilities });
  const running = await client.call("codex", ASKING);
  const id = String(valueAt(running, "structuredContent.questions.0.id"));
  expect([valueAt(running, "structuredContent.status"), String(valueAt(running, "content.0.text")).includes(id)]).toEqual([
    "running",
    true,
  ]);
  expect(asked).toHaveLength("elicitation" in capabilities ? 1 : 0);
  expect(await decide(agent, id, { kind: "approved", by: "tool" })).toBe(true);
  const threadId = threadOf(running);
  const ended = await client.call("codex-wait", { threadId });
  expect(valueAt(ended, "structuredContent")).toMatchObject({ content: "done", approvals: { asked: 1, allowed: 1, denied: 0 } });
  expect(existsSync(path.join(agent.folder, "made.txt"))).toBe(true);
  expect(await decide(agent, id, { kind: "denied", by: "tool" })).toBe(false);
});

it("without hold the call continues to its end, and its result says that no person was asked", async () => {
  await using client = new MemorySession();
  client.answerQuestions({ action: "decline" });
  await client.request("initialize", { ...CLIENT, capabilities: { elicitation: {} } });
  const ended = await client.call("codex", ASKING);
  expect(valueAt(ended, "structuredContent")).toMatchObject({
    content: "done",
    status: "completed",
    approvals: { asked: 1, allowed: 0, denied: 1, decisions: [{ by: "client", decision: "denied" }] },
  });
});
