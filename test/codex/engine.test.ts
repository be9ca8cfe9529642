import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { ApprovalDecision } from "../../src/approvals/model.js";
import { newThreadId, turnIdOf } from "../../src/lib/ids.js";
import { ThreadBusyElsewhere, ThreadNotFound } from "../../src/threads/errors.js";
import type { ThreadEvent } from "../../src/threads/events.js";
import type { ThreadSettings } from "../../src/threads/settings.js";
import type { Turn } from "../../src/threads/turn.js";
import { publishedCases } from "../support/codex/codexPeers.js";
import { type CodexStage, openCodexThreads, setCodexStage } from "../support/codex/codexStage.js";
import { eventually } from "../support/eventually.js";
import { LONGEST_PROMPT } from "./versionContract.js";

const CASES = await publishedCases();

const PATIENCE = { timeout: 120_000 };
/** Commands run without a sandbox, so that only the engine ends them. */
const UNCONFINED = { approvalPolicy: "never", sandboxPolicy: { type: "danger-full-access" } } as const;

describe.each(CASES)("threads run by Codex $version with $family", PATIENCE, ({ program, model }) => {
  it("keep the id that Codex gave them, and are recorded by Codex alone", async () => {
    await using stage = await setCodexStage({ model });
    await using codex = openCodexThreads(stage, program);
    const turn = await codex.threads.start(stage.settings, { text: "!say hello" }, turnIdOf("1"));
    expect(await turn.outcome).toEqual({ status: "completed", lastMessage: "hello" });
    const [opened] = await eventsOf(turn);
    const files = rolloutsIn(stage);
    expect(files).toEqual([expect.stringContaining(turn.threadId)]);
    expect(opened).toMatchObject({ type: "threadConfigured", threadId: turn.threadId, recordPath: files[0] });
  });

  it("continue in a later process, and unknown ones are not found", async () => {
    await using stage = await setCodexStage({ model });
    const threadId = await (async () => {
      await using codex = openCodexThreads(stage, program);
      const turn = await codex.threads.start(stage.settings, { text: "!say alpha" }, turnIdOf("1"));
      await turn.outcome;
      return turn.threadId;
    })();
    await using codex = openCodexThreads(stage, program);
    const reply = await codex.threads.reply(threadId, { text: "go on" });
    expect(await reply.outcome).toEqual({ status: "completed", lastMessage: "alpha" });
    await expect(codex.threads.reply(newThreadId(), { text: "go on" })).rejects.toThrow(ThreadNotFound);
  });

  it("stay confined in every turn, even after a restart", async () => {
    await using stage = await setCodexStage({ model });
    const settings: ThreadSettings = { ...stage.settings, approvalPolicy: "never", sandboxPolicy: { type: "read-only" } };
    const attempt = { text: "!shell touch made.txt\n!say tried" };
    const threadId = await (async () => {
      await using codex = openCodexThreads(stage, program);
      const turn = await codex.threads.start(settings, attempt, turnIdOf("1"));
      const again = await codex.threads.reply(turn.threadId, attempt);
      expect([await turn.outcome, await again.outcome]).toEqual([TRIED, TRIED]);
      return turn.threadId;
    })();
    await using codex = openCodexThreads({ ...stage, settings }, program);
    for (let turn = 0; turn < 2; turn++) expect(await (await codex.threads.reply(threadId, attempt)).outcome).toEqual(TRIED);
    expect(readdirSync(stage.workspace)).toEqual([]);
  });

  it("are used by one process at a time", async () => {
    await using stage = await setCodexStage({ model });
    await using first = openCodexThreads(stage, program);
    const turn = await first.threads.start(stage.settings, { text: "!say alpha" }, turnIdOf("1"));
    await turn.outcome;
    await using second = openCodexThreads(stage, program);
    await expect(second.threads.reply(turn.threadId, { text: "go on" })).rejects.toThrow(ThreadBusyElsewhere);
  });

  it("end the command of an interrupted turn, and the next turn works", async () => {
    await using stage = await setCodexStage({ model });
    await using codex = openCodexThreads(stage, program);
    const settings = { ...stage.settings, ...UNCONFINED };
    const turn = await codex.threads.start(settings, { text: "!shell touch began; sleep 300" }, turnIdOf("1"));
    await until(turn, ({ type }) => type === "commandStarted");
    turn.interrupt();
    expect(await turn.outcome).toEqual({ status: "interrupted" });
    await eventually("the end of the command", () => commandsIn(stage).length === 0 || undefined);
    expect(stage.appServers()).toHaveLength(1);
    const reply = await codex.threads.reply(turn.threadId, { text: "!say next" });
    expect(await reply.outcome).toEqual({ status: "completed", lastMessage: "next" });
  });

  it("leave nothing running when they are closed", async () => {
    await using stage = await setCodexStage({ model });
    {
      await using codex = openCodexThreads(stage, program);
      const settings = { ...stage.settings, ...UNCONFINED };
      const turn = await codex.threads.start(settings, { text: "!shell sleep 300" }, turnIdOf("1"));
      await until(turn, ({ type }) => type === "commandStarted");
    }
    expect(await stage.leftovers()).toEqual([]);
  });

  it("report a prompt that is longer than Codex accepts", async () => {
    await using stage = await setCodexStage({ model });
    await using codex = openCodexThreads(stage, program);
    const turn = await codex.threads.start(stage.settings, { text: "x".repeat(LONGEST_PROMPT + 1) }, turnIdOf("1"));
    expect(await turn.outcome).toEqual({ status: "failed", message: expect.stringMatching(/^Codex refused the turn: .*1048576/) });
  });

  it.each<[ApprovalDecision["kind"], boolean, object]>([
    ["approved", true, { status: "completed", lastMessage: "done" }],
    ["approvedForSession", true, { status: "completed", lastMessage: "done" }],
    ["denied", false, { status: "completed", lastMessage: "done" }],
    ["abort", false, { status: "interrupted" }],
  ])("ask before a command, and follow the decision: %s", async (kind, runs, outcome) => {
    await using stage = await setCodexStage({ model });
    await using codex = openCodexThreads(stage, program);
    const settings: ThreadSettings = { ...stage.settings, approvalPolicy: "untrusted", sandboxPolicy: WRITABLE };
    const turn = await codex.threads.start(settings, { text: "!shell touch made.txt\n!say done" }, turnIdOf("1"));
    const asked = await until(turn, ({ type }) => type === "approvalRequested");
    expect(await codex.desk.pending()).toEqual([expect.objectContaining({ subject: expect.objectContaining({ kind: "command" }) })]);
    if (asked.type === "approvalRequested") await codex.desk.answer(asked.request.id, { kind } as ApprovalDecision);
    expect(await turn.outcome).toEqual(outcome);
    expect(existsSync(path.join(stage.workspace, "made.txt"))).toBe(runs);
  });

  it("withdraw the question of an interrupted turn", async () => {
    await using stage = await setCodexStage({ model });
    await using codex = openCodexThreads(stage, program);
    const settings: ThreadSettings = { ...stage.settings, approvalPolicy: "untrusted" };
    const turn = await codex.threads.start(settings, { text: "!shell touch made.txt" }, turnIdOf("1"));
    await until(turn, ({ type }) => type === "approvalRequested");
    turn.interrupt();
    expect(await turn.outcome).toEqual({ status: "interrupted" });
    expect(await codex.desk.pending()).toEqual([]);
    const reply = await codex.threads.reply(turn.threadId, { text: "!say next" });
    expect(await reply.outcome).toEqual({ status: "completed", lastMessage: "next" });
  });
});

function commandsIn(stage: CodexStage): string[] {
  return stage.processes().flatMap(({ commandLine }) => (commandLine.includes("sleep 300") ? [commandLine] : []));
}

const TRIED = { status: "completed", lastMessage: "tried" };
const WRITABLE = { type: "workspace-write", network_access: false, exclude_tmpdir_env_var: false, exclude_slash_tmp: false } as const;

function rolloutsIn({ codexHome }: CodexStage): string[] {
  return readdirSync(path.join(codexHome, "sessions"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => path.join(codexHome, "sessions", name));
}

async function eventsOf(turn: Turn): Promise<ThreadEvent[]> {
  const events: ThreadEvent[] = [];
  for await (const batch of turn.log.read()) events.push(...batch.map(({ value }) => value));
  return events;
}

/** The first event of this kind. Fails if the turn ends without it. */
async function until(turn: Turn, matches: (event: ThreadEvent) => boolean): Promise<ThreadEvent> {
  for await (const batch of turn.log.read()) for (const { value } of batch) if (matches(value)) return value;
  throw new Error("the turn ended without it");
}
