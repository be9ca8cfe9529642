import { expect, it } from "vitest";
import { settingsIn } from "../../test/support/rollouts.js";
import type { FileChanges } from "../exec/actions.js";
import type { ThreadEvent } from "../threads/events.js";
import { Receipt } from "./receipt.js";

function told(...events: readonly ThreadEvent[]): unknown {
  const summary = new Receipt();
  for (const event of events) summary.observe(event);
  return summary.toJSON();
}

function command(exitCode: number): ThreadEvent {
  const call = { callId: "c", command: ["x"], cwd: "/", parsed: [] };
  return { type: "commandEnded", ...call, stdout: "", stderr: "", aggregatedOutput: "", formattedOutput: "", exitCode, durationMs: 1 };
}

function patch(changes: FileChanges, success = true): ThreadEvent {
  return { type: "patchEnded", callId: "p", stdout: "", stderr: "", success, changes };
}

const NOTHING = { files: [], commands: { run: 0, failed: 0 } };

it("a turn that never began says that nothing was done", () => {
  expect(told()).toEqual(NOTHING);
});

it("says what was in force", () => {
  const settings = settingsIn("/project", { model: "m", approvalPolicy: "never", sandboxPolicy: { type: "read-only" } });
  const usage = { input_tokens: 1, cached_input_tokens: 0, output_tokens: 2, reasoning_output_tokens: 0, total_tokens: 3 };
  const rateLimits = { primary: null, secondary: null, credits: null, plan_type: null };
  const info = { total_token_usage: usage, last_token_usage: usage, model_context_window: null };
  expect(
    told(
      { type: "turnContext", settings, sandboxBackend: "bubblewrap" },
      { type: "tokenCount", usage: info, rateLimits },
      { type: "tokenCount", usage: null, rateLimits },
    ),
  ).toEqual({
    ...NOTHING,
    usage,
    cwd: "/project",
    model: "m",
    approvalPolicy: "never",
    sandbox: { policy: "read-only", enforcedBy: "bubblewrap" },
  });
});

it("counts commands, and those that failed", () => {
  expect(told(command(0), command(1), command(-1))).toEqual({ ...NOTHING, commands: { run: 3, failed: 2 } });
});

it("counts the lines of files that were changed, and leaves out patches that failed", () => {
  const update = (unified_diff: string) => ({ type: "update", unified_diff, move_path: null }) as const;
  expect(
    told(
      patch({ "/a": { type: "add", content: "1\n2\n" }, "/d": { type: "delete", content: "1\n2\n3" } }),
      patch({ "/a": update("@@ -1,2 +1,2 @@\n-1\n+one\n 2\n"), "/u": update("@@ -1 +1,2 @@\n 1\n+2\n") }),
      patch({ "/never": { type: "add", content: "x\n" } }, false),
    ),
  ).toEqual({
    files: [
      { path: "/a", kind: "add", added: 3, removed: 1 },
      { path: "/d", kind: "delete", added: 0, removed: 3 },
      { path: "/u", kind: "update", added: 1, removed: 0 },
    ],
    commands: { run: 0, failed: 0 },
  });
});

it("says how much of the account's limits is used, as far as the provider tells", () => {
  const nothing = { primary: null, secondary: null, credits: null, plan_type: null };
  const rateLimits = { ...nothing, primary: { used_percent: 41, window_minutes: 300, resets_at: 1_790_000_000 } };
  expect(told({ type: "tokenCount", usage: null, rateLimits }, { type: "tokenCount", usage: null, rateLimits: nothing })).toEqual({
    ...NOTHING,
    rateLimits,
  });
});

it("repeats the warnings of the turn, up to a limit", () => {
  const warning: ThreadEvent = { type: "warning", message: "another model was used" };
  expect(told(warning)).toEqual({ ...NOTHING, notices: ["another model was used"] });
  expect(told(...Array<ThreadEvent>(100).fill(warning))).toMatchObject({ notices: { length: 20 } });
});
