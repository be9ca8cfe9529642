import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { openToolStage, type PlayedTurn, type ToolStage } from "../../../../test/support/memory/toolStage.js";
import { typesOf } from "../../../../test/support/threads/turns.js";
import type { ApprovalPolicy, SandboxMode } from "../../../exec/policies.js";
import type { RawItem } from "../../../threads/items.js";

const YES = { kind: "approved" } as const;
const REJECTED = "patch rejected by user";
const OUTSIDE = "patch rejected: writing outside of the project; rejected by user approval settings";

function patch(...lines: readonly string[]): string {
  return ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
}

const ADD = patch("*** Add File: new.txt", "+hello");
const ADD_OUTSIDE = patch("*** Add File: ../outside.txt", "+hello");
const ADDED = '{"output":"Success. Updated the following files:\\nA new.txt\\n","metadata":{"exit_code":0,"duration_seconds":0.0}}';

function open(approvalPolicy: ApprovalPolicy, sandbox: SandboxMode = "workspace-write"): Promise<ToolStage> {
  return openToolStage({ sandbox, settings: { approvalPolicy, features: { apply_patch_freeform: true } } });
}

function custom(input: string, callId = "patch"): RawItem {
  return { type: "custom_tool_call", id: `ctc_${callId}`, name: "apply_patch", input, call_id: callId };
}

function patchEvents({ events }: PlayedTurn): string[] {
  return typesOf(events).filter((type) => /patch|approval|turnDiff/.test(type));
}

/** The thread works as before. */
async function stillWorks(stage: ToolStage): Promise<void> {
  await stage.play([custom(patch("*** Add File: again.txt", "+again"))], { answers: [YES] });
  expect(readFileSync(stage.path("again.txt"), "utf8")).toBe("again\n");
}

describe("a patch inside the workspace", () => {
  it("is applied, shown, and reported to the model", async () => {
    await using stage = await open("on-request");
    const turn = await stage.play([custom(ADD)]);
    expect(turn.output).toBe(ADDED);
    const changes = { [stage.path("new.txt")]: { type: "add", content: "hello\n" } };
    const summary = "Success. Updated the following files:\nA new.txt\n";
    expect(turn.events.filter(({ type }) => type.startsWith("patch"))).toEqual([
      { type: "patchStarted", callId: "patch", autoApproved: true, changes },
      { type: "patchEnded", callId: "patch", stdout: summary, stderr: "", success: true, changes },
    ]);
    expect(readFileSync(stage.path("new.txt"), "utf8")).toBe("hello\n");
  });

  it.for([
    ["a function where text was offered", { features: { apply_patch_freeform: true } }, { input: ADD }],
    ["text where a function was offered", { model: "gpt-oss:20b" }, custom(ADD)],
  ] as const)("may come as %s", async ([, settings, sent]) => {
    await using stage = await openToolStage({ settings: { approvalPolicy: "never", ...settings } });
    const turn = "type" in sent ? await stage.play([sent]) : await stage.use("apply_patch", sent);
    expect(turn.output).toBe(ADDED);
    expect(readFileSync(stage.path("new.txt"), "utf8")).toBe("hello\n");
  });

  it("may come as a function, or through the shell", async () => {
    await using stage = await openToolStage({ settings: { approvalPolicy: "on-request", model: "gpt-oss:20b" } });
    expect((await stage.use("apply_patch", { input: ADD })).output).toBe(ADDED);
    const heredoc = (file: string) => `apply_patch <<'EOF'\n${patch(`*** Add File: ${file}`, "+x")}\nEOF`;
    const turn = await stage.use("shell", { command: ["bash", "-lc", heredoc("by-shell.txt")] });
    expect(turn.output).toContain("A by-shell.txt");
    expect(patchEvents(turn)).toEqual(["patchStarted", "patchEnded", "turnDiff", "turnDiff", "turnDiff"]);
    expect(JSON.stringify(stage.model.requests.at(-1)?.input)).toContain("Warning: apply_patch was requested via shell.");
    expect(existsSync(stage.path("by-shell.txt"))).toBe(true);
    await stage.use("shell_command", { command: heredoc("by-script.txt") });
    expect(existsSync(stage.path("by-script.txt"))).toBe(true);
  });

  it("adds to the turn's diff, which is empty again for the next turn", async () => {
    await using stage = await open("never");
    const first = await stage.play([custom(ADD, "a"), custom(patch("*** Update File: new.txt", "@@", "-hello", "+goodbye"), "b")]);
    const diffs = first.events.flatMap((event) => (event.type === "turnDiff" ? [event.unifiedDiff] : []));
    expect(diffs.at(0)).toContain("+hello");
    expect(diffs.at(-1)).toContain("+goodbye");
    expect(diffs.at(-1)).not.toContain("hello\n");
    const second = await stage.play([custom(patch("*** Add File: other.txt", "+x"), "c")]);
    const later = second.events.flatMap((event) => (event.type === "turnDiff" ? [event.unifiedDiff] : []));
    expect(later.join()).not.toContain("new.txt");
  });
});

describe("a patch that cannot be applied changes nothing, and the model gets the reason", () => {
  it.for([
    ["is empty", patch(), "patch rejected: empty patch"],
    ["is no patch", "hello", expect.stringMatching(/^apply_patch verification failed: /)],
    [
      "is for a missing file",
      patch("*** Update File: gone.txt", "@@", "-a", "+b"),
      expect.stringMatching(/^apply_patch verification failed: .*gone\.txt/s),
    ],
    [
      "does not fit",
      patch("*** Update File: here.txt", "@@", "-other", "+b"),
      expect.stringMatching(/^apply_patch verification failed: .*other/s),
    ],
    ["is for a folder", patch("*** Update File: .", "@@", "-a", "+b"), expect.stringMatching(/^apply_patch verification failed: /)],
    [
      "fits by half",
      patch("*** Add File: new.txt", "+x", "*** Update File: here.txt", "@@", "-other", "+b"),
      expect.stringMatching(/^apply_patch verification failed: /),
    ],
  ] as const)("when it %s", async ([, text, output]) => {
    await using stage = await open("never");
    writeFileSync(stage.path("here.txt"), "here\n");
    const turn = await stage.play([custom(text)]);
    expect(turn.output).toEqual(output);
    expect(patchEvents(turn)).toEqual([]);
    expect([existsSync(stage.path("new.txt")), readFileSync(stage.path("here.txt"), "utf8")]).toEqual([false, "here\n"]);
    await stillWorks(stage);
  });
});

describe("a patch outside the workspace", () => {
  const outside = (stage: ToolStage) => path.join(stage.stage.root, "outside.txt");

  it("is rejected under `never`", async () => {
    await using stage = await open("never");
    const { output, asked } = await stage.play([custom(ADD_OUTSIDE)]);
    expect({ output, asked, made: existsSync(outside(stage)) }).toEqual({ output: OUTSIDE, asked: [], made: false });
    await stillWorks(stage);
  });

  it("needs approval under on-request, and is applied when approved", async () => {
    await using stage = await open("on-request");
    const turn = await stage.play([custom(ADD_OUTSIDE)], { answers: [YES] });
    // Events name the path as the patch writes it, together with the resolved one.
    const written = `${stage.stage.workspace}/../outside.txt`;
    const changes = { [written]: { type: "add", content: "hello\n" } };
    expect(turn.asked).toEqual([
      {
        kind: "patch",
        callId: "patch",
        changes,
        staysInSandbox: false,
        staysInWorkspace: false,
        outside: { [outside(stage)]: outside(stage), [written]: outside(stage) },
        needsPerson: false,
      },
    ]);
    expect(patchEvents(turn).slice(0, 4)).toEqual(["patchStarted", "approvalRequested", "approvalDecided", "patchEnded"]);
    expect(readFileSync(outside(stage), "utf8")).toBe("hello\n");
  });

  it("that was approved for the session needs no further approval for the same file", async () => {
    await using stage = await open("on-request");
    await stage.play([custom(ADD_OUTSIDE)], { answers: [{ kind: "approvedForSession" }] });
    const again = await stage.play([custom(patch("*** Update File: ../outside.txt", "@@", "-hello", "+bye"))]);
    expect(again.asked).toEqual([]);
    expect(readFileSync(outside(stage), "utf8")).toBe("bye\n");
    const other = await stage.play([custom(patch("*** Add File: ../other.txt", "+x"))], { answers: [{ kind: "denied" }] });
    expect(other.asked).toHaveLength(1);
  });

  it("is tried in the sandbox first under on-failure, and then needs approval", async () => {
    await using stage = await open("on-failure");
    const turn = await stage.play([custom(ADD_OUTSIDE)], { answers: [YES] });
    expect(turn.asked).toMatchObject([{ reason: "command failed; retry without sandbox?", staysInSandbox: false }]);
    expect(existsSync(outside(stage))).toBe(true);
  });

  it("does not reach other places through a link that is created while the question is open", async () => {
    await using stage = await open("untrusted");
    const turn = await stage.play([custom(patch("*** Add File: sub/file.txt", "+x"))], {
      answers: [YES],
      onEvent: ({ type }) => {
        if (type === "approvalRequested") symlinkSync(stage.stage.home, stage.path("sub"));
      },
    });
    expect(turn.output).toContain("is outside of the folders that may be written");
    expect(existsSync(path.join(stage.stage.home, "file.txt"))).toBe(false);
  });
});

describe("a question about a patch", () => {
  it.for([
    [{ kind: "denied" }, REJECTED],
    [{ kind: "denied", reason: "wrong file" }, `${REJECTED}: wrong file`],
    [{ kind: "denied", reason: "nobody can be asked", by: "fallback" }, "patch not approved: nobody can be asked"],
  ] as const)("answered with %j does not change the file and informs the model", async ([decision, output]) => {
    await using stage = await open("untrusted");
    const turn = await stage.play([custom(ADD)], { answers: [decision] });
    expect(turn.output).toBe(output);
    expect(turn.events.find(({ type }) => type === "patchEnded")).toMatchObject({ success: false, stderr: output });
    expect(turn.events.at(-1)).toEqual({ type: "turnCompleted", lastMessage: "done" });
    expect(existsSync(stage.path("new.txt"))).toBe(false);
    await stillWorks(stage);
  });

  it("answered with abort ends the turn", async () => {
    await using stage = await open("untrusted");
    const turn = await stage.play([custom(ADD)], { answers: [{ kind: "abort" }] });
    expect(turn.events.at(-1)).toEqual({ type: "turnAborted", reason: "interrupted" });
    expect(existsSync(stage.path("new.txt"))).toBe(false);
    await stillWorks(stage);
  });

  it("is asked in a read-only sandbox under on-request, and refused under never", async () => {
    await using asking = await open("on-request", "read-only");
    expect((await asking.play([custom(ADD)], { answers: [YES] })).output).toBe(ADDED);
    await using never = await open("never", "read-only");
    expect((await never.play([custom(ADD)])).output).toBe(OUTSIDE);
  });

  it("does not change a file that changed while the question was open", async () => {
    await using stage = await open("untrusted");
    writeFileSync(stage.path("here.txt"), "here\n");
    const turn = await stage.play([custom(patch("*** Update File: here.txt", "@@", "-here", "+there"))], {
      answers: [YES],
      onEvent: ({ type }) => {
        if (type === "approvalRequested") writeFileSync(stage.path("here.txt"), "somebody else's\n");
      },
    });
    expect(turn.events.find(({ type }) => type === "patchEnded")).toMatchObject({ success: false });
    expect(readFileSync(stage.path("here.txt"), "utf8")).toBe("somebody else's\n");
  });
});
