import { describe, expect, it } from "vitest";
import { eventMsgs } from "../../codexwire/eventMsg.js";
import { threadIdOf, turnIdOf } from "../../lib/ids.js";
import type { ThreadEvent } from "../../threads/events.js";
import { LaterFields } from "./codexEvent.js";

const THREAD = threadIdOf("01a1dd1a-6d22-73e1-88aa-ccf523ae5caa");
const TURN = turnIdOf("7");

/** The events as a client receives them, a second apart. */
function told(...events: ThreadEvent[]): readonly Record<string, unknown>[] {
  let now = 1_794_710_856_500;
  const fields = new LaterFields({ threadId: THREAD, id: TURN }, () => (now += 1_000));
  return events.flatMap((event) => fields.added(event, eventMsgs(event, { threadId: THREAD, turnId: TURN })));
}

const COMMAND = { callId: "c", command: ["ls"], cwd: "/", parsed: [] };
const OUTCOME = { stdout: "", stderr: "", aggregatedOutput: "", formattedOutput: "", durationMs: 1 };

describe("the fields that Codex 0.152.1 added to those of 0.92.0", () => {
  it("names the turn and its times", () => {
    const started: ThreadEvent = { type: "turnStarted", contextWindow: null };
    expect(told(started, { type: "turnCompleted", lastMessage: "ok" })).toEqual([
      { type: "task_started", model_context_window: null, turn_id: "7", started_at: 1_794_710_857 },
      {
        type: "task_complete",
        last_agent_message: "ok",
        turn_id: "7",
        started_at: 1_794_710_857,
        completed_at: 1_794_710_858,
        duration_ms: 1_000,
      },
    ]);
    expect(told({ type: "turnAborted", reason: "interrupted" })).toMatchObject([{ turn_id: "7", completed_at: 1_794_710_857 }]);
  });

  it.each([
    [{ exitCode: 0 }, "completed"],
    [{ exitCode: 3 }, "failed"],
    [{ exitCode: -1, declined: true as const }, "declined"],
  ])("says how a command ended: %o", (how, status) => {
    expect(told({ type: "commandEnded", ...COMMAND, ...OUTCOME, ...how })).toMatchObject([
      { type: "exec_command_end", process_id: null, status, completed_at_ms: 1_794_710_857_500 },
    ]);
  });

  it.each([
    [{ success: true }, "completed"],
    [{ success: false }, "failed"],
    [{ success: false, declined: true as const }, "declined"],
  ])("says how a patch ended: %o", (how, status) => {
    const ended: ThreadEvent = { type: "patchEnded", callId: "p", stdout: "", stderr: "", changes: {}, ...how };
    expect(told(ended)).toMatchObject([{ type: "patch_apply_end", status }]);
  });

  it("says when an item began and ended", () => {
    const item = { kind: "agentMessage", id: "m", texts: ["hi"] } as const;
    const times = told({ type: "itemStarted", item }, { type: "itemCompleted", item }).filter(({ type }) =>
      String(type).startsWith("item_"),
    );
    expect(times).toMatchObject([
      { started_at_ms: 1_794_710_857_500 },
      { started_at_ms: 1_794_710_857_500, completed_at_ms: 1_794_710_858_500 },
    ]);
  });

  it("reports a repeated request, which Codex does not", () => {
    const quiet: ThreadEvent = { type: "modelRetry", attempt: 2, limit: 4, cause: "503", quiet: true };
    expect(told(quiet)).toEqual([{ type: "background_event", message: "Asking the model again (2/4): 503" }]);
    expect(eventMsgs(quiet, { threadId: THREAD, turnId: TURN })).toEqual([]);
  });
});
