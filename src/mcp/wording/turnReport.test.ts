import { describe, expect, it } from "vitest";
import type { TurnReceipt } from "../../agent/receipt.js";
import type { ApprovalSubject } from "../../approvals/model.js";
import { threadIdOf } from "../../lib/ids.js";
import { reportFields, reportText } from "./turnReport.js";

const threadId = threadIdOf("01a1dd1a-6d22-73e1-88aa-ccf523ae5caa");
const tokens = (total_tokens: number) => ({
  input_tokens: total_tokens,
  cached_input_tokens: 0,
  output_tokens: 0,
  reasoning_output_tokens: 0,
  total_tokens,
});
const SUBJECT: ApprovalSubject = {
  kind: "command",
  callId: "c",
  command: ["/bin/bash", "-lc", "rm -rf\u202e x"],
  commandText: "",
  cwd: "/",
  parsed: [],
  staysInSandbox: false,
  needsPerson: false,
};
const BUSY: TurnReceipt = {
  files: {
    from: "git",
    list: Array.from({ length: 60 }, (_, at) => ({ path: `/project/src/f${at}\n.ts`, kind: "update" as const, added: at, removed: 1 })),
  },
  commands: { run: 7, failed: 1, refused: 0, stillRunning: 0, failures: [{ command: ["npm", "test"], exitCode: 1 }] },
  approvals: {
    asked: 2,
    allowed: 1,
    denied: 1,
    decisions: [{ subject: SUBJECT, decision: "denied", by: "fallback", reason: "it\nleaves" }],
  },
  usage: { turn: tokens(1_234), thread: tokens(56_789) },
  costUsd: 0.0123,
  rateLimits: {
    primary: { used_percent: 42.4, window_minutes: 300, resets_at: 1_800_000_000 },
    secondary: { used_percent: 7, window_minutes: null, resets_at: 1e300 },
    credits: null,
    plan_type: null,
  },
  inForce: { cwd: "/project", model: "m", approvalPolicy: "never", sandbox: { policy: "workspace-write", enforcedBy: "bubblewrap" } },
  ms: 61_500,
  notices: [],
  isWriteRefused: false,
};
const TURN = { threadId, status: "completed", receipt: BUSY, next: "Do this." } as const;

describe("a turn that did much", () => {
  it("has at most twelve lines, the thread first and the next step last", () => {
    expect(reportText(TURN).split("\n")).toEqual([
      `threadId: ${threadId}`,
      "status: completed after 1 min 2 s",
      "files changed: 60",
      "  M src/f0\\n.ts +0 -1",
      "  M src/f1\\n.ts +1 -1",
      "  M src/f2\\n.ts +2 -1",
      "  and 57 more",
      "commands: 7 run, 1 failed (last: npm test, exit code 1)",
      "approvals: 2 asked, 1 allowed, 1 denied (rm -rf\\u{202e} x: denied by --approval-fallback: it leaves)",
      "tokens: 1,234 in this turn, 56,789 on the thread; this turn cost $0.0123",
      "rate limits: 42 % of 5 h used, resets at 2027-01-15T08:00Z; 7 % used",
      "next: Do this.",
    ]);
  });

  it("is also structured data, with bounded lists", () => {
    const { files, ...fields } = reportFields(TURN);
    expect([(files as readonly unknown[]).length, (files as readonly unknown[])[1]]).toEqual([
      50,
      { path: "src/f1\n.ts", kind: "update", added: 1, removed: 1 },
    ]);
    expect(fields).toEqual({
      status: "completed",
      filesFrom: "git",
      filesOmitted: 10,
      commands: { run: 7, failed: 1, failures: [{ command: "npm test", exitCode: 1 }] },
      approvals: {
        asked: 2,
        allowed: 1,
        denied: 1,
        decisions: [{ what: "rm -rf\\u{202e} x", decision: "denied", by: "fallback", reason: "it leaves" }],
      },
      usage: {
        turn: { input: 1_234, cachedInput: 0, output: 0, reasoning: 0, total: 1_234 },
        thread: { input: 56_789, cachedInput: 0, output: 0, reasoning: 0, total: 56_789 },
      },
      cost: { usd: 0.0123 },
      rateLimits: {
        primary: { usedPercent: 42.4, windowMinutes: 300, resetsAt: 1_800_000_000 },
        secondary: { usedPercent: 7, windowMinutes: null, resetsAt: 1e300 },
      },
      cwd: "/project",
      sandbox: { policy: "workspace-write", enforcedBy: "bubblewrap" },
      model: "m",
      ms: 61_500,
      next: "Do this.",
    });
  });
});

it("a command that was refused did not run, and one that has not ended is named as such", () => {
  const failures = [{ command: ["rm", "-rf", "x"], refusal: "`rm -rf x` rejected:\nblocked by policy" }];
  const files = { from: "nothing", list: [] } as const;
  const receipt = { ...BUSY, files, commands: { run: 0, failed: 0, refused: 1, stillRunning: 1, failures } };
  expect(
    reportText({ ...TURN, receipt })
      .split("\n")
      .slice(2, 4),
  ).toEqual([
    "files changed: none",
    "commands: 0 run, 0 failed, 1 refused, 1 still running (last: rm -rf x, `rm -rf x` rejected: blocked by policy)",
  ]);
  expect(reportFields({ ...TURN, receipt })["commands"]).toEqual({
    run: 0,
    failed: 0,
    refused: 1,
    stillRunning: 1,
    failures: [{ command: "rm -rf x", refusal: "`rm -rf x` rejected: blocked by policy" }],
  });
});

it("a command that was cut off with its turn is named", () => {
  const commands = { run: 1, failed: 0, refused: 0, stillRunning: 0, failures: [{ command: ["npm", "publish"] }] };
  const turn = { ...TURN, receipt: { ...BUSY, commands } };
  expect(reportText(turn)).toContain("commands: 1 run, 0 failed (last: npm publish, which did not end by itself)");
  expect(reportFields(turn)["commands"]).toEqual({ run: 1, failed: 0, failures: [{ command: "npm publish" }] });
});

it("findings have paths like those of files, up to a limit", () => {
  const finding = { priority: 1, title: "t", file: "/project/a.ts", lines: [1, 2], body: "b".repeat(100), confidence: null } as const;
  const receipt = { ...BUSY, findings: [finding, { ...finding, file: "/other/b.ts" }, finding] };
  expect(reportFields({ ...TURN, receipt })).toMatchObject({ findings: [{ file: "a.ts" }, { file: "/other/b.ts" }, { file: "a.ts" }] });
  expect(reportFields({ ...TURN, receipt })).not.toHaveProperty("findingsOmitted");
  const cut = reportFields({ ...TURN, receipt, roomForFindings: 400 });
  expect([cut["findings"], cut["findingsOmitted"]]).toEqual([
    [
      { ...finding, file: "a.ts" },
      { ...finding, file: "/other/b.ts" },
    ],
    1,
  ]);
});

it("files that could not be determined are unknown, not an empty list", () => {
  const turn = { ...TURN, receipt: { ...BUSY, files: undefined } };
  expect(reportFields(turn)["files"]).toBe("unknown");
  expect(reportText(turn)).toContain("files changed: unknown (the comparison took too long)");
});

it("files that commands may have changed are unknown where only the agent's patches are known", () => {
  const turn = { ...TURN, receipt: { ...BUSY, files: { from: "patches", list: [] } } } as const;
  expect(reportFields(turn)).toMatchObject({ files: "unknown" });
  expect(reportText(turn)).toContain("files changed: unknown (only the agent's own patches are known)");
  const withoutCommands = { ...turn, receipt: { ...turn.receipt, commands: { ...BUSY.commands, run: 0 } } };
  expect(reportFields(withoutCommands)["files"]).toEqual([]);
});

it.for([
  ["folder", "files changed: 1 (without git: the folder was compared)"],
  ["patches", "files changed: 1 (from the agent's own patches only)"],
] as const)("the source of the files (%s) is named", ([from, line]) => {
  const files = { from, list: [{ path: "/elsewhere/x", kind: "add" }] } as const;
  expect(
    reportText({ ...TURN, receipt: { ...BUSY, files } })
      .split("\n")
      .slice(2, 4),
  ).toEqual([line, "  A /elsewhere/x"]);
});
