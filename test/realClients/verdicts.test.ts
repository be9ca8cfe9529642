import { expect, it } from "vitest";
import type { Evidence, Trial } from "./trial.js";
import { shownParts, verdictsOf } from "./verdicts.js";
import type { WireMessage } from "./wire.js";

const THREAD = "01a1e528-6165-727c-a85b-17f15b1efdd6";
const GOOD = [
  `hello world\nthreadId: ${THREAD}`,
  "again",
  `no such luck\nthread ${THREAD}`,
  "after the failure",
  "patched made.txt",
  "went on",
  `w0 … ${THREAD}`,
];

function out(message: WireMessage["message"]): WireMessage {
  return { at: 0, direction: "out", message };
}

const WIRE = [
  out({ result: { tools: [{ name: "codex" }] } }),
  out({ result: { structuredContent: { approvals: { decisions: [{ decision: "denied", by: "fallback" }] } } } }),
];

function seen(results: readonly string[], more: Partial<Evidence> = {}): Evidence {
  return { results, offered: ["codex"], wire: WIRE, end: { code: 0, overdue: false, output: "" }, left: [], ...more };
}

function trial(parts: Partial<Trial> = {}): Trial {
  return {
    work: { ...seen(GOOD), made: true, touched: false },
    again: seen(["later"]),
    held: { ...seen(["waits", "answered", "decided"]), touched: true },
    stop: { ...seen([]), began: true },
    long: { ...seen([`running ${THREAD}`, "slept well"]), seconds: 75 },
    ...parts,
  };
}

function work(changes: Readonly<Record<number, string>>, more: Partial<Trial["work"]> = {}): Partial<Trial> {
  return { work: { ...seen(GOOD.map((text, at) => changes[at] ?? text)), made: true, touched: false, ...more } };
}

it("every check passes for a client that does everything", () => {
  expect(Object.values(verdictsOf(trial())).filter(({ ok }) => !ok)).toEqual([]);
});

it.for([
  ["shows", work({ 0: "nothing" })],
  ["reply", work({ 0: "hello world" })],
  ["reply", work({ 1: 'Error: prompt "!say again" was refused' })],
  ["error", work({ 2: `MCP error in ${THREAD}` })],
  ["error", work({ 2: "no such luck" })],
  ["error", work({ 3: "Session not found" })],
  ["files", work({ 4: "patched" })],
  ["files", work({}, { made: false })],
  ["answer", work({ 6: "w".repeat(500_000) })],
  ["question", work({ 5: "interrupted" })],
  ["question", work({}, { touched: true })],
  ["tools", work({}, { wire: [] })],
  ["held", { held: { ...seen(["waits", "answered", "decided"]), touched: false } }],
  ["held", { held: { ...seen(["waits"]), touched: true } }],
  ["later", { again: seen(["Session not found"]) }],
  ["stop", { stop: { ...seen([]), began: false } }],
  ["stop", { stop: { ...seen([], { left: ["sleep 100000"] }), began: true } }],
  ["long", { long: { ...seen(["timed out", "timed out"]), seconds: 75 } }],
  ["left", { again: seen(["later"], { left: ["node dist/main.js"] }) }],
] as const satisfies readonly (readonly [string, Partial<Trial>])[])("%s fails where it should (%#)", ([check, parts]) => {
  const failed = Object.entries(verdictsOf(trial(parts))).flatMap(([name, { ok }]) => (ok ? [] : [name]));
  expect(failed).toContain(check);
});

it.for([
  ["text", `hello world\n\nthreadId: ${THREAD}\nstatus: completed after 0.1 s`],
  ["structured", '{"threadId":"x","content":"hello world","status":"completed"}'],
  ["both", 'hello world\n{"threadId":"x","content":"hello world","status":"completed"}'],
  ["everything", JSON.stringify({ text: JSON.stringify({ content: [], structuredContent: { status: "completed" } }) })],
] as const)("a client that shows %s is recognised by its result", ([shows, result]) => {
  expect(shownParts(result)).toBe(shows);
});

it("a timeout after which the same prompt succeeds is distinguished from waiting", () => {
  expect(verdictsOf(trial({ long: { ...seen(["MCP error -32001", "slept well"]), seconds: 75 } })).long.note).toBe(
    "times out; the same prompt joins the turn",
  );
  expect(verdictsOf(trial()).long.note).toBe("`running`, then `codex-wait`");
});
