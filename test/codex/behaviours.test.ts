import { existsSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { ApprovalDecision } from "../../src/approvals/model.js";
import { createCodexEngine } from "../../src/engines/codex/engine.js";
import { newThreadId, turnIdOf } from "../../src/lib/ids.js";
import type { ThreadEvent } from "../../src/threads/events.js";
import type { ThreadSettings } from "../../src/threads/settings.js";
import { publishedCases } from "../support/codex/codexPeers.js";
import { openCodexThreads, setCodexStage } from "../support/codex/codexStage.js";
import { type Override, startResponsesServer } from "../support/model/responsesServer.js";
import { lastMessageOf, playTurn } from "../support/threads/turns.js";

const CASES = await publishedCases();
const UNTRUSTED: Partial<ThreadSettings> = { approvalPolicy: "untrusted", sandboxPolicy: { type: "read-only" } };
const USAGE = {
  input_tokens: 1,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 1,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 2,
};

describe.each(CASES)("Codex $version with $family", { timeout: 120_000 }, ({ program, model }) => {
  /** Plays one turn of a Codex whose model sends these bytes first. */
  async function playAnswers(answers: readonly Override[]): Promise<readonly ThreadEvent[]> {
    await using server = await startResponsesServer({ respond: (_request, index) => answers[index] });
    await using stage = await setCodexStage({ model, url: server.url, retries: 4 });
    const engine = createCodexEngine({ codexBin: program, env: stage.env, cwd: stage.workspace, report: () => {} });
    try {
      return await playTurn(await engine.openThread({ id: newThreadId(), settings: stage.settings }), "!say whole");
    } finally {
      await engine.close?.();
    }
  }

  it("runs commands that are known to be harmless without approval under untrusted", async () => {
    await using stage = await setCodexStage({ model });
    await using codex = openCodexThreads(stage, program);
    const script = "!shell ls -la\n!shell cat /etc/hostname | head -1\n!say looked";
    const turn = await codex.threads.start({ ...stage.settings, ...UNTRUSTED }, { text: script }, turnIdOf("1"));
    expect(await turn.outcome).toEqual({ status: "completed", lastMessage: "looked" });
    const events: ThreadEvent[] = [];
    for await (const batch of turn.log.read()) events.push(...batch.map(({ value }) => value));
    expect(events.filter(({ type }) => type === "approvalRequested")).toEqual([]);
    expect(events.filter(({ type }) => type === "commandEnded")).toEqual([
      expect.objectContaining({ exitCode: 0 }),
      expect.objectContaining({ exitCode: 0 }),
    ]);
  });

  it.each<[ApprovalDecision["kind"], boolean]>([
    ["approved", true],
    ["denied", false],
  ])("shows what a patch changes before it asks, and follows the decision: %s", async (kind, isMade) => {
    await using stage = await setCodexStage({ model });
    await using codex = openCodexThreads(stage, program);
    const settings: ThreadSettings = { ...stage.settings, approvalPolicy: "on-request", sandboxPolicy: { type: "read-only" } };
    const turn = await codex.threads.start(settings, { text: "!patch new.txt hello\n!say done" }, turnIdOf("1"));
    for await (const batch of turn.log.read())
      for (const { value } of batch)
        if (value.type === "approvalRequested") await codex.desk.answer(value.request.id, { kind } as ApprovalDecision);
    expect(await turn.outcome).toEqual({ status: "completed", lastMessage: "done" });
    const events: ThreadEvent[] = [];
    for await (const batch of turn.log.read()) events.push(...batch.map(({ value }) => value));
    const steps = events.map(({ type }) => type).filter((type) => ["patchStarted", "approvalRequested", "patchEnded"].includes(type));
    expect(steps).toEqual(["patchStarted", "approvalRequested", "patchEnded"]);
    expect(events.find(({ type }) => type === "patchEnded")).toMatchObject({ success: isMade });
    expect(existsSync(path.join(stage.workspace, "new.txt"))).toBe(isMade);
  });

  it("streams raw reasoning, even if no setting asks for it", async () => {
    const events = await playAnswers([{ stream: sse(rawThought()) }]);
    expect(events.flatMap((event) => (event.type === "rawReasoningDelta" ? [event.delta] : [])).join("")).toBe("raw thought goes on");
    expect(lastMessageOf(events)).toBe("thought");
  });

  it("shows an answer that a broken connection cut once, when it is complete", async () => {
    const cut = (at: number): Override => ({ stream: sse(half(`msg_cut_${at}`)), ending: "cut" });
    const events = await playAnswers([cut(1), cut(2)]);
    const told = events.flatMap((event) => (event.type === "itemCompleted" && event.item.kind === "agentMessage" ? event.item.texts : []));
    expect([told, lastMessageOf(events)]).toEqual([["whole"], "whole"]);
    expect(events.filter(({ type }) => type === "modelRetry")).toHaveLength(2);
  });

  // Codex gives models that it does not know other tools for goals.
  it.skipIf(model !== undefined)("continues for its goal if goals are on, until it is stopped, which pauses the goal", async () => {
    await using stage = await setCodexStage({ model });
    await using codex = openCodexThreads(stage, program);
    const goal = (code: string) =>
      `!item ${JSON.stringify({ type: "custom_tool_call", call_id: code, name: "exec", input: `text(await tools.${code});` })}`;
    const script = `${goal('create_goal({objective:"make it"})')}\n!say begun`;
    const settings = { ...stage.settings, features: { goals: true } };
    const turn = await codex.threads.start(settings, { text: script }, turnIdOf("1"));
    for await (const batch of turn.log.read()) {
      if (stage.model.requests.length > 4) turn.interrupt();
      if (batch.some(({ value }) => value.type === "turnCompleted")) break;
    }
    expect(await turn.outcome).toEqual({ status: "interrupted" });
    const asked = stage.model.requests.length;
    const reply = await codex.threads.reply(turn.threadId, { text: "!say next" });
    expect(await reply.outcome).toEqual({ status: "completed", lastMessage: "next" });
    expect(stage.model.requests).toHaveLength(asked + 1);
  });
});

function sse(events: readonly { readonly type: string }[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

function half(id: string) {
  const where = { item_id: id, output_index: 0, content_index: 0 };
  return [
    { type: "response.created", response: { id: `resp_${id}` } },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { type: "message", id, role: "assistant", status: "in_progress", content: [] },
    },
    { type: "response.output_text.delta", ...where, delta: "half a " },
    { type: "response.output_text.delta", ...where, delta: "message" },
  ];
}

function rawThought() {
  const item = { type: "reasoning", id: "rs_1", summary: [] };
  const where = { item_id: "rs_1", output_index: 0, content_index: 0 };
  const message = {
    type: "message",
    id: "msg_1",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: "thought", annotations: [] }],
  };
  return [
    { type: "response.created", response: { id: "resp_raw" } },
    { type: "response.output_item.added", output_index: 0, item },
    { type: "response.reasoning_text.delta", ...where, delta: "raw thought " },
    { type: "response.reasoning_text.delta", ...where, delta: "goes on" },
    {
      type: "response.output_item.done",
      output_index: 0,
      item: { ...item, content: [{ type: "reasoning_text", text: "raw thought goes on" }] },
    },
    { type: "response.output_item.done", output_index: 1, item: message },
    { type: "response.completed", response: { id: "resp_raw", status: "completed", output: [], usage: USAGE } },
  ];
}
