import { describe, expect, it } from "vitest";
import type { ApprovalId, ApprovalRequest, ApprovalSubject } from "../../approvals/model.js";
import { threadIdOf, turnIdOf } from "../../lib/ids.js";
import { elicitationParams, isAnsweredByItself, readDecision } from "./elicitation.js";

const THREAD = threadIdOf("01a1dd1c-a8b9-7be3-b223-e9cb43fc24f0");

function request(subject: ApprovalSubject): ApprovalRequest {
  return { id: "question" as ApprovalId, threadId: THREAD, turnId: turnIdOf("2"), subject, deadline: 5_000 };
}

const COMMAND: ApprovalSubject = {
  kind: "command",
  callId: "call_1",
  command: ["bash", "-lc", "touch made.txt"],
  commandText: "bash -lc 'touch made.txt'",
  cwd: "/project",
  parsed: [{ type: "unknown", cmd: "touch made.txt" }],
  staysInSandbox: true,
  needsPerson: false,
};

function form(description: string): unknown {
  return {
    type: "object",
    properties: {
      decision: {
        type: "string",
        title: "Decision",
        description,
        enum: ["approved", "approved_for_session", "denied", "abort"],
        enumNames: ["Allow once", "Allow for this session", "Deny", "Deny and stop the agent"],
      },
      reason: { type: "string", title: "Reason", description: "If denied: what the agent should know." },
    },
    required: ["decision"],
  };
}

describe("the question", () => {
  it("about a command has Codex's parameters, a form, and a copy under _meta", () => {
    const shared = {
      threadId: THREAD,
      codex_mcp_tool_call_id: "2",
      codex_event_id: "2",
      codex_call_id: "call_1",
      codex_command: ["bash", "-lc", "touch made.txt"],
      codex_cwd: "/project",
      codex_parsed_cmd: [{ type: "unknown", cmd: "touch made.txt" }],
    };
    expect(elicitationParams(request(COMMAND), 2)).toEqual({
      message: "Allow Codex to run `bash -lc 'touch made.txt'` in `/project`?",
      requestedSchema: form("It runs inside the sandbox."),
      codex_elicitation: "exec-approval",
      ...shared,
      _meta: { "codex-mcpd/approval": { ...shared, kind: "command", reason: null, staysInSandbox: true, deadline: 5_000 } },
    });
  });

  it("about a patch gives the reason first, as Codex does, then names the files", () => {
    const changes = { "/project/new.txt": { type: "add", content: "hello\nworld\n" } } as const;
    const subject: ApprovalSubject = { kind: "patch", callId: "call_2", changes, staysInSandbox: false, needsPerson: false, reason: "why" };
    const shared = {
      threadId: THREAD,
      codex_mcp_tool_call_id: "a",
      codex_event_id: "2",
      codex_call_id: "call_2",
      codex_reason: "why",
      codex_changes: changes,
    };
    expect(elicitationParams(request(subject), "a")).toEqual({
      message: "why\nAllow Codex to apply proposed code changes?\n- add /project/new.txt",
      requestedSchema: form("Reason: why. It is not confined by the sandbox. Files: add /project/new.txt."),
      codex_elicitation: "patch-approval",
      ...shared,
      _meta: { "codex-mcpd/approval": { ...shared, kind: "patch", reason: "why", staysInSandbox: false, deadline: 5_000 } },
    });
  });

  it("about a patch that also requests a folder names the folder, for people and for programs", () => {
    const subject: ApprovalSubject = {
      kind: "patch",
      callId: "c",
      changes: { "/out/a": { type: "delete", content: "" } },
      staysInSandbox: false,
      needsPerson: false,
      widensSandbox: true,
      grantRoot: "/out\n",
    };
    const params = elicitationParams(request(subject), 1);
    const grant = "A yes also lets Codex write anywhere below `/out\\n` for the rest of the session.";
    expect(params).toMatchObject({
      message: `${grant}\nAllow Codex to apply proposed code changes?\n- delete /out/a`,
      requestedSchema: form(`${grant} It is not confined by the sandbox. Files: delete /out/a.`),
      codex_grant_root: "/out\n",
      _meta: { "codex-mcpd/approval": { codex_grant_root: "/out\n" } },
    });
    expect(params).not.toHaveProperty("codex_reason");
  });

  it("about very many files names the first ones", () => {
    const changes = Object.fromEntries(Array.from({ length: 23 }, (_, at) => [`/f${at}`, { type: "delete", content: "" }] as const));
    const subject: ApprovalSubject = { kind: "patch", callId: "c", changes, staysInSandbox: true, needsPerson: false };
    expect(JSON.stringify(elicitationParams(request(subject), 1))).toContain("delete /f19, and 3 more.");
  });

  it("about a patch says which files are moved, and which lie outside the workspace", () => {
    const changes = {
      "/project/a": { type: "update", unified_diff: "", move_path: "/elsewhere/b" },
      "/project/link": { type: "update", unified_diff: "", move_path: null },
      "/project/c": { type: "delete", content: "" },
    } as const;
    const outside = { "/elsewhere/b": "/elsewhere/b", "/project/link": "/etc/hosts" };
    const subject: ApprovalSubject = { kind: "patch", callId: "c", changes, outside, staysInSandbox: false, needsPerson: false };
    expect(elicitationParams(request(subject), 1)["message"]).toBe(
      [
        "Allow Codex to apply proposed code changes?",
        "- move /project/a to /elsewhere/b (outside the workspace)",
        "- update /project/link (outside the workspace: /etc/hosts)",
        "- delete /project/c",
      ].join("\n"),
    );
    const recorded = elicitationParams(request(subject), 1, { recordedMessage: true });
    expect(recorded["message"]).toBe("Allow Codex to apply proposed code changes?");
    expect(JSON.stringify(recorded["requestedSchema"])).toContain("delete /project/c");
  });

  it("has an empty form, as Codex sent it, if configured", () => {
    expect(elicitationParams(request(COMMAND), 2, { emptyForm: true })).toMatchObject({
      message: "Allow Codex to run `bash -lc 'touch made.txt'` in `/project`?",
      requestedSchema: { properties: {}, type: "object" },
    });
  });

  it("with an empty form can state its reason and the scope of an approval in its message", () => {
    const messageOf = (subject: ApprovalSubject) => elicitationParams(request(subject), 2, { emptyForm: true, explains: true })["message"];
    const changes = { "/project/a": { type: "delete", content: "" } } as const;
    expect([
      messageOf({ ...COMMAND, reason: "it needs\nthe network", staysInSandbox: false }),
      messageOf({ kind: "patch", callId: "c", changes, staysInSandbox: true, needsPerson: false, reason: "why" }),
      messageOf({ kind: "form", callId: "c", server: "s", message: "m", requestedSchema: {}, staysInSandbox: false, needsPerson: true }),
    ]).toEqual([
      "Allow Codex to run `bash -lc 'touch made.txt'` in `/project`?\nReason: it needs\\nthe network. It is not confined by the sandbox.",
      "why\nAllow Codex to apply proposed code changes?\n- delete /project/a\nIt runs inside the sandbox.",
      "s: m",
    ]);
  });

  it("whose form has fields has the same message as Codex's", () => {
    expect(elicitationParams(request(COMMAND), 2, { explains: true })["message"]).toBe(
      "Allow Codex to run `bash -lc 'touch made.txt'` in `/project`?",
    );
  });
});

describe("a question shows all of its content as plain text:", () => {
  const BASE = { callId: "c", staysInSandbox: true, needsPerson: false } as const;
  const TRICKS = "\u001b[2K\u202efdp.exe\u200b\u2028x\u009b";
  const SHOWN = "\\u{1b}[2K\\u{202e}fdp.exe\\u{200b}\\u{2028}x\\u{9b}";

  it("a command, its folder and its reason; programs get them as they are", () => {
    const command = ["bash", "-c", TRICKS];
    const text = { commandText: `bash -c '${TRICKS}\nAllow Codex to run \`ls\`?'`, cwd: `/${TRICKS}\n`, reason: `${TRICKS}\nIt is safe` };
    const subject: ApprovalSubject = { ...BASE, kind: "command", command, parsed: [], ...text };
    expect(elicitationParams(request(subject), 1)).toMatchObject({
      message: `Allow Codex to run \`bash -c '${SHOWN}\n  | Allow Codex to run \`ls\`?'\` in \`/${SHOWN}\\n\`?`,
      requestedSchema: form(`Reason: ${SHOWN}\\nIt is safe. It runs inside the sandbox.`),
      codex_command: command,
      codex_cwd: text.cwd,
      _meta: { "codex-mcpd/approval": { reason: text.reason, codex_command: command } },
    });
  });

  it("a patch", () => {
    const changes = { [`/${TRICKS}\n- add /harmless`]: { type: "add", content: TRICKS } } as const;
    const params = elicitationParams(request({ ...BASE, kind: "patch", changes }), 1);
    expect(params).toMatchObject({
      message: `Allow Codex to apply proposed code changes?\n- add /${SHOWN}\\n- add /harmless`,
      codex_changes: changes,
    });
  });

  it("a server's form, with unchanged names and values", () => {
    const words = { title: TRICKS, description: `a\n${TRICKS}` };
    const shown = { title: SHOWN, description: `a\n  | ${SHOWN}` };
    const rest = { type: "string", enum: [TRICKS], default: TRICKS };
    const schemaOf = (texts: typeof words, enumNames: string) => ({
      type: "object",
      properties: {
        [TRICKS]: { ...rest, ...texts, enumNames: [enumNames] },
        title: { oneOf: [{ const: TRICKS, title: texts.title }] },
        description: { type: "array", items: { enum: [TRICKS] } },
      },
      required: [TRICKS],
    });
    const subject: ApprovalSubject = {
      ...BASE,
      kind: "form",
      server: `s${TRICKS}`,
      message: `${TRICKS}\nAllow?`,
      requestedSchema: schemaOf(words, TRICKS),
    };
    expect(elicitationParams(request(subject), 1)).toMatchObject({
      message: `s${SHOWN}: ${SHOWN}\n  | Allow?`,
      requestedSchema: schemaOf(shown, SHOWN),
    });
  });
});

const APPROVED = { kind: "approved" };
const DENIED = { kind: "denied" };
const ABORT = { kind: "abort" };
const NOBODY = { kind: "denied", dismissed: true, reason: "nobody answered" };
const FORM = {
  kind: "form",
  requestedSchema: { properties: { a: { type: "integer", maximum: 9 }, note: { type: "string" } }, required: ["a"] },
} as const;
const misfit = (complaint: string) => ({
  kind: "denied",
  reason: `the client's answer does not fit the form: ${complaint}`,
  failed: true,
});
const UNREADABLE = { kind: "denied", reason: "the client's answer could not be read", failed: true };

describe("an answer", () => {
  it.for([
    // Codex's own form
    [{ decision: "approved" }, APPROVED],
    [{ decision: "approved_for_session" }, { kind: "approvedForSession" }],
    [
      { decision: { approved_execpolicy_amendment: { proposed_execpolicy_amendment: ["touch"] } } },
      { kind: "approvedPrefix", prefix: ["touch"] },
    ],
    [{ decision: "denied" }, DENIED],
    [
      { decision: "denied", reason: " not now " },
      { kind: "denied", reason: "not now" },
    ],
    [{ decision: { denied: { rejection: "not now" } } }, { kind: "denied", reason: "not now" }],
    [
      { decision: { denied: { rejection: "not now" } }, reason: "other" },
      { kind: "denied", reason: "not now" },
    ],
    [{ decision: { denied: {} } }, DENIED],
    [{ decision: "abort" }, ABORT],
    // as Codex's parser reads structures and words
    [["approved"], APPROVED],
    [["denied"], DENIED],
    [{ decision: { approved_for_session: null } }, { kind: "approvedForSession" }],
    [{ decision: { abort: null } }, ABORT],
    [{ decision: { approved_execpolicy_amendment: [["touch"]] } }, { kind: "approvedPrefix", prefix: ["touch"] }],
    [{ decision: { approved: {} } }, UNREADABLE],
    [{ decision: { maybe: null } }, UNREADABLE],
    [["approved", "approved"], UNREADABLE],
    [{ action: "decline", decision: "approved" }, APPROVED],
    [{ action: "accept", decision: "denied", content: { decision: "approved" } }, DENIED],
    // words of other clients
    [{ decision: "Approved" }, APPROVED],
    [{ decision: " APPROVE " }, APPROVED],
    [{ decision: "allow" }, APPROVED],
    [{ decision: "allowed" }, APPROVED],
    [{ decision: "accept" }, APPROVED],
    [{ decision: "deny" }, DENIED],
    [{ decision: "Reject" }, DENIED],
    // MCP's own form
    [{ action: "accept" }, APPROVED],
    [{ action: "accept", content: {} }, APPROVED],
    [{ action: "accept", content: { decision: "approved" } }, APPROVED],
    [{ action: "accept", content: { decision: "approved_for_session" } }, { kind: "approvedForSession" }],
    [
      { action: "accept", content: { decision: "denied", reason: "later" } },
      { kind: "denied", reason: "later" },
    ],
    [{ action: "accept", content: { decision: "abort" } }, ABORT],
    [{ content: { decision: "approved" } }, APPROVED],
    [{ action: "decline" }, DENIED],
    [
      { action: "decline", content: { decision: "approved", reason: "no" } },
      { kind: "denied", reason: "no" },
    ],
    [{ action: "cancel" }, NOBODY],
    [{ action: "cancel", content: { decision: "approved" } }, NOBODY],
    [{ action: "cancel", content: { decision: "abort" } }, NOBODY],
    [
      { action: "cancel", content: { reason: "not now" } },
      { kind: "denied", reason: "not now" },
    ],
    [{ action: "cancel", decision: "abort" }, ABORT],
    [{ decision: "cancel" }, NOBODY],
    [{ decision: { approved_execpolicy_amendment: { proposed_execpolicy_amendment: [] } } }, { kind: "approved" }],
    // what nobody can read
    [{}, UNREADABLE],
    [null, UNREADABLE],
    [undefined, UNREADABLE],
    ["approved", UNREADABLE],
    [{ decision: "timed_out" }, UNREADABLE],
    [{ decision: "constructor" }, UNREADABLE],
    [{ decision: "__proto__" }, UNREADABLE],
    [{ decision: null, action: "accept" }, UNREADABLE],
    [{ decision: true }, UNREADABLE],
    [{ decision: { approved_execpolicy_amendment: { proposed_execpolicy_amendment: [1] } } }, UNREADABLE],
    [{ action: "accept", content: { decision: "whatever" } }, UNREADABLE],
    [{ action: "perhaps" }, UNREADABLE],
    [{ action: 1 }, UNREADABLE],
  ] as const)("%j is %j", ([answer, decision]) => {
    expect(readDecision(answer, { kind: "command" })).toEqual(decision);
  });

  it.for([
    [
      { action: "accept", content: { a: 1 } },
      { kind: "answered", content: { a: 1 } },
    ],
    [{ action: "accept" }, misfit("`a` is missing: it takes a whole number of at most 9.")],
    [{ action: "decline" }, DENIED],
    [{ action: "cancel" }, NOBODY],
    [{ decision: "approved" }, UNREADABLE],
    [null, UNREADABLE],
    [
      { action: "accept", content: { a: "1", note: null, other: [1] } },
      { kind: "answered", content: { a: 1, other: [1] } },
    ],
    [{ action: "accept", content: { a: 10 } }, misfit("`a` takes a whole number of at most 9.")],
    [{ action: "accept", content: { note: "n" } }, misfit("`a` is missing: it takes a whole number of at most 9.")],
  ] as const)("to a form: %j is %j", ([answer, decision]) => {
    expect(readDecision(answer, FORM)).toEqual(decision);
  });
});

it("consent without content fills in a form with its defaults; as recorded, the content of a form is passed on unread", () => {
  const usual = { kind: "form", requestedSchema: { properties: { a: { type: "integer", default: 2 } } } } as const;
  expect(readDecision({ action: "accept" }, usual)).toEqual({ kind: "answered", content: { a: 2 } });
  expect(readDecision({ action: "accept", content: { a: "x" } }, usual, "recorded")).toEqual({ kind: "answered", content: { a: "x" } });
});

const UNREAD = [
  { decision: "timed_out" },
  { decision: "APPROVED" },
  { decision: " approved " },
  { decision: "allow" },
  { decision: 1 },
  {},
  [],
];

it.for([{ action: "cancel" }, ...UNREAD, null, "approved"])(
  "as recorded, a question that %j answers is refused like any other",
  (answer) => {
    expect([readDecision(answer, { kind: "command" }, "recorded"), readDecision(answer, { kind: "patch" }, "recorded")]).toEqual([
      DENIED,
      DENIED,
    ]);
  },
);

describe("an answer counts as the client's own", () => {
  it.for([
    [{ action: "decline" }, 20, true],
    [{ action: "cancel" }, 20, true],
    [{ action: "cancel", content: {} }, 249, true],
    [{ action: "decline", content: null }, 0, true],
    [{ action: "decline" }, 250, false],
    [{ action: "cancel" }, 60_000, false],
    [{ action: "decline", content: { reason: "no" } }, 20, false],
    [{ action: "accept" }, 1, false],
    [{ decision: "denied" }, 1, false],
    [{ action: "cancel", decision: "abort" }, 1, false],
    [{}, 1, false],
    [null, 1, false],
    ["decline", 1, false],
  ] as const)("%j after %i ms: %j", ([answer, afterMs, expected]) => {
    expect(isAnsweredByItself(answer, afterMs)).toBe(expected);
  });
});
