import { expect, it } from "vitest";
import { newThreadId } from "../../lib/ids.js";
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
