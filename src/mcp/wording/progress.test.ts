import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ApprovalId, ApprovalRequest } from "../../approvals/model.js";
import { newThreadId, turnIdOf } from "../../lib/ids.js";
import type { ThreadEvent } from "../../threads/events.js";
import { ProgressReporter, progressText } from "./progress.js";

const STARTED: ThreadEvent = { type: "turnStarted", contextWindow: null };
const WRITING: ThreadEvent = { type: "itemStarted", item: { kind: "agentMessage", id: "m", texts: [] } };

const COMMAND = { callId: "c", command: ["bash", "-lc", "ls"], cwd: "/", parsed: [] } as const;
const RUNNING = { type: "commandStarted", ...COMMAND } satisfies ThreadEvent;
const QUESTION: ApprovalRequest = {
  id: "q" as ApprovalId,
  threadId: newThreadId(),
  turnId: turnIdOf("0"),
  subject: { kind: "command", ...COMMAND, commandText: "ls", staysInSandbox: true, needsPerson: false },
  deadline: 0,
};

describe("texts for users", () => {
  it.for([
    [STARTED, "Thinking"],
    [{ type: "itemStarted", item: { kind: "reasoning", id: "r", summary: [], rawContent: [] } }, "Thinking"],
    [WRITING, "Writing the answer"],
    [{ type: "itemStarted", item: { kind: "webSearch", id: "w", query: "", action: {} } }, "Searching the web"],
    [{ type: "itemStarted", item: { kind: "userMessage", id: "u", text: "a secret" } }, undefined],
    [
      {
        type: "planUpdated",
        explanation: null,
        plan: [
          { step: "look", status: "completed" },
          { step: "mend", status: "in_progress" },
        ],
      },
      "Plan: mend",
    ],
    [RUNNING, "Running ls"],
    [{ ...RUNNING, awaitsApproval: true }, undefined],
    [{ type: "patchStarted", callId: "p", autoApproved: true, changes: {} }, "Changing 0 files"],
    [{ type: "patchStarted", callId: "p", autoApproved: false, changes: {} }, undefined],
    [{ type: "approvalRequested", request: QUESTION }, "Waiting for approval to run ls"],
    [{ type: "planUpdated", explanation: null, plan: [{ step: "look", status: "completed" }] }, "Plan updated"],
    [{ type: "modelRetry", attempt: 2, limit: 5, cause: "cut" }, "Asking the model again (2 of 5)"],
    [{ type: "historyCompacted", message: "long story", replacement: [] }, "Summarised the earlier conversation"],
    [{ type: "warning", message: "Careful" }, "Careful"],
    [{ type: "warning", message: "\u001b[2J\u202efine\nRunning ls" }, "\\u{1b}[2J\\u{202e}fine\\nRunning ls"],
    [{ type: "turnCompleted", lastMessage: "the answer" }, undefined],
    [{ type: "turnFailed", message: "no model", info: "other" }, undefined],
    [{ type: "turnAborted", reason: "interrupted" }, undefined],
    [{ type: "messageDelta", itemId: "m", delta: "the answer" }, undefined],
    [{ type: "itemCompleted", item: { kind: "agentMessage", id: "m", texts: ["the answer"] } }, undefined],
    [{ type: "mcpStartupCompleted", ready: [], failed: [], cancelled: [] }, undefined],
  ] satisfies [ThreadEvent, string | undefined][])("%o: %s", ([event, text]) => {
    expect(progressText(event)).toBe(text);
  });
});

describe("the reporter", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function reporter(subject?: string) {
    const sent: { at: number; progress: number; message: string }[] = [];
    const start = Date.now();
    const progress = new ProgressReporter((count, text) => sent.push({ at: Date.now() - start, progress: count, message: text }), {
      waiting: "Waiting",
      subject,
    });
    return { progress, sent };
  }

  it("reports each change once, with increasing numbers", () => {
    const { progress, sent } = reporter();
    for (const event of [STARTED, STARTED, WRITING, WRITING]) progress.observe(event);
    vi.advanceTimersByTime(50);
    progress.observe(STARTED);
    expect(sent).toEqual([
      { at: 0, progress: 1, message: "Thinking" },
      { at: 50, progress: 2, message: "Writing the answer" },
      { at: 50, progress: 3, message: "Thinking" },
    ]);
  });

  it("names the thread in the first message only, even if nothing has begun", () => {
    const [soon, late] = [reporter("Thread t"), reporter("Thread t")];
    soon.progress.observe(STARTED);
    vi.advanceTimersByTime(9_000);
    soon.progress.observe({ type: "warning", message: "Careful" });
    late.progress.observe(STARTED);
    expect([soon.sent, late.sent].map((sent) => sent.map(({ message }) => message))).toEqual([
      ["Thread t: Thinking", "Thinking (9 s)", "Careful"],
      ["Thread t: Waiting (9 s)", "Thinking"],
    ]);
  });

  it("does not report an answer as being written if it is complete", () => {
    const { progress, sent } = reporter();
    for (const event of [STARTED, WRITING]) progress.observe(event);
    vi.advanceTimersByTime(49);
    progress.stop();
    vi.advanceTimersByTime(1_000);
    expect([sent.map(({ message }) => message), vi.getTimerCount()]).toEqual([["Thinking"], 0]);
  });

  it.for([
    { type: "turnCompleted", lastMessage: "the answer" },
    { type: "turnFailed", message: "no model", info: "other" },
    { type: "turnAborted", reason: "interrupted" },
  ] satisfies ThreadEvent[])("reports nothing that preceded the end of the turn ($type), however long the answer takes", (end) => {
    const { progress, sent } = reporter();
    for (const event of [STARTED, WRITING, end]) progress.observe(event);
    vi.advanceTimersByTime(8_999);
    expect(sent.map(({ message }) => message)).toEqual(["Thinking"]);
  });

  it("does not report a command as running while it needs approval", () => {
    const { progress, sent } = reporter();
    const asked: ThreadEvent = { type: "approvalRequested", request: QUESTION };
    for (const event of [RUNNING, asked]) progress.observe(event);
    vi.advanceTimersByTime(1_000);
    expect(sent).toEqual([{ at: 0, progress: 1, message: "Waiting for approval to run ls" }]);
  });

  it("reports a command that needs no approval as running, a moment later", () => {
    const { progress, sent } = reporter();
    progress.observe(RUNNING);
    vi.advanceTimersByTime(1_000);
    expect(sent).toEqual([{ at: 50, progress: 1, message: "Running ls" }]);
  });

  it("repeats the last message with the elapsed time if nothing changes", () => {
    const { progress, sent } = reporter();
    vi.advanceTimersByTime(13_000);
    progress.observe(STARTED);
    vi.advanceTimersByTime(18_000);
    expect(sent).toEqual([
      { at: 9_000, progress: 1, message: "Waiting (9 s)" },
      { at: 13_000, progress: 2, message: "Thinking" },
      { at: 22_000, progress: 3, message: "Thinking (22 s)" },
      { at: 31_000, progress: 4, message: "Thinking (31 s)" },
    ]);
  });

  it("is never silent for ten seconds, whenever the last change was", () => {
    const { progress, sent } = reporter();
    for (const [after, event] of [
      [4_000, STARTED],
      [8_999, WRITING],
      [12_345, STARTED],
      [60_000, WRITING],
    ] as const) {
      vi.advanceTimersByTime(after);
      progress.observe(event);
    }
    const times = [0, ...sent.map(({ at }) => at)];
    const silences = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(Math.max(...silences)).toBeLessThan(10_000);
    expect(sent.map(({ progress: count }) => count)).toEqual(sent.map((_, index) => index + 1));
  });

  it("sends nothing once it is stopped", () => {
    const { progress, sent } = reporter();
    progress.observe(STARTED);
    progress.stop();
    vi.advanceTimersByTime(60_000);
    expect([sent.length, vi.getTimerCount()]).toEqual([1, 0]);
  });
});
