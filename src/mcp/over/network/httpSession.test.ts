import { afterEach, beforeEach, expect, it } from "vitest";
import { memoryWires } from "../../../../test/support/memory/memoryWires.js";
import { callersInside, type Principal } from "../../../agent/caller.js";
import { Session } from "../../sessions/session.js";
import { SessionRegistry } from "../../sessions/sessionRegistry.js";
import { Tools } from "../../tools/tools.js";
import { findOrOpenSession, HttpConnection, type Seeker, type SessionRules } from "./httpSession.js";
import { StrayIds } from "./strayIds.js";

const OUTBOX = { queueLength: 128, lagPolicy: "disconnect", slowReaderMs: 1_000, replayBytes: 1_000, answeredBytes: 1_000 } as const;
const ADA: Seeker = { caller: { principal: "ada" as Principal, scopes: ["call"] }, begins: false, goesOn: true };

let clock: number;
let rules: SessionRules;
beforeEach(() => {
  clock = 0;
  const tools = new Tools({ tools: [], objection: callersInside, open: () => Promise.reject(new Error("no agent")) });
  const sessions = new SessionRegistry<HttpConnection>({
    limits: { idleMs: 60_000, attendedMs: 60_000, vanishedMs: 60_000, sessions: 10 },
    openSession: (caller) =>
      new Session(memoryWires()[0], { caller, tools, engine: "scripted", env: {}, welcomed: () => {}, report: () => {} }),
    ended: () => {},
  });
  rules = { sessions, outbox: OUTBOX, clientsChooseIds: true, strayIds: new StrayIds(() => clock) };
});
afterEach(() => rules.sessions.close("the test is over"));

/** The id of the session that was found or opened, or "not found". */
function seek(id: string, seeker: Seeker = ADA): string {
  try {
    return findOrOpenSession(id, seeker, rules).caller.sessionId;
  } catch {
    return "not found";
  }
}

it("a client that keeps using an unknown session after the refusal gets it opened", () => {
  const told = seek("of an earlier server");
  clock += 10_000;
  expect([told, seek("of an earlier server"), seek("of an earlier server")]).toEqual([
    "not found",
    "of an earlier server",
    "of an earlier server",
  ]);
});

it("a client that only listens, was not refused or may not choose ids does not get one", () => {
  for (const id of ["a", "b"]) seek(id);
  clock += 10_000;
  const listening = seek("a", { ...ADA, goesOn: false });
  const another = seek("c");
  rules = { ...rules, clientsChooseIds: false };
  expect([listening, another, seek("b")]).toEqual(["not found", "not found", "not found"]);
});

it("a session that has ended is not opened again", () => {
  const open = findOrOpenSession(undefined, { ...ADA, begins: true }, rules);
  rules.sessions.end(open, "its client ended it");
  const told = seek(open.caller.sessionId);
  clock += 10_000;
  expect([told, seek(open.caller.sessionId)]).toEqual(["not found", "not found"]);
});

it("the handshake decides the kind of client, or else its first request", () => {
  const connection = new HttpConnection("http", OUTBOX);
  const first = connection.kindOf("plain", { shakesHands: false });
  const later = connection.kindOf("spec", { shakesHands: false });
  const greeted = connection.kindOf("spec", { shakesHands: true });
  expect([first, later, greeted, connection.kindOf("plain", { shakesHands: false })]).toEqual(["plain", "plain", "spec", "spec"]);
});
