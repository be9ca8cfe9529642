import { describe, expect, it } from "vitest";
import { MemoryApprovalDesk } from "../approvals/desk.js";
import type { ApprovalDecision, ApprovalSubject } from "../approvals/model.js";
import { newThreadId, turnIdOf } from "../lib/ids.js";
import type { ThreadEvent } from "./events.js";
import type { SandboxCeiling } from "./limits.js";
import { questionsOf, Turn } from "./turn.js";

const WORKSPACE: SandboxCeiling = { sandbox: "workspace-write", reason: "not beyond --max-sandbox workspace-write" };
const READ_ONLY: SandboxCeiling = { sandbox: "read-only", reason: "not beyond --max-sandbox read-only" };

const BASE = { callId: "c", needsPerson: false } as const;
const COMMAND = { ...BASE, kind: "command", command: ["ls"], commandText: "ls", cwd: "/", parsed: [] } as const;
const INSIDE: ApprovalSubject = { ...COMMAND, staysInSandbox: true };
const OUTSIDE: ApprovalSubject = { ...COMMAND, staysInSandbox: false };
const PATCH_OUTSIDE: ApprovalSubject = { ...BASE, kind: "patch", changes: {}, staysInSandbox: false, staysInWorkspace: false };
const PATCH_IN_WORKSPACE: ApprovalSubject = { ...BASE, kind: "patch", changes: {}, staysInSandbox: false, staysInWorkspace: true };
const FORM: ApprovalSubject = { ...BASE, kind: "form", server: "s", message: "m", requestedSchema: {}, staysInSandbox: false };

const PERMISSIONS: ApprovalSubject = { ...FORM, widensSandbox: true };

/** Asks, answers if the question reaches a client, and returns the decision and the events. */
async function ask(subject: ApprovalSubject, confinement: SandboxCeiling | undefined, answer: ApprovalDecision = { kind: "approved" }) {
  const desk = new MemoryApprovalDesk();
  const shown: ThreadEvent[] = [];
  const turn = new Turn(newThreadId(), turnIdOf("0"), {
    text: "go",
    limits: { check: () => {}, confinement, reach: { folders: undefined } },
  });
  const put = questionsOf(turn, desk, (events) => {
    shown.push(...events);
    for (const event of events) if (event.type === "approvalRequested") void desk.answer(event.request.id, answer);
  });
  const decision = await put(subject);
  const asked = shown.flatMap((event) => (event.type === "approvalRequested" ? [event.request.subject] : []));
  return { decision, asked, shown };
}

describe("a question of a turn whose approvals have a limit", () => {
  it.for([
    ["a command inside the sandbox", INSIDE, READ_ONLY],
    ["a patch of the workspace under a ceiling of workspace-write", PATCH_IN_WORKSPACE, WORKSPACE],
    ["a form of an MCP server", FORM, READ_ONLY],
    ["anything, without a limit", OUTSIDE, undefined],
  ] as const)("is asked: %s", async ([, subject, confinement]) => {
    expect(await ask(subject, confinement)).toMatchObject({ asked: [subject], decision: { kind: "approved" } });
  });

  it.for([
    ["a command outside the sandbox", OUTSIDE, WORKSPACE],
    ["a patch outside the workspace", PATCH_OUTSIDE, WORKSPACE],
    ["a patch of the workspace under a ceiling of read-only", PATCH_IN_WORKSPACE, READ_ONLY],
    ["a form whose yes gives commands more than their sandbox", PERMISSIONS, WORKSPACE],
  ] as const)("is refused without a question: %s", async ([, subject, confinement]) => {
    expect(await ask(subject, confinement)).toEqual({
      asked: [],
      shown: [],
      decision: { kind: "denied", reason: confinement.reason, by: "ceiling" },
    });
  });
});

describe("commands that begin alike", () => {
  const offered: ApprovalSubject = { ...INSIDE, proposedPrefix: ["ls"] };
  const amendment: ApprovalDecision = { kind: "approvedPrefix", prefix: ["ls"] };

  it("can be allowed without a limit", async () => {
    expect(await ask(offered, undefined, amendment)).toMatchObject({ asked: [offered], decision: amendment });
  });

  it("are not offered where approvals have a limit; an answer that allows them anyway is a denial", async () => {
    const denied = { kind: "denied", reason: `commands cannot be approved by prefix: ${WORKSPACE.reason}`, by: "ceiling" };
    const { asked, decision, shown } = await ask(offered, WORKSPACE, amendment);
    expect([asked, decision, shown.at(-1)]).toEqual([[INSIDE], denied, expect.objectContaining({ decision: denied })]);
  });
});
