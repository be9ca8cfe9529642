import { existsSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { ApprovalDecision } from "../../src/approvals/model.js";
import { turnIdOf } from "../../src/lib/ids.js";
import type { ThreadEvent } from "../../src/threads/events.js";
import type { ThreadSettings } from "../../src/threads/settings.js";
import type { Turn } from "../../src/threads/turn.js";
import { publishedCases } from "../support/codex/codexPeers.js";
import { type CodexStage, openCodexThreads, setCodexStage } from "../support/codex/codexStage.js";
import { eventually } from "../support/eventually.js";

const CASES = await publishedCases();
const WRITABLE = { type: "workspace-write", network_access: false, exclude_tmpdir_env_var: false, exclude_slash_tmp: false } as const;
const UNCONFINED = { approvalPolicy: "never", sandboxPolicy: { type: "danger-full-access" } } as const;
const FREE: Partial<ThreadSettings> = { approvalPolicy: "never", sandboxPolicy: WRITABLE };

describe.each(CASES)("agents that Codex $version begins with $family", { timeout: 120_000 }, ({ program, model }) => {
  it("are waited for, their work is shown, and the thread's agent gets their results", async () => {
    await using stage = await setCodexStage({ model });
    await using codex = openCodexThreads(stage, program);
    const script = "!spawn helper !shell sleep 1; echo made > sub.txt ;; !say from the helper\n!say all done";
    const turn = await codex.threads.start({ ...stage.settings, ...FREE }, { text: script }, turnIdOf("1"));
    expect(await turn.outcome).toEqual({ status: "completed", lastMessage: "all done" });
    expect(existsSync(path.join(stage.workspace, "sub.txt"))).toBe(true);
    const events = await eventsOf(turn);
    expect(events.filter(({ type }) => type === "commandEnded")).toEqual([expect.objectContaining({ exitCode: 0 })]);
    const task = "!shell sleep 1; echo made > sub.txt\n!say from the helper";
    expect(events.filter(({ type }) => type === "agentChanged")).toMatchObject([
      { task, status: "running", result: null },
      { task, status: "completed", result: "from the helper" },
    ]);
    expect(notesOf(events)).toContainEqual(expect.stringMatching(/: from the helper$/));
    expect(messagesOf(events)).not.toContain("from the helper");
    expect(JSON.stringify(stage.model.requests.at(-1)?.body.input)).toContain("from the helper");
    expect(indexOf(events, "commandEnded")).toBeLessThan(indexOf(events, "turnCompleted"));
  });

  it.each<[ApprovalDecision["kind"], boolean, object]>([
    ["approved", true, { status: "completed", lastMessage: "all done" }],
    ["denied", false, { status: "completed", lastMessage: "all done" }],
    ["abort", false, { status: "interrupted" }],
  ])("ask under the call: %s", async (kind, runs, outcome) => {
    await using stage = await setCodexStage({ model });
    await using codex = openCodexThreads(stage, program);
    const settings: ThreadSettings = { ...stage.settings, approvalPolicy: "on-request", sandboxPolicy: WRITABLE };
    const script = "!spawn helper !escalate touch sub.txt ;; !say from the helper\n!say all done";
    const turn = await codex.threads.start(settings, { text: script }, turnIdOf("1"));
    const asked = await until(turn, ({ type }) => type === "approvalRequested");
    if (asked.type !== "approvalRequested") throw new Error("nobody asked");
    expect(asked.request).toMatchObject({
      threadId: turn.threadId,
      subject: {
        kind: "command",
        commandText: expect.stringContaining("touch sub.txt"),
        reason: expect.stringMatching(/^asked by the agent/),
      },
    });
    await codex.desk.answer(asked.request.id, { kind } as ApprovalDecision);
    expect(await turn.outcome).toEqual(outcome);
    expect(existsSync(path.join(stage.workspace, "sub.txt"))).toBe(runs);
  });

  it("end with the turn that is interrupted, with their commands", async () => {
    await using stage = await setCodexStage({ model });
    await using codex = openCodexThreads(stage, program);
    const script = "!spawn helper !shell sleep 300\n!say all done";
    const turn = await codex.threads.start({ ...stage.settings, ...UNCONFINED }, { text: script }, turnIdOf("1"));
    await until(turn, ({ type }) => type === "commandStarted");
    await eventually("the command", () => commandsIn(stage)[0]);
    turn.interrupt();
    expect(await turn.outcome).toEqual({ status: "interrupted" });
    await eventually("the end of the command", () => commandsIn(stage).length === 0 || undefined);
    expect(stage.appServers()).toHaveLength(1);
    const requests = stage.model.requests.length;
    const reply = await codex.threads.reply(turn.threadId, { text: "!say next" });
    expect(await reply.outcome).toEqual({ status: "completed", lastMessage: "next" });
    expect(stage.model.requests).toHaveLength(requests + 1);
  });

  it("that fail are reported, and the turn continues", async () => {
    await using stage = await setCodexStage({ model });
    await using codex = openCodexThreads(stage, program);
    const script = "!spawn helper !status 400\n!say all done";
    const turn = await codex.threads.start({ ...stage.settings, ...FREE }, { text: script }, turnIdOf("1"));
    expect(await turn.outcome).toEqual({ status: "completed", lastMessage: "all done" });
    expect(await eventsOf(turn)).toContainEqual({
      type: "warning",
      message: expect.stringMatching(/^The agent .* failed: .*scripted status 400/),
    });
  });

  it("end with a turn that fails", async () => {
    await using stage = await setCodexStage({ model });
    await using codex = openCodexThreads(stage, program);
    const script = "!spawn helper !shell sleep 300\n!status 400";
    const turn = await codex.threads.start({ ...stage.settings, ...UNCONFINED }, { text: script }, turnIdOf("1"));
    expect(await turn.outcome).toMatchObject({ status: "failed", message: expect.stringContaining("scripted status 400") });
    await eventually("the end of the command", () => commandsIn(stage).length === 0 || undefined);
  });

  it.each<[string, Partial<ThreadSettings>]>([
    ["agents.enabled", { stated: { agents: { enabled: false } } }],
    ["features.multi_agent", { features: { multi_agent: false } }],
  ])("are not offered where %s is off", async (_name, settings) => {
    await using stage = await setCodexStage({ model });
    await using codex = openCodexThreads(stage, program);
    const turn = await codex.threads.start({ ...stage.settings, ...settings }, { text: "!say hello" }, turnIdOf("1"));
    expect(await turn.outcome).toEqual({ status: "completed", lastMessage: "hello" });
    expect(JSON.stringify(stage.model.requests[0]?.body)).not.toContain("spawn_agent");
  });
});

function commandsIn(stage: CodexStage): string[] {
  return stage.processes().flatMap(({ commandLine }) => (commandLine.includes("sleep 300") ? [commandLine] : []));
}

async function eventsOf(turn: Turn): Promise<ThreadEvent[]> {
  const events: ThreadEvent[] = [];
  for await (const batch of turn.log.read()) events.push(...batch.map(({ value }) => value));
  return events;
}

function notesOf(events: readonly ThreadEvent[]): string[] {
  return events.flatMap((event) => (event.type === "backgroundNote" ? [event.message] : []));
}

function messagesOf(events: readonly ThreadEvent[]): string[] {
  return events.flatMap((event) => (event.type === "itemCompleted" && event.item.kind === "agentMessage" ? event.item.texts : []));
}

function indexOf(events: readonly ThreadEvent[], type: ThreadEvent["type"]): number {
  return events.findIndex((event) => event.type === type);
}

/** The first event of this kind. Fails if the turn ends without it. */
async function until(turn: Turn, matches: (event: ThreadEvent) => boolean): Promise<ThreadEvent> {
  for await (const batch of turn.log.read()) for (const { value } of batch) if (matches(value)) return value;
  throw new Error("the turn ended without it");
}
