import { expect, it } from "vitest";
import { newThreadId, turnIdOf } from "../../lib/ids.js";
import { TurnItems } from "./turnItems.js";

const REJECTED = "exec command rejected by user";

it.each([
  ["that ran and prints that it was refused, completed", 0, "completed"],
  ["that ran, failed and prints that it was refused, failed", 1, "failed"],
  ["that did not run was refused", -1, "declined"],
])("a command %s", (_, exitCode, status) => {
  const items = new TurnItems({ threadId: newThreadId(), turnId: "t", ranMs: () => undefined });
  const call = { callId: "c", command: ["x"], cwd: "/", parsed: [] } as const;
  items.take({ type: "commandStarted", ...call });
  const output = { stdout: REJECTED, stderr: "", aggregatedOutput: REJECTED, formattedOutput: REJECTED };
  items.take({ type: "commandEnded", ...call, ...output, exitCode, durationMs: 0 });
  expect(items.items).toMatchObject([{ type: "command", status }]);
});

it("output and the end of a command that an earlier turn began are not items of this one", () => {
  const items = new TurnItems({ threadId: newThreadId(), turnId: "t", ranMs: () => undefined });
  const call = { callId: "c", command: ["x"], cwd: "/", parsed: [] } as const;
  const output = { stdout: "late", stderr: "", aggregatedOutput: "late", formattedOutput: "late" };
  const ofTurn = turnIdOf("2");
  items.take({ type: "commandOutput", callId: "c", stream: "stdout", bytes: Buffer.from("late"), ofTurn });
  items.take({ type: "commandEnded", ...call, ...output, exitCode: -1, durationMs: 0, ofTurn });
  expect(items.items).toEqual([]);
});
