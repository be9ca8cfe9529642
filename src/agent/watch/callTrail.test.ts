import { expect, it } from "vitest";
import { MemoryTelemetry } from "../../../test/support/memory/memoryTelemetry.js";
import { threadIdOf, turnIdOf } from "../../lib/ids.js";
import { Turn } from "../../threads/turn.js";
import type { Principal, SessionId } from "../caller.js";
import { ScopeMissing } from "../errors.js";
import { beginCallTrail, type CallTrail, type ObservedCall } from "./turnWatch.js";

function call(changes: Partial<ObservedCall> = {}): ObservedCall {
  return { requestId: 7, signal: new AbortController().signal, caller: undefined, ...changes };
}

async function told(telemetry: MemoryTelemetry) {
  const { lines, spans } = telemetry;
  return { lines, spans: spans.map(({ name, within, failure }) => ({ name, within, failure })), counts: await telemetry.counts() };
}

it("a call lasts as long as its turn; both belong to the trace and the session that the client named", async () => {
  const caller = { sessionId: "s1" as SessionId, principal: "p" as Principal, scopes: ["call", "read"] as const };
  const telemetry = new MemoryTelemetry();
  const { watchTurn } = beginCallTrail("codex", call({ caller, trace: { traceparent: "outside" } }), telemetry);
  const turn = new Turn(threadIdOf("t1"), turnIdOf("7"), { text: "", watch: watchTurn });
  turn.begin();
  expect(telemetry.spans.map(({ name, ended }) => ({ name, ended }))).toEqual([{ name: "tools/call codex", ended: false }]);
  turn.publish([{ type: "turnCompleted", lastMessage: null }]);
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
  ["error", (trail: CallTrail) => trail.ended({ isError: true }), call(), "refused", []],
  ["error", (trail: CallTrail) => trail.failed(new Error("defect")), call(), "defect", ["unforeseen"]],
  ["error", (trail: CallTrail) => trail.failed(new ScopeMissing("call")), call(), expect.stringContaining("scope"), ["scope_missing"]],
  ["cancelled", (trail: CallTrail) => trail.ended({}), call({ signal: AbortSignal.abort() }), "cancelled", []],
] as const)("a call that ends as %s is logged as such, with the error's code", async ([outcome, end, made, failure, codes]) => {
  const telemetry = new MemoryTelemetry();
  end(beginCallTrail("codex", made, telemetry));
  const { counts, spans, lines } = await told(telemetry);
  expect([counts, spans]).toEqual([
    [`calls_total{tool="codex",outcome="${outcome}"} 1`, ...codes.map((code) => `call_errors_total{tool="codex",code="${code}"} 1`)],
    [{ name: "tools/call codex", within: undefined, failure }],
  ]);
  for (const code of codes) expect(lines).toEqual([expect.stringContaining(`code=${code}`)]);
});
