import { describe, expect, it } from "vitest";
import { WORKSPACE } from "../../../../test/support/codex/translatedTurn.js";
import { settingsIn } from "../../../../test/support/threads/rollouts.js";
import type { ApprovalDecision } from "../../../approvals/model.js";
import type { ApprovalPolicy } from "../../../exec/policies.js";
import { approvalAnswer, SERVER_REQUESTS, serverRequest } from "./serverRequests.js";
import { OpenItems } from "./turnState.js";

const COMMAND = "item/commandExecution/requestApproval";
const PATCH = "item/fileChange/requestApproval";
const PERMISSIONS = "item/permissions/requestApproval";
const USER_INPUT = "item/tool/requestUserInput";
const ELICITATION = "mcpServer/elicitation/request";

interface Asking {
  readonly item?: Readonly<Record<string, unknown>>;
  readonly approvalPolicy?: ApprovalPolicy;
}

function read(method: string, params: unknown, { item, approvalPolicy = "on-request" }: Asking = {}) {
  const items = new OpenItems();
  if (item) items.add(item);
  return serverRequest(method, params, { items, settings: settingsIn(WORKSPACE, { approvalPolicy }) });
}

function answers(method: string, params: unknown, decisions: readonly ApprovalDecision[]) {
  return decisions.map((decision) => approvalAnswer(method, params, decision));
}

const DECISIONS: readonly ApprovalDecision[] = [
  { kind: "approved" },
  { kind: "approvedForSession" },
  { kind: "approvedPrefix", prefix: ["touch"] },
  { kind: "denied", reason: "no" },
  { kind: "answered", content: {} },
  { kind: "abort" },
];

it("every request of the app-server is a question, or refused for a reason", () => {
  const kinds = [...SERVER_REQUESTS].map(([method, known]) => [method, "refused" in known ? known.refused : "asked"]);
  expect(Object.fromEntries(kinds)).toEqual({
    "account/chatgptAuthTokens/refresh": "the login is Codex's own",
    applyPatchApproval: "only threads of the older protocol ask this way",
    "attestation/generate": "attestation was not offered",
    "currentTime/read": "a clock was not offered",
    execCommandApproval: "only threads of the older protocol ask this way",
    "item/commandExecution/requestApproval": "asked",
    "item/fileChange/requestApproval": "asked",
    "item/permissions/requestApproval": "asked",
    "item/tool/call": "no tools were declared to the model",
    "item/tool/requestUserInput": "asked",
    "mcpServer/elicitation/request": "asked",
  });
  expect(read("item/tool/call", {})).toEqual({ kind: "refuse", message: "no tools were declared to the model" });
  expect(read("something/new", {})).toEqual({ kind: "refuse", message: "something/new is unknown here" });
});

describe("a command", () => {
  it("is asked about with all its known data, and may always leave the sandbox", () => {
    const params = {
      itemId: "c1",
      command: "/bin/bash -lc 'touch /out/a'",
      cwd: "/ws/sub",
      commandActions: [{ type: "unknown", command: "touch /out/a" }],
      reason: "the build needs it",
      proposedExecpolicyAmendment: ["touch", "/out/a"],
    };
    expect(read(COMMAND, params, { approvalPolicy: "untrusted" })).toEqual({
      kind: "ask",
      subject: {
        kind: "command",
        callId: "c1",
        reason: "the build needs it",
        staysInSandbox: false,
        needsPerson: false,
        command: ["/bin/bash", "-lc", "touch /out/a"],
        commandText: "/bin/bash -lc 'touch /out/a'",
        cwd: "/ws/sub",
        parsed: [{ type: "unknown", cmd: "touch /out/a" }],
        proposedPrefix: ["touch", "/out/a"],
      },
    });
  });

  it("that the request does not contain is taken from its item; the requested permissions are shown", () => {
    const params = {
      itemId: "c1",
      command: null,
      networkApprovalContext: { host: "example.test", protocol: "https" },
      additionalPermissions: { network: { enabled: true }, fileSystem: { read: ["/a"], write: ["/b", "/c"] } },
    };
    expect(read(COMMAND, params, { item: { type: "commandExecution", id: "c1", command: "curl x", cwd: "/ws/x" } })).toEqual({
      kind: "ask",
      subject: {
        kind: "command",
        callId: "c1",
        reason: "it wants to reach example.test (https); it wants to use the network; read /a; write /b; write /c",
        staysInSandbox: false,
        needsPerson: false,
        command: ["curl", "x"],
        commandText: "curl x",
        cwd: "/ws/x",
        parsed: [],
      },
    });
  });

  it("is decided in the app-server's words; a prefix is never written into the user's rules", () => {
    const words = ["accept", "acceptForSession", "acceptForSession", "decline", "decline", "cancel"];
    expect(answers(COMMAND, {}, DECISIONS)).toEqual(words.map((decision) => ({ decision })));
  });
});

describe("a change of files", () => {
  const item = { type: "fileChange", id: "p1", changes: [{ path: "/ws/n", kind: { type: "add" }, diff: "x\n" }] };

  it("is requested with the changes of its item", () => {
    expect(read(PATCH, { itemId: "p1", reason: "sandbox", grantRoot: "/out" }, { item })).toEqual({
      kind: "ask",
      subject: {
        kind: "patch",
        callId: "p1",
        reason: "sandbox",
        staysInSandbox: false,
        needsPerson: false,
        grantRoot: "/out",
        widensSandbox: true,
        changes: { "/ws/n": { type: "add", content: "x\n" } },
      },
    });
  });

  it("that was not shown is not asked about", () => {
    expect(read(PATCH, { itemId: "p2", reason: null, grantRoot: null }, { item })).toEqual({
      kind: "refuse",
      message: "the change to approve is not known here",
    });
  });

  it("is decided in the app-server's words", () => {
    const words = ["accept", "acceptForSession", "acceptForSession", "decline", "decline", "cancel"];
    expect(answers(PATCH, {}, DECISIONS)).toEqual(words.map((decision) => ({ decision })));
  });
});

describe("more permissions", () => {
  const entries = [
    { path: { type: "path", path: "/out" }, access: "write" },
    { path: { type: "special" }, access: "read" },
  ];
  const permissions = { network: null, fileSystem: { read: null, write: ["/out"], entries } };
  const params = { itemId: "i1", reason: "to install", permissions };

  it("are requested as text, for a turn or for the session", () => {
    expect(read(PERMISSIONS, params)).toEqual({
      kind: "ask",
      subject: {
        kind: "form",
        callId: "i1",
        reason: "to install",
        staysInSandbox: false,
        needsPerson: true,
        widensSandbox: true,
        server: "codex",
        message: 'The agent asks for more than its sandbox allows: write /out; read {"type":"special"} (to install)',
        requestedSchema: expect.objectContaining({
          properties: { scope: expect.objectContaining({ enum: ["turn", "session"] }) },
        }),
      },
    });
  });

  it("are granted as requested, or not at all", () => {
    const granted = { fileSystem: permissions.fileSystem };
    const nothing = { permissions: {}, scope: "turn" };
    expect(answers(PERMISSIONS, params, [...DECISIONS, { kind: "answered", content: { scope: "session" } }])).toEqual([
      { permissions: granted, scope: "turn" },
      { permissions: granted, scope: "session" },
      nothing,
      nothing,
      { permissions: granted, scope: "turn" },
      nothing,
      { permissions: granted, scope: "session" },
    ]);
  });

  it("are not requested if there are none, or under `never`", () => {
    const nothing = { kind: "answer", result: { permissions: {}, scope: "turn" } };
    expect([read(PERMISSIONS, { permissions: {} }), read(PERMISSIONS, params, { approvalPolicy: "never" })]).toEqual([nothing, nothing]);
  });
});

describe("a question of the agent", () => {
  const closed = {
    id: "q1",
    header: "Ok",
    question: "Go on?",
    options: [
      { label: "Yes", description: "do it" },
      { label: "No", description: "stop" },
    ],
  };
  const open = { id: "q2", header: "", question: "Which?", isOther: true, options: [{ label: "A", description: "the first" }] };
  const params = { itemId: "i1", questions: [closed, open] };

  it("is a form with its offers", () => {
    expect(read(USER_INPUT, params)).toEqual({
      kind: "ask",
      subject: {
        kind: "form",
        callId: "i1",
        staysInSandbox: false,
        needsPerson: true,
        server: "codex",
        message: "Go on?\nWhich?",
        requestedSchema: {
          type: "object",
          properties: {
            q1: { type: "string", title: "Ok", description: "Go on?\nYes: do it\nNo: stop", enum: ["Yes", "No"] },
            q2: { type: "string", title: "q2", description: "Which?\nA: the first" },
          },
        },
      },
    });
  });

  it("gets the answers of the user", () => {
    const content = { q1: "Yes", q2: ["A", "B"], q3: "unasked" };
    expect(answers(USER_INPUT, params, [{ kind: "answered", content }, { kind: "denied" }])).toEqual([
      { answers: { q1: { answers: ["Yes"] }, q2: { answers: ["A", "B"] } } },
      { answers: {} },
    ]);
  });

  it("is not passed on if it asks for a secret or has no content, or under `never`", () => {
    const unasked = { kind: "answer", result: { answers: {} } };
    expect([
      read(USER_INPUT, { questions: [{ ...closed, isSecret: true }] }),
      read(USER_INPUT, { questions: [] }),
      read(USER_INPUT, params, { approvalPolicy: "never" }),
    ]).toEqual([{ kind: "refuse", message: "forms cannot ask for secrets" }, unasked, unasked]);
  });
});

describe("a form of an MCP server", () => {
  const requestedSchema = { type: "object", properties: { name: { type: "string" } } };
  const params = { serverName: "files", mode: "form", message: "Who?", requestedSchema };
  const declined = { action: "decline", content: null, _meta: null };

  it("is passed on unchanged", () => {
    expect(read(ELICITATION, params)).toEqual({
      kind: "ask",
      subject: { kind: "form", callId: "", staysInSandbox: false, needsPerson: true, server: "files", message: "Who?", requestedSchema },
    });
  });

  it("gets the values of the form", () => {
    expect(answers(ELICITATION, params, [{ kind: "answered", content: { name: "x" } }, { kind: "denied" }, { kind: "abort" }])).toEqual([
      { action: "accept", content: { name: "x" }, _meta: null },
      declined,
      { action: "cancel", content: null, _meta: null },
    ]);
  });

  it("that was closed without an answer is reported as closed, not as declined", () => {
    const dismissed: ApprovalDecision = { kind: "denied", dismissed: true, reason: "nobody answered" };
    expect(answers(ELICITATION, params, [dismissed])).toEqual([{ action: "cancel", content: null, _meta: null }]);
  });

  it("that cannot be shown, or comes under `never`, is declined", () => {
    const unasked = { kind: "answer", result: declined };
    expect([
      read(ELICITATION, { ...params, mode: "url" }),
      read(ELICITATION, { ...params, requestedSchema: null }),
      read(ELICITATION, params, { approvalPolicy: "never" }),
    ]).toEqual([unasked, unasked, unasked]);
  });
});

describe("a call of an MCP tool", () => {
  const _meta = { codex_approval_kind: "mcp_tool_call", persist: ["session", "always"], tool_params: { name: "x" } };
  const params = { serverName: "files", mode: "form", _meta, message: "Allow it?", requestedSchema: { type: "object", properties: {} } };

  it("is requested with its arguments, once or for the session", () => {
    expect(read(ELICITATION, params)).toEqual({
      kind: "ask",
      subject: {
        kind: "form",
        callId: "",
        staysInSandbox: false,
        needsPerson: true,
        server: "files",
        message: 'Allow it? Arguments: {"name":"x"}',
        requestedSchema: expect.objectContaining({
          properties: { remember: expect.objectContaining({ enum: ["once", "session"] }) },
        }),
      },
    });
  });

  it("is allowed once or for the session, never for good", () => {
    const accepted = { action: "accept", content: {}, _meta: null };
    const remembered = { ...accepted, _meta: { persist: "session" } };
    const declined = { action: "decline", content: null, _meta: null };
    // Codex would end the turn after `cancel`.
    expect(answers(ELICITATION, params, [{ kind: "denied", dismissed: true }])).toEqual([declined]);
    expect(answers(ELICITATION, params, [...DECISIONS, { kind: "answered", content: { remember: "session" } }])).toEqual([
      accepted,
      remembered,
      declined,
      declined,
      accepted,
      { action: "cancel", content: null, _meta: null },
      remembered,
    ]);
  });
});
