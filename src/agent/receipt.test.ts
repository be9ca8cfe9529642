import { describe, expect, it } from "vitest";
import { settingsIn } from "../../test/support/threads/rollouts.js";
import type { ApprovalDecision, ApprovalId, ApprovalRequest, ApprovalSubject } from "../approvals/model.js";
import type { FileChanges } from "../exec/actions.js";
import { threadIdOf, turnIdOf } from "../lib/ids.js";
import type { ThreadEvent } from "../threads/events.js";
import { NO_RATE_LIMITS, type TokenUsage } from "../threads/usage.js";
import { ReceiptCollector, type TurnReceipt } from "./receipt.js";

function told(...events: readonly ThreadEvent[]): TurnReceipt {
  let now = 0;
  const book = new ReceiptCollector(() => now++);
  for (const event of events) book.observe(event);
  return book.receipt({ from: "patches", list: book.patches });
}

function command(exitCode: number, output = ""): ThreadEvent {
  const call = { callId: "c", command: ["x"], cwd: "/", parsed: [] };
  return { type: "commandEnded", ...call, stdout: "", stderr: "", aggregatedOutput: output, formattedOutput: "", exitCode, durationMs: 1 };
}

function patch(changes: FileChanges, success = true): ThreadEvent {
  return { type: "patchEnded", callId: "p", stdout: "", stderr: "", success, changes };
}

const update = (unified_diff: string, move_path: string | null = null) => ({ type: "update", unified_diff, move_path }) as const;
const READ_ONLY: ThreadEvent = {
  type: "turnContext",
  settings: settingsIn("/project", { model: "m", approvalPolicy: "never", sandboxPolicy: { type: "read-only" } }),
  sandboxBackend: "bubblewrap",
};
const SAID: ThreadEvent = { type: "messageDelta", itemId: "i", delta: "x" };

it("the receipt of a turn that never began is empty", () => {
  expect(told()).toEqual({
    files: { from: "patches", list: [] },
    commands: { run: 0, failed: 0, refused: 0, stillRunning: 0, failures: [] },
    approvals: { asked: 0, allowed: 0, denied: 0, decisions: [] },
    ms: 0,
    notices: [],
    isWriteRefused: false,
  });
});

it("says what was in force", () => {
  expect(told(READ_ONLY).inForce).toEqual({
    cwd: "/project",
    model: "m",
    approvalPolicy: "never",
    sandbox: { policy: "read-only", enforcedBy: "bubblewrap" },
  });
});

it("counts commands, and keeps the last of those that failed", () => {
  const { run, failed, failures } = told(command(0), ...[1, 2, 3, 4, 5, 6].map((code) => command(code))).commands;
  expect([run, failed, failures.map(({ exitCode }) => exitCode)]).toEqual([7, 6, [2, 3, 4, 5, 6]]);
});

it("the end of a command that an earlier turn began is not counted", () => {
  const began: ThreadEvent = { type: "commandStarted", callId: "c", command: ["x"], cwd: "/", parsed: [] };
  const ended = { ...command(-1), ofTurn: turnIdOf("2") } as ThreadEvent;
  expect(told(ended).commands).toMatchObject({ run: 0, failed: 0 });
  expect(told(began, ended).commands).toMatchObject({ run: 1, failed: 1 });
});

it("a command that was refused or could not be started did not run, and one that still runs has not failed", () => {
  const call = { callId: "c", command: ["x"], cwd: "/", parsed: [] };
  const outcome = { stdout: "", stderr: "", aggregatedOutput: "rejected", formattedOutput: "", exitCode: -1, durationMs: 0 };
  const started: ThreadEvent = { type: "commandStarted", ...call };
  const done: ThreadEvent = { type: "turnCompleted", lastMessage: null };
  const refused: ThreadEvent = { type: "commandEnded", ...call, ...outcome, declined: true };
  const error = { ...outcome, aggregatedOutput: "execution error: no such folder", neverStarted: true as const };
  expect(told(started, { type: "commandEnded", ...call, ...error }, done).commands).toMatchObject({
    run: 0,
    refused: 1,
    failures: [{ command: ["x"], refusal: "no such folder" }],
  });
  const left: ThreadEvent = { type: "commandEnded", ...call, ...outcome, stillRuns: true };
  expect(told(started, refused, done).commands).toEqual({
    run: 0,
    failed: 0,
    refused: 1,
    stillRunning: 0,
    failures: [{ command: ["x"], refusal: "rejected" }],
  });
  for (const end of [[], [left]]) expect(told(started, ...end, done).commands).toMatchObject({ run: 0, failed: 0, stillRunning: 1 });
  expect(told(started, command(0), done).commands).toMatchObject({ run: 1, stillRunning: 0 });
});

it.for([
  { type: "turnAborted", reason: "interrupted" },
  { type: "turnFailed", message: "no such luck", info: "other" },
] as const)("a command that was still running when the turn ended with $type counts as run", (end) => {
  const begun: ThreadEvent = { type: "commandStarted", callId: "c", command: ["npm", "publish"], cwd: "/", parsed: [] };
  expect(told(begun, end).commands).toEqual({
    run: 1,
    failed: 0,
    refused: 0,
    stillRunning: 0,
    failures: [{ command: ["npm", "publish"] }],
  });
  expect(told(begun, command(0), end).commands).toMatchObject({ run: 1, failures: [] });
  // An engine may report the end of such a command first.
  for (const flags of [{ cutOff: true }, {}]) {
    const ended = { ...command(-1, "command interrupted"), command: ["npm", "publish"], ...flags } as ThreadEvent;
    expect(told(begun, ended, end).commands).toEqual(told(begun, end).commands);
  }
});

it.for<ThreadEvent>([
  { type: "itemStarted", item: { kind: "agentMessage", id: "m", texts: [] } },
  { type: "modelRetry", attempt: 1, limit: 5, cause: "it broke" },
  { type: "commandStarted", callId: "d", command: ["y"], cwd: "/", parsed: [] },
])("a command that was ended before $type was not ended by the turn", (later) => {
  const end: ThreadEvent = { type: "turnAborted", reason: "interrupted" };
  expect(told(command(-1), later, end).commands).toMatchObject({ failed: 1 });
});

it("a command that was ended from outside has failed without an exit code", () => {
  const done: ThreadEvent = { type: "turnCompleted", lastMessage: null };
  expect(told(command(-1), done).commands).toMatchObject({ run: 1, failed: 1, failures: [{ command: ["x"] }] });
  expect(told(command(-1), done).commands.failures[0]).not.toHaveProperty("exitCode");
});

it("a command that Codex could not start is told with Codex's reason, without its prefix", () => {
  const output = "Failed to create unified exec process: No such file or directory (os error 2)";
  const ended = { ...command(-1, output), neverStarted: true } as ThreadEvent;
  expect(told(ended).commands).toMatchObject({ run: 0, refused: 1, failures: [{ refusal: "No such file or directory (os error 2)" }] });
});

it("counts the lines of files that were patched, and leaves out patches that failed", () => {
  const { files } = told(
    patch({ "/a": { type: "add", content: "1\n2\n" }, "/d": { type: "delete", content: "1\n2\n3" } }),
    patch({ "/a": update("@@ -1,2 +1,2 @@\n-1\n+one\n 2\n"), "/u": update("@@ -1 +1,2 @@\n 1\n+2\n") }),
    patch({ "/never": { type: "add", content: "x\n" } }, false),
  );
  expect(files).toEqual({
    from: "patches",
    list: [
      { path: "/a", kind: "add", added: 3, removed: 1 },
      { path: "/d", kind: "delete", added: 0, removed: 3 },
      { path: "/u", kind: "update", added: 1, removed: 0 },
    ],
  });
});

it("a moved file is deleted at its old path, and a file that was added and deleted is not listed", () => {
  const { files } = told(
    patch({ "/old": update("@@ -1 +1 @@\n-1\n+2\n", "/new"), "/brief": { type: "add", content: "x\n" } }),
    patch({ "/brief": { type: "delete", content: "x\n" } }),
  );
  expect(files?.list).toEqual([
    { path: "/old", kind: "delete", added: 0, removed: 0 },
    { path: "/new", kind: "update", added: 1, removed: 1 },
  ]);
});

describe("tokens", () => {
  const tokens = (total_tokens: number): TokenUsage => ({
    input_tokens: total_tokens - 1,
    cached_input_tokens: 0,
    output_tokens: 1,
    reasoning_output_tokens: 0,
    total_tokens,
  });
  const counted = (total: number, last: number): ThreadEvent => ({
    type: "tokenCount",
    usage: { total_token_usage: tokens(total), last_token_usage: tokens(last), model_context_window: null },
    rateLimits: NO_RATE_LIMITS,
  });
  const NONE: ThreadEvent = { type: "tokenCount", usage: null, rateLimits: NO_RATE_LIMITS };
  const DONE: ThreadEvent = { type: "turnCompleted", lastMessage: null };
  const totals = ({ usage }: TurnReceipt) => usage && [usage.turn.total_tokens, usage.thread.total_tokens];
  const REVIEWING: ThreadEvent = { type: "reviewStarted", target: { type: "uncommittedChanges" }, hint: "" };
  const user: ThreadEvent = { type: "rawItem", item: { type: "message", role: "user", content: [] } };

  it.for([
    ["of the first turn are the thread's", [SAID, counted(30, 30)], [30, 30]],
    ["of several requests are added", [SAID, counted(30, 30), SAID, counted(80, 50), counted(80, 50)], [80, 80]],
    ["that come before the model said anything are of an earlier turn", [user, counted(100, 40), SAID, counted(130, 30)], [30, 130]],
    ["are none where the model never answered", [user, counted(100, 40)], [0, 100]],
    ["of a review are those of its turn, although no message is shown", [user, REVIEWING, counted(30, 30), counted(80, 50)], [80, 80]],
    ["of a review on an older thread are those of the review alone", [user, REVIEWING, counted(100, 0), counted(130, 30)], [30, 130]],
    ["of a turn without a message count if the thread had used none before", [user, NONE, counted(15, 15)], [15, 15]],
    ["of a turn without a message are those of the only report in it", [user, counted(100, 15), DONE], [15, 100]],
    ["of a turn without a message are those of the last report in it", [user, counted(85, 40), counted(100, 15), DONE], [15, 100]],
    ["are left out if none were reported", [SAID, NONE], undefined],
  ] as const)("%s", ([, events, expected]) => {
    expect(totals(told(...events))).toEqual(expected);
  });
});

describe("questions", () => {
  const SUBJECT: ApprovalSubject = {
    kind: "command",
    callId: "c",
    command: ["touch", "x"],
    commandText: "touch x",
    cwd: "/",
    parsed: [],
    staysInSandbox: false,
    needsPerson: false,
  };
  // Only the desk assigns ids.
  const asked = (id: string): ThreadEvent => ({
    type: "approvalRequested",
    request: {
      id: id as ApprovalId,
      threadId: threadIdOf("t"),
      turnId: turnIdOf("0"),
      subject: SUBJECT,
      deadline: 0,
    } satisfies ApprovalRequest,
  });
  const decided = (id: string, decision: ApprovalDecision): ThreadEvent => ({ type: "approvalDecided", id: id as ApprovalId, decision });

  it("that were denied, or are open when the turn is interrupted, are about commands that did not run", () => {
    const begun: ThreadEvent = { type: "commandStarted", callId: SUBJECT.callId, command: ["x"], cwd: "/", parsed: [] };
    const end: ThreadEvent = { type: "turnAborted", reason: "interrupted" };
    expect(told(begun, asked("q"), end).commands).toMatchObject({ run: 0, failures: [] });
    expect(told(begun, asked("q"), decided("q", { kind: "denied" }), end).commands).toMatchObject({ run: 0, failures: [] });
    expect(told(begun, asked("q"), decided("q", { kind: "approved" }), end).commands).toMatchObject({ run: 1 });
  });

  it("are reported with decision and decider; open ones count only as asked", () => {
    const { approvals } = told(
      asked("a"),
      decided("a", { kind: "approved", by: "elicitation" }),
      asked("b"),
      decided("b", { kind: "denied", reason: "no", by: "fallback" }),
      asked("c"),
    );
    expect(approvals).toEqual({
      asked: 3,
      allowed: 1,
      denied: 1,
      decisions: [
        { subject: SUBJECT, decision: "approved", by: "elicitation" },
        { subject: SUBJECT, decision: "denied", by: "fallback", reason: "no" },
      ],
    });
  });

  it("that were denied are why nothing is written where the sandbox only reads", () => {
    expect(told(READ_ONLY, asked("a"), decided("a", { kind: "denied" })).isWriteRefused).toBe(true);
    expect(told(asked("a"), decided("a", { kind: "denied" })).isWriteRefused).toBe(false);
  });

  it.for([
    ["elicitation", {}, false],
    ["tool", {}, false],
    ["elicitation", { dismissed: true }, true],
    ["fallback", {}, true],
  ] as const)("that a person denied are no reason to ask for a sandbox that writes: %s %j", ([by, more, isWriteRefused]) => {
    const events = [
      READ_ONLY,
      asked("a"),
      decided("a", { kind: "denied", by, ...more }),
      { ...patch({}, false), callId: "c" } as ThreadEvent,
    ];
    expect(told(...events).isWriteRefused).toBe(isWriteRefused);
  });

  it("that were denied are not counted a second time as commands that found no sandbox", () => {
    const ended = { ...command(-1, "no sandbox works"), lacksSandbox: true } as ThreadEvent;
    expect(told(ended)).toMatchObject({
      lacksSandbox: true,
      commands: { run: 0, refused: 1, failures: [{ refusal: "no sandbox works" }] },
    });
    const denied = told(asked("a"), decided("a", { kind: "denied", by: "fallback" }), ended);
    expect(denied).toMatchObject({ lacksSandbox: true, commands: { run: 0, refused: 0 }, approvals: { denied: 1 } });
  });

  it("that were denied are about commands that did not run, except a command that first ran in the sandbox", () => {
    const denied = [asked("a"), decided("a", { kind: "denied", by: "tool" })];
    const ended = (exitCode: number) => ({ ...command(exitCode, ""), callId: "c" }) as ThreadEvent;
    expect([told(...denied, ended(-1)).commands.run, told(...denied, ended(1)).commands.run, told(ended(-1)).commands.run]).toEqual([
      0, 1, 1,
    ]);
  });
});

it.for([
  ["a command met a disk that it cannot write", [READ_ONLY, command(1, "touch: cannot touch 'x': Read-only file system")], true],
  ["a command failed for another reason", [READ_ONLY, command(1, "no such file")], false],
  ["a patch failed", [READ_ONLY, patch({}, false)], true],
  [
    "a patch was out of the question",
    [
      READ_ONLY,
      { type: "rawItem", item: { type: "custom_tool_call_output", output: "patch rejected: writing outside of the project; x" } },
    ],
    true,
  ],
  ["a patch failed in a sandbox that may write", [patch({}, false)], false],
] as const)("says whether the sandbox prevented a write: %s", ([, events, isWriteRefused]) => {
  expect(told(...events).isWriteRefused).toBe(isWriteRefused);
});

it("reports the used part of the account's limits, if the provider reports it", () => {
  const rateLimits = { ...NO_RATE_LIMITS, primary: { used_percent: 41, window_minutes: 300, resets_at: 1_790_000_000 } };
  const { rateLimits: known } = told(
    { type: "tokenCount", usage: null, rateLimits },
    { type: "tokenCount", usage: null, rateLimits: NO_RATE_LIMITS },
  );
  expect(known).toEqual(rateLimits);
});

it("repeats the warnings of the turn, up to a limit", () => {
  const warning: ThreadEvent = { type: "warning", message: "another model was used" };
  expect(told(warning).notices).toEqual(["another model was used"]);
  expect(told(...Array.from({ length: 100 }, () => warning)).notices).toHaveLength(20);
});
