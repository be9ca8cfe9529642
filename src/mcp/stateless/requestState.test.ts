import { expect, it } from "vitest";
import { type Binding, digestOf, RequestStates } from "./requestState.js";

const CALL: Binding = { principal: "ada", tool: "codex", args: { prompt: "fix", cwd: "/repo" } };
const LATER = Date.now() + 60_000;

it("a state opens for the same call by the same principal, whatever the order of its arguments", () => {
  const states = new RequestStates();
  const state = states.seal("c1", { ...CALL, until: LATER });
  expect(states.open(state, { ...CALL, args: { cwd: "/repo", prompt: "fix" } })).toEqual({ call: "c1" });
});

it.each<[string, Partial<Binding>]>([
  ["another principal", { principal: "bob" }],
  ["nobody in particular", { principal: undefined }],
  ["another tool", { tool: "codex-reply" }],
  ["other arguments", { args: { prompt: "break", cwd: "/repo" } }],
  ["no arguments", { args: undefined }],
])("it does not open for %s", (_, change) => {
  const states = new RequestStates();
  expect(states.open(states.seal("c1", { ...CALL, until: LATER }), { ...CALL, ...change })).toEqual("invalid");
});

it("it expires together with its questions", () => {
  const states = new RequestStates();
  expect(states.open(states.seal("c1", { ...CALL, until: 1_000 }), CALL, 1_001)).toEqual("expired");
});

it("a state of a restarted server is recognised", () => {
  expect(new RequestStates().open(new RequestStates().seal("c1", { ...CALL, until: LATER }), CALL)).toEqual("earlier-server");
});

it("a changed state is invalid, and so is any other text", () => {
  const states = new RequestStates();
  const state = states.seal("c1", { ...CALL, until: LATER });
  const server = state.split(".")[1];
  const forged = Buffer.from(JSON.stringify({ call: "c2", until: LATER })).toString("base64url");
  const attempts = [
    "",
    "v1",
    state.slice(0, -1),
    `${state}A`,
    state.replace("v1.", "v2."),
    `v1.${server}.${forged}.${state.split(".")[3]}`,
    `v1.${server}..${state.split(".")[3]}`,
    ...[...state].map((letter, at) => `${state.slice(0, at)}${letter === "A" ? "B" : "A"}${state.slice(at + 1)}`),
  ];
  const opened = attempts.filter((attempt) => attempt !== state && typeof states.open(attempt, CALL) === "object");
  // The last letter of a base64url signature has two unused bits.
  expect(opened.filter((attempt) => attempt.slice(0, -1) !== state.slice(0, -1))).toEqual([]);
});

it("a list is not an object with the same entries", () => {
  expect(digestOf([["a", 1]])).not.toEqual(digestOf({ a: 1 }));
});
