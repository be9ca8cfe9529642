import { describe, expect, it } from "vitest";
import { settingsIn } from "../../../test/support/threads/rollouts.js";
import { eventMsgs } from "../../codexwire/eventMsg.js";
import { threadIdOf, turnIdOf } from "../../lib/ids.js";
import type { ThreadEvent } from "../../threads/events.js";
import { CodexEventWriter } from "./codexEvent.js";

const TURN = { threadId: threadIdOf("01a1dd1a-6d22-73e1-88aa-ccf523ae5caa"), id: turnIdOf("2") };

describe("events", () => {
  it("carry the call's id and the thread's, then the turn's", () => {
    expect(new CodexEventWriter(2, TURN, "recorded").write({ type: "turnCompleted", lastMessage: "ok" })).toEqual([
      '{"jsonrpc":"2.0","method":"codex/event","params":{"_meta":{"requestId":2,"threadId":"01a1dd1a-6d22-73e1-88aa-ccf523ae5caa"},"id":"2","msg":{"type":"task_complete","last_agent_message":"ok"}}}',
    ]);
  });

  it("keep the type of the call's id", () => {
    const [text] = new CodexEventWriter('"2"', TURN, "recorded").write({ type: "turnAborted", reason: "interrupted" });
    expect(text).toContain('"requestId":"\\"2\\""');
  });

  it("that are several events of Codex are several notifications, in order; hidden ones are none", () => {
    const writer = new CodexEventWriter(2, TURN, "recorded");
    const types = (event: ThreadEvent) => writer.write(event).map((text) => JSON.parse(text).params.msg.type);
    expect([
      types({ type: "itemCompleted", item: { kind: "agentMessage", id: "m", texts: ["ok"] } }),
      types({ type: "turnContext", settings: settingsIn("/project") }),
    ]).toEqual([["item_completed", "agent_message"], []]);
  });

  it.for([
    [{ type: "threadConfigured", threadId: TURN.threadId, settings: settingsIn("/project"), recordPath: undefined }, ""],
    [{ type: "deprecation", summary: "old" }, ""],
    [{ type: "mcpStartupCompleted", ready: [], failed: [], cancelled: [] }, ""],
    [{ type: "contextItem", item: { type: "message", role: "user", content: [] } }, "auto-compact-0"],
    [{ type: "rawItem", item: { type: "message", role: "user", content: [] } }, "2"],
    [{ type: "warning", message: "careful" }, "2"],
    [{ type: "messageDelta", itemId: "m", delta: "ok" }, "2"],
  ] satisfies [ThreadEvent, string][])("%o belongs to the turn or to the opening: %j", ([event, id]) => {
    const ids = new CodexEventWriter(9, TURN, "recorded").write(event).map((text) => JSON.parse(text).params.id);
    expect(new Set(ids)).toEqual(new Set([id]));
  });
});

describe("the short way for deltas", () => {
  it.for([
    ["words", "msg_1", "hello "],
    ["nothing", "msg_1", ""],
    ["quotes and backslashes", 'msg"1\\', 'say "hi" \\ \n\t'],
    ["control characters and separators", "msg_1", "\u0000\u001f\u2028\u2029"],
    ["emoji, whole and torn", "msg_1", "😀 \ud83d \ude00"],
  ] as const)("gives the same text as the general one for %s", ([, itemId, delta]) => {
    const event: ThreadEvent = { type: "messageDelta", itemId, delta };
    const general = eventMsgs(event, { threadId: TURN.threadId, turnId: TURN.id }).map((msg) =>
      JSON.stringify({
        jsonrpc: "2.0",
        method: "codex/event",
        params: { _meta: { requestId: "call", threadId: TURN.threadId }, id: TURN.id, msg },
      }),
    );
    expect(new CodexEventWriter("call", TURN, "recorded").write(event)).toEqual(general);
  });
});
