import { existsSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { isMissing } from "../../../../test/sandbox/available.js";
import { openToolStage, shellOutput, type ToolStage } from "../../../../test/support/memory/toolStage.js";
import type { ApprovalDecision } from "../../../approvals/model.js";

const ALWAYS: ApprovalDecision = { kind: "approvedForSession" };
const CONFINED = { confined: true } as const;

function outside(stage: ToolStage): string {
  return path.join(path.dirname(stage.stage.workspace), "outside.txt");
}

const PATCH_OUTSIDE = { input: "*** Begin Patch\n*** Add File: ../outside.txt\n+hello\n*** End Patch" };

/** A stage whose commands can write next to the workspace only outside the sandbox. */
function open(settings: NonNullable<Parameters<typeof openToolStage>[0]>["settings"] = {}, rules?: string): Promise<ToolStage> {
  const sandboxPolicy = { type: "workspace-write", network_access: false, exclude_tmpdir_env_var: true, exclude_slash_tmp: true } as const;
  const base = { approvalPolicy: "on-request", features: { apply_patch_freeform: false }, sandboxPolicy } as const;
  return openToolStage({ settings: { ...base, ...settings }, ...(rules === undefined ? {} : { rules }) });
}

describe.skipIf(isMissing)("a turn that may not leave the sandbox does not inherit earlier approvals:", () => {
  it("a command that was approved for the session needs approval again", async () => {
    await using stage = await open();
    const escalated = { with: { sandbox_permissions: "require_escalated" } };
    const script = "touch ../outside.txt";
    expect(shellOutput(await stage.script(script, { ...escalated, answers: [ALWAYS] })).exitCode).toBe(0);
    expect((await stage.script(script, escalated)).asked).toEqual([]);
    const confined = await stage.script(script, { ...escalated, ...CONFINED, answers: [{ kind: "denied" }] });
    expect(confined.asked).toMatchObject([{ kind: "command", staysInSandbox: false }]);
  });

  it("an allowed prefix does not count", async () => {
    await using stage = await open({ approvalPolicy: "untrusted" });
    const script = "touch ../outside.txt";
    await stage.script("touch inside.txt", { answers: [{ kind: "approvedPrefix", prefix: ["touch"] }] });
    expect((await stage.script(script)).asked).toEqual([]);
    const confined = await stage.script(script, { ...CONFINED, answers: [{ kind: "denied" }] });
    expect(confined.asked).toMatchObject([{ kind: "command", staysInSandbox: true }]);
  });

  it("a file outside that was approved for the session needs approval again", async () => {
    await using stage = await open();
    await stage.use("shell", { command: ["apply_patch", PATCH_OUTSIDE.input] }, { answers: [ALWAYS] });
    expect(existsSync(outside(stage))).toBe(true);
    const update = "*** Begin Patch\n*** Update File: ../outside.txt\n@@\n-hello\n+bye\n*** End Patch";
    const confined = await stage.use("shell", { command: ["apply_patch", update] }, { ...CONFINED, answers: [{ kind: "denied" }] });
    expect(confined.asked).toMatchObject([{ kind: "patch", staysInSandbox: false, staysInWorkspace: false }]);
  });

  it("a command that still runs outside gets no input", async () => {
    await using stage = await open({ asRecorded: false, features: { unified_exec: true } });
    const args = { cmd: "read line; touch ../outside.txt", tty: true, yield_time_ms: 250, sandbox_permissions: "require_escalated" };
    const started = await stage.use("exec_command", args, { answers: [{ kind: "approved" }] });
    const session = Number(/session ID (\d+)/.exec(started.output)?.[1]);
    const chars = "word\n";
    const confined = await stage.use("write_stdin", { session_id: session, chars }, CONFINED);
    expect(confined.output).toBe(`write_stdin failed: process ${session} runs outside the sandbox`);
    const free = await stage.use("write_stdin", { session_id: session, chars, yield_time_ms: 30_000 });
    expect(free.output).toContain("Process exited with code 0");
  });
});

describe.skipIf(isMissing)("a turn that may not leave the sandbox", () => {
  it("runs commands that the user's rules allow, but inside", async () => {
    await using stage = await open({}, 'prefix_rule(pattern=["touch"], decision="allow")');
    expect(shellOutput(await stage.script("touch ../outside.txt")).exitCode).toBe(0);
    const confined = await stage.script("touch inside.txt && touch ../another.txt", CONFINED);
    expect([confined.asked, shellOutput(confined).exitCode]).toEqual([[], 1]);
    expect(existsSync(stage.path("inside.txt"))).toBe(true);
  });

  it("keeps approvals inside for the next turn of its kind", async () => {
    await using stage = await open({ approvalPolicy: "untrusted" });
    await stage.script("touch inside.txt", { ...CONFINED, answers: [ALWAYS] });
    expect((await stage.script("touch inside.txt", CONFINED)).asked).toEqual([]);
    expect((await stage.script("touch inside.txt", { answers: [ALWAYS] })).asked).toHaveLength(1);
  });

  it("runs nothing outside, even if it is approved", async () => {
    await using stage = await open();
    const escalated = { with: { sandbox_permissions: "require_escalated" } };
    const turn = await stage.script("touch ../outside.txt", { ...escalated, ...CONFINED, answers: [{ kind: "approved" }] });
    expect(shellOutput(turn).exitCode).not.toBe(0);
    expect(existsSync(outside(stage))).toBe(false);
  });
});

it("without a sandbox no command of a turn that may not leave it runs, even if it is approved", async () => {
  const rules = 'prefix_rule(pattern=["touch"], decision="allow")';
  for (const approvalPolicy of ["never", "on-request", "untrusted", "on-failure"] as const) {
    await using stage = await openToolStage({ sandboxBin: "/bin/false", settings: { approvalPolicy }, rules });
    for (const script of ["touch a", "echo hi > b"]) await stage.script(script, { ...CONFINED, answers: [{ kind: "approved" }] });
    expect([existsSync(stage.path("a")), existsSync(stage.path("b"))]).toEqual([false, false]);
  }
});
