import { describe, expect, it } from "vitest";
import { refused } from "../../../test/support/callResults.js";
import { eventually } from "../../../test/support/eventually.js";
import { MemoryAgent } from "../../../test/support/memory/memoryAgent.js";
import { MemorySession, threadOf } from "../../../test/support/memory/memorySession.js";
import { callerNamed, OwnToolsStage } from "../../../test/support/memory/ownToolsStage.js";
import { valueAt } from "../../../test/support/scenarios/scenario.js";
import type { Ask } from "../../agent/agent.js";
import type { ApprovalDecision, ApprovalRequest, ApprovalSubject } from "../../approvals/model.js";
import { newThreadId, type ThreadId, turnIdOf } from "../../lib/ids.js";
import type { Turn } from "../../threads/turn.js";

const ALICE = { caller: callerNamed("alice") };
const BOB = { caller: callerNamed("bob") };
const ASK: Ask = { ...ALICE, signal: new AbortController().signal };

const COMMAND: ApprovalSubject = {
  kind: "command",
  callId: "1",
  command: ["rm", "-rf", "build"],
  commandText: "rm -rf build",
  cwd: "/repo",
  parsed: [],
  staysInSandbox: false,
  needsPerson: true,
};

function form(...fields: readonly string[]): ApprovalSubject {
  const properties = Object.fromEntries(fields.map((name) => [name, { type: "string" }]));
  const requestedSchema = { type: "object", properties };
  return { kind: "form", callId: "1", server: "db", message: "Which?", requestedSchema, staysInSandbox: false, needsPerson: true };
}

async function runningTurn(stage: OwnToolsStage): Promise<Turn> {
  const turn = await stage.agent.begin(ASK, { text: "hang" }, { turnId: turnIdOf("1") });
  await eventually("the turn", () => turn.log.size > 0 || undefined);
  return turn;
}

/** The same in the text and in the data. */
function told(text: string, threadId: ThreadId): unknown {
  return { content: [{ text, type: "text" }], structuredContent: { threadId, content: text } };
}

interface Asked {
  readonly request: ApprovalRequest;
  readonly decision: Promise<ApprovalDecision>;
}

async function questionOn(stage: OwnToolsStage, subject: ApprovalSubject): Promise<Asked> {
  const { threadId, id: turnId, signal } = await runningTurn(stage);
  return stage.desk.ask({ threadId, turnId, subject, signal });
}

describe("codex-threads", () => {
  it("lists for each thread what runs on it and for how long, what it waits for, or that it is idle", async () => {
    await using stage = new OwnToolsStage();
    const idle = newThreadId();
    const { threadId: busy } = await runningTurn(stage);
    const { request } = await questionOn(stage, COMMAND);
    stage.catalog.kept.push(idle, busy, request.threadId);
    stage.owners.kept.set(idle, "alice");
    const { structuredContent } = await stage.call("codex-threads", {}, ALICE);
    expect(structuredContent?.["threads"]).toEqual([
      expect.objectContaining({ id: idle, state: "idle" }),
      expect.objectContaining({ id: busy, state: "running", ms: expect.any(Number), doing: "Thinking" }),
      expect.objectContaining({
        id: request.threadId,
        state: "waiting",
        approvals: [{ id: request.id, question: "run `rm -rf build` in /repo" }],
      }),
    ]);
  });

  it("reads the messages of a thread for its owner", async () => {
    await using stage = new OwnToolsStage();
    const { threadId, outcome } = await stage.agent.begin(ASK, { text: "one" }, { turnId: turnIdOf("1") });
    await outcome;
    await stage.threads.settle();
    const page = await stage.call("codex-threads", { threadId }, ALICE);
    expect(page.structuredContent).toMatchObject({ threadId, state: "idle", turn: 1, entries: expect.any(Array) });
    expect(page.content[0]?.text).toMatch(`Thread ${threadId}, turn 1 of 1; idle`);
    expect(await stage.call("codex-threads", { threadId }, BOB)).toEqual(refused(expect.stringContaining("Session not found")));
    expect(await stage.call("codex-threads", { threadId, cursor: "99.0" }, ALICE)).toEqual(
      refused(expect.stringContaining("cursor is not valid")),
    );
  });
});

describe("codex-manage stop", () => {
  it("ends the turn before it answers; a second call says that nothing runs", async () => {
    await using stage = new OwnToolsStage();
    const turn = await runningTurn(stage);
    const { threadId } = turn;
    const stop = { action: "stop", threadId };
    expect(await stage.call("codex-manage", stop, ALICE)).toEqual(
      told(`Stopped thread ${threadId}. What it has done is kept: go on with codex-reply.`, threadId),
    );
    expect([turn.ended, await turn.outcome]).toEqual([true, { status: "interrupted" }]);
    expect(await stage.call("codex-manage", stop, ALICE)).toEqual(refused(expect.stringContaining("No turn runs on thread")));
  });

  it.for([["a stranger's", BOB] as const, ["nobody's", {}] as const])("%s thread is not found", async ([, who]) => {
    await using stage = new OwnToolsStage();
    const threadId: ThreadId = who === BOB ? (await runningTurn(stage)).threadId : newThreadId();
    expect(await stage.call("codex-manage", { action: "stop", threadId }, who)).toEqual(
      refused(expect.stringContaining("Session not found")),
    );
  });
});

describe("codex-answer", () => {
  it.for([
    [{ decision: "approve" }, { kind: "approved", by: "tool" }],
    [{ decision: "approve-for-session" }, { kind: "approvedForSession", by: "tool" }],
    [
      { decision: "deny", reason: " not that one " },
      { kind: "denied", reason: "not that one", by: "tool" },
    ],
    [
      { decision: "deny", reason: " " },
      { kind: "denied", by: "tool" },
    ],
    [{ decision: "abort" }, { kind: "abort", by: "tool" }],
  ] as const)("%j is %j", async ([given, decided]) => {
    await using stage = new OwnToolsStage();
    const { request, decision } = await questionOn(stage, COMMAND);
    const { threadId, id } = request;
    const { content, structuredContent } = await stage.call("codex-answer", { id, ...given }, ALICE);
    // Some clients show their model only the text, others only the data.
    expect(structuredContent).toMatchObject({ threadId, id, content: content[0]?.text });
    expect(content[0]?.text).toContain(decided.kind === "abort" ? `The turn of thread ${threadId} ends` : `Thread ${threadId} goes on`);
    expect(await decision).toEqual({ ...decided, who: "alice" });
  });

  it.for([
    [form("name"), "main", { name: "main" }],
    [form("name"), '{"name":"main"}', { name: "main" }],
    [form("name"), '{"other":"main"}', { name: '{"other":"main"}' }],
    [form("name", "host"), '{"name":"main","host":"h"}', { name: "main", host: "h" }],
  ] as const)("text is filled into a form with one field", async ([subject, text, content]) => {
    await using stage = new OwnToolsStage();
    const { request, decision } = await questionOn(stage, subject);
    await stage.call("codex-answer", { id: request.id, text }, ALICE);
    expect(await decision).toEqual({ kind: "answered", content, by: "tool", who: "alice" });
  });

  it.for([
    [form("name"), { decision: "deny", text: "not that one" }, { kind: "denied", reason: "not that one" }],
    [form("name"), { decision: "abort", text: "main" }, { kind: "abort" }],
    [form(), { decision: "approve", text: "" }, { kind: "answered", content: {} }],
    [COMMAND, { decision: "deny", text: "not that one" }, { kind: "denied", reason: "not that one" }],
  ] as const)("a decision about %o counts beside text or without it: %j", async ([subject, given, decided]) => {
    await using stage = new OwnToolsStage();
    const { request, decision } = await questionOn(stage, subject);
    await stage.call("codex-answer", { id: request.id, ...given }, ALICE);
    expect(await decision).toEqual({ ...decided, by: "tool", who: "alice" });
  });

  it.for([
    [COMMAND, {}, "Give `decision`"],
    [COMMAND, { text: "yes" }, "Give `decision`"],
    [form("name"), {}, "Give `text`"],
    [form("name", "host"), { text: "main" }, "has the fields `name`, `host`"],
    [COMMAND, { decision: "approve", text: "but only build" }, "takes no `text`"],
    [
      form("name"),
      { decision: "approve" },
      "does not fill in `name`. Give `text`, or `decision` deny or abort. The fields are:\n- `name` (a text, optional)",
    ],
    [form(), { text: "yes" }, "Give `decision`: approve, deny or abort."],
  ] as const)("an invalid answer to %o leaves it open: %j", async ([subject, given, why]) => {
    await using stage = new OwnToolsStage();
    const { request } = await questionOn(stage, subject);
    expect(await stage.call("codex-answer", { id: request.id, ...given }, ALICE)).toEqual(refused(expect.stringContaining(why)));
    expect(await stage.desk.pending()).toHaveLength(1);
  });

  it("the error for a settled, unknown or foreign question lists the open ones", async () => {
    await using stage = new OwnToolsStage();
    const { request } = await questionOn(stage, COMMAND);
    const approve = (id: string, who: Parameters<OwnToolsStage["call"]>[2]) => stage.call("codex-answer", { id, decision: "approve" }, who);
    expect(await approve(request.id, BOB)).toEqual(refused(expect.stringContaining("Nothing waits for an answer now.")));
    expect(await approve("unknown", ALICE)).toEqual(
      refused(expect.stringContaining(`Open questions: ${request.id} (thread ${request.threadId}): run`)),
    );
    expect((await approve(request.id, ALICE)).isError).toBeUndefined();
    expect(await approve(request.id, ALICE)).toEqual(
      refused(expect.stringMatching(/or it never existed\. .* `codex-threads` shows the open questions of each thread\.$/)),
    );
  });

  it.for([
    ["approve", "it was approved with codex-answer"],
    ["abort", "it was aborted with codex-answer"],
  ])("a second answer after %s learns how the question was settled and how to continue", async ([decision, how]) => {
    await using agent = new MemoryAgent({ approvalFallback: "hold" });
    await using client = new MemorySession({ agent });
    const held = await client.call("codex", { prompt: "!escalate true\n!hang", "approval-policy": "on-request" });
    const id = String(valueAt(held, "structuredContent.questions.0.id"));
    await client.call("codex-answer", { id, decision });
    const again = await client.call("codex-answer", { id, decision: "deny" });
    const next = `\`codex-wait\` with threadId ${threadOf(held)} returns what came of it.`;
    expect(again).toEqual(refused(`No question ${id} is open: ${how}. Nothing waits for an answer now. ${next}`));
  });
});
