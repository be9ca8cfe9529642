import { describe, expect, it } from "vitest";
import { began, contextOf, done, shownAs, type Told, translatorFor } from "../../../../test/support/codex/translatedTurn.js";
import { eventMsgs } from "../../../codexwire/eventMsg.js";
import { threadIdOf, turnIdOf } from "../../../lib/ids.js";
import { ThreadMemory } from "./threadMemory.js";
import { turnEndOf } from "./turnTranslator.js";

const MESSAGE = { type: "agentMessage", id: "m1", text: "done" };
const COMMAND = { type: "commandExecution", id: "c1", command: "/bin/bash -lc 'touch a'", cwd: "/ws", commandActions: [] };
const PATCH = { type: "fileChange", id: "p1", changes: [{ path: "/ws/n", kind: { type: "add" }, diff: "x\n" }] };
const PROMPT = { type: "userMessage", id: "u1", content: [{ type: "text", text: "go" }] };
const ENDED: Told = ["turn/completed", { turn: { id: "turn-1", status: "completed", items: [MESSAGE] } }];

it("a turn with a command and a patch shows as 0.92.0 showed it", () => {
  const translator = translatorFor();
  const told: Told[] = [
    ["thread/status/changed", { status: { type: "active" } }],
    ["turn/started", { turn: { id: "turn-1" } }],
    began(PROMPT),
    done(PROMPT),
    began(COMMAND),
    done({ ...COMMAND, status: "completed", aggregatedOutput: "ok\n", exitCode: 0, durationMs: 3 }),
    ["thread/tokenUsage/updated", { tokenUsage: {} }],
    began(PATCH),
    done({ ...PATCH, status: "completed" }),
    ["turn/diff/updated", { diff: "diff" }],
    began({ ...MESSAGE, text: "" }),
    ["item/agentMessage/delta", { itemId: "m1", delta: "done" }],
    done(MESSAGE),
    ENDED,
  ];
  const events = [...told.flatMap(([method, params]) => translator.notification(method, params)), ...translator.end(turnEndOf(ENDED[1]))];
  const where = { threadId: threadIdOf("01a1dd1a-6d22-73e1-88aa-ccf523ae5caa"), turnId: turnIdOf("2") };
  expect(events.flatMap((event) => eventMsgs(event, where)).map(({ type }) => type)).toEqual([
    "mcp_startup_complete",
    "task_started",
    "item_started",
    "item_completed",
    "user_message",
    "exec_command_begin",
    "exec_command_output_delta",
    "exec_command_end",
    "token_count",
    "patch_apply_begin",
    "exec_command_output_delta",
    "patch_apply_end",
    "turn_diff",
    "item_started",
    "agent_message_content_delta",
    "agent_message_delta",
    "item_completed",
    "agent_message",
    "task_complete",
  ]);
});

describe("a turn", () => {
  it("starts with its first notification of any kind", () => {
    expect(translatorFor().notification("warning", { message: "careful" })).toEqual([
      { type: "mcpStartupCompleted", ready: [], failed: [], cancelled: [] },
      { type: "turnStarted", contextWindow: null },
      contextOf(),
      { type: "warning", message: "careful" },
    ]);
  });

  it("reports the policy in force, which may differ from the requested one", () => {
    const started = translatorFor({ settings: { approvalPolicy: "on-failure" } }).notification("turn/started", {});
    expect(started.at(-1)).toEqual(contextOf({ approvalPolicy: "on-request" }));
  });

  it("that ends before any event has a start anyway", () => {
    expect(translatorFor({ settings: { contextWindow: 1000 } }).end({ kind: "failed", message: "Codex is gone" })).toEqual([
      { type: "mcpStartupCompleted", ready: [], failed: [], cancelled: [] },
      { type: "turnStarted", contextWindow: 1000 },
      contextOf({ contextWindow: 1000 }),
      { type: "turnFailed", message: "Codex is gone", info: "other" },
    ]);
  });

  it("shows nothing after its end, which comes once", () => {
    const translator = translatorFor();
    translator.notification(...began(PATCH));
    translator.end({ kind: "interrupted" });
    expect([
      translator.end({ kind: "completed" }),
      translator.notification(...began(COMMAND)),
      translator.notification("warning", { message: "late" }),
      translator.asked({ itemId: "p1" }),
    ]).toEqual([[], [], [], []]);
  });

  it("answers with the message in its end, else with the last one shown", () => {
    const withItem = translatorFor();
    withItem.notification(...ENDED);
    const without = translatorFor();
    without.notification(...done({ ...MESSAGE, text: "told" }));
    without.notification("turn/completed", { turn: { status: "completed", items: [] } });
    const ends = [withItem, without].map((translator) => translator.end({ kind: "completed" }).at(-1));
    expect(ends).toEqual([
      { type: "turnCompleted", lastMessage: "done" },
      { type: "turnCompleted", lastMessage: "told" },
    ]);
  });

  it("does not show events of an earlier turn, except those with an id of their own", () => {
    const memory = new ThreadMemory();
    const first = translatorFor({ memory });
    first.notification(...began(COMMAND));
    first.end({ kind: "interrupted" });
    expect(
      shownAs([done({ ...COMMAND, status: "failed" }), ["turn/completed", { turn: { id: "turn-1", items: [MESSAGE] } }]], { memory }),
    ).toEqual([]);
    expect(shownAs([["warning", { turnId: "turn-2", message: "new" }]], { memory })).toEqual([{ type: "warning", message: "new" }]);
  });

  it("first shows what arrived between turns, except events that only a turn can have", () => {
    const memory = new ThreadMemory();
    memory.betweenTurns("warning", { message: "careful" });
    memory.betweenTurns(...began(COMMAND));
    expect(translatorFor({ memory }).notification("turn/started", {})).toEqual([
      { type: "warning", message: "careful" },
      { type: "mcpStartupCompleted", ready: [], failed: [], cancelled: [] },
      { type: "turnStarted", contextWindow: null },
      contextOf(),
    ]);
  });
});

describe("the app-server's word on the end", () => {
  it.each([
    [{ status: "completed" }, { kind: "completed" }],
    [{ status: "interrupted" }, { kind: "interrupted" }],
    [
      { status: "failed", error: { message: "too many", codexErrorInfo: { responseTooManyFailedAttempts: { httpStatusCode: 429 } } } },
      { kind: "failed", message: "too many", info: { response_too_many_failed_attempts: { http_status_code: 429 } } },
    ],
    [
      { status: "failed", error: { message: "m", codexErrorInfo: { activeTurnNotSteerable: { turnKind: "review" } } } },
      { kind: "failed", message: "m", info: "other" },
    ],
    [
      { status: "failed", error: { message: "m", codexErrorInfo: "usageLimitExceeded" } },
      { kind: "failed", message: "m", info: "usage_limit_exceeded" },
    ],
    [{ status: "vanished" }, { kind: "failed", message: "the turn failed", info: "other" }],
  ])("%j", (turn, ending) => {
    expect(turnEndOf({ turn })).toEqual(ending);
  });
});
