import { expect, it } from "vitest";
import { MemoryTelemetry } from "../../../test/support/memoryTelemetry.js";
import { ApprovalDesk } from "../../approvals/desk.js";
import { threadIdOf, turnIdOf } from "../../lib/ids.js";
import type { Call } from "../../mcp/call.js";
import type { ToolAction } from "../../mcp/tools/tool.js";
import { refusal } from "../../mcp/wording/callResult.js";
import { Turn } from "../../threads/turn.js";
import type { Principal, SessionId } from "../caller.js";
import { trailed } from "./callTrail.js";

const OK = { content: [{ type: "text", text: "fine" }] } as const;

function call(changes: Partial<Call> = {}): Call {
  const peer = { notify: () => {}, notifyText: () => {}, congested: () => undefined, request: () => Promise.reject(new Error("nobody")) };
  const rest = { progressToken: undefined, logLevel: () => undefined, peer, canElicit: false, revision: undefined };
  return { requestId: 7, signal: new AbortController().signal, caller: undefined, ...rest, ...changes };
}

async function told(telemetry: MemoryTelemetry) {
  const { lines, spans } = telemetry;
  return { lines, spans: spans.map(({ name, within, failure }) => ({ name, within, failure })), counts: await telemetry.counts() };
}

it("a call lasts as long as its turn; both belong to the trace and the session that the client named", async () => {
  const caller = { sessionId: "s1" as SessionId, principal: "p" as Principal, scopes: ["call", "read"] as const };
  const turns: Turn[] = [];
  const startsTurn: ToolAction = async (_args, { watchTurn }) => {
    const turn = new Turn(threadIdOf("t1"), turnIdOf("7"), { text: "", watch: watchTurn });
    turn.begin();
    turns.push(turn);
    return { turn, approvals: { desk: new ApprovalDesk(), fallback: "deny" }, observe: () => undefined, answer: () => OK };
  };
  const telemetry = new MemoryTelemetry();
  await trailed("codex", startsTurn, telemetry)({}, call({ caller, trace: { traceparent: "outside" } }));
  expect(telemetry.spans.map(({ name, ended }) => ({ name, ended }))).toEqual([{ name: "tools/call codex", ended: false }]);
  turns[0]?.publish([{ type: "turnCompleted", lastMessage: null }]);
  expect(await told(telemetry)).toEqual({
    lines: [
      "info turn ended session_id=s1 request_id=7 thread_id=t1 turn_id=7 outcome=completed model=unknown",
      "debug call ended session_id=s1 request_id=7 tool=codex outcome=ok",
    ],
    spans: [
      { name: "tools/call codex", within: "outside", failure: undefined },
      { name: "turn", within: "tools/call codex", failure: undefined },
    ],
    counts: ['calls_total{tool="codex",outcome="ok"} 1', 'turns_ended_total{outcome="completed"} 1'],
  });
});

it.for([
  ["error", async () => refusal("no"), call(), "refused"],
  ["error", () => Promise.reject(new Error("defect")), call(), "defect"],
  ["cancelled", async () => OK, call({ signal: AbortSignal.abort() }), "cancelled"],
] as const)("a call that ends as %s is told as one", async ([outcome, action, made, failure]) => {
  const telemetry = new MemoryTelemetry();
  await trailed("codex", action, telemetry)({}, made).catch(() => undefined);
  const { counts, spans } = await told(telemetry);
  expect([counts, spans]).toEqual([
    [`calls_total{tool="codex",outcome="${outcome}"} 1`],
    [{ name: "tools/call codex", within: undefined, failure }],
  ]);
});

it("what the tool throws, its caller gets", async () => {
  const broken: ToolAction = () => Promise.reject(new Error("defect"));
  await expect(trailed("codex", broken, new MemoryTelemetry())({}, call())).rejects.toThrow("defect");
});
