import { expect, it } from "vitest";
import { memoryWires } from "../../../test/support/memory/memoryWires.js";
import type { Principal, SessionId } from "../../agent/caller.js";
import { callersInside } from "../../agent/caller.js";
import { deferred } from "../../lib/promises.js";
import { Tools } from "../tools/tools.js";
import { Session } from "./session.js";
import { type Connection, type OpenSession, SessionRegistry, TooManySessions } from "./sessionRegistry.js";

const ADA = { principal: "ada" as Principal, scopes: ["call", "read"] as const };
const BOB = { ...ADA, principal: "bob" as Principal };
const MINUTE = 60_000;

class Line implements Connection {
  readonly transport = "http";
  streamCount = 0;
  awaited = false;
  lastAnsweredAt = 0;
  get isConnected(): boolean {
    return this.streamCount > 0 || this.awaited;
  }
  closed = false;

  async close(): Promise<void> {
    this.closed = true;
  }
}

/** A registry with a scripted clock. Its sessions answer `work` when the test says so. */
function registry(limits: { idleMs?: number; sessions?: number } = {}) {
  const clock = { now: 0 };
  const ended: [string, string][] = [];
  const work = deferred<unknown>();
  const sessions = new SessionRegistry<Line>({
    limits: { idleMs: 30 * MINUTE, attendedMs: MINUTE, vanishedMs: MINUTE, sessions: 3, ...limits },
    now: () => clock.now,
    ended: ({ caller }, reason) => ended.push([caller.sessionId, reason]),
    openSession: (caller) =>
      new Session(memoryWires()[0], {
        caller,
        methods: {
          work: (_, { signal }) => {
            signal.addEventListener("abort", () => work.resolve("interrupted"));
            return work.promise;
          },
        },
        engine: "scripted",
        env: {},
        tools: new Tools({ tools: [], objection: callersInside, open: () => Promise.reject(new Error("no agent")) }),
        welcomed: () => {},
        report: () => {},
      }),
  });
  const open = (id?: string, who = ADA) => sessions.open(who, { connection: new Line(), ...(id === undefined ? {} : { id }) });
  return { sessions, clock, ended, work, open };
}

function beginWork({ session }: OpenSession<Line>): void {
  session.peer.receive({ kind: "request", id: 1, method: "work", params: {} });
}

it("a session is found by its id, which is random unless it was chosen", () => {
  const { sessions, open } = registry();
  const [one, two, chosen] = [open(), open(), open("chosen")];
  expect(one.caller.sessionId).toMatch(/^[0-9a-f-]{36}$/);
  expect(one.caller.sessionId).not.toEqual(two.caller.sessionId);
  expect([sessions.find(one.caller.sessionId), sessions.find("chosen"), sessions.find("unknown")]).toEqual([one, chosen, undefined]);
});

it("an ended session is remembered as ended, its calls are interrupted and its connection closed", async () => {
  const { sessions, ended, open, work } = registry();
  const session = open("s1");
  beginWork(session);
  sessions.end(session, "its client ended it");
  sessions.end(session, "again");
  expect(sessions.find("s1")).toEqual("ended");
  await sessions.close("over");
  expect({ ended, work: await work.promise, closed: session.connection.closed }).toEqual({
    ended: [["s1", "its client ended it"]],
    work: "interrupted",
    closed: true,
  });
});

it("an unused session ends after its time limit; one with a stream or a running call does not", async () => {
  const { sessions, clock, ended, open } = registry();
  open("idle");
  const streaming = open("streaming");
  streaming.connection.streamCount = 1;
  beginWork(open("working"));
  clock.now = 30 * MINUTE - 1;
  sessions.sweep();
  expect(sessions.size).toEqual(3);
  clock.now = 30 * MINUTE;
  sessions.sweep();
  expect([sessions.find("idle"), sessions.size]).toEqual(["ended", 2]);
  await sessions.close("over");
  expect(ended[0]).toEqual(["idle", "it was idle for too long"]);
});

it("a session is attended while its client is connected, and a minute after its last request or answer", () => {
  const { sessions, clock, open } = registry();
  const { caller, connection } = open();
  const attendedAt = (now: number) => {
    clock.now = now;
    return sessions.isAttended(caller.sessionId);
  };
  expect([attendedAt(0), attendedAt(MINUTE - 1), attendedAt(MINUTE)]).toEqual([true, true, false]);
  connection.streamCount = 1;
  const streaming = attendedAt(10 * MINUTE);
  connection.streamCount = 0;
  connection.awaited = true;
  const awaited = attendedAt(20 * MINUTE);
  connection.awaited = false;
  connection.lastAnsweredAt = 20 * MINUTE;
  expect([streaming, awaited, attendedAt(21 * MINUTE - 1), attendedAt(21 * MINUTE)]).toEqual([true, true, true, false]);
});

it("a session that is over or never existed is not attended", () => {
  const { sessions, open } = registry();
  const ended = open("s1");
  sessions.end(ended, "over");
  expect([sessions.isAttended(ended.caller.sessionId), sessions.isAttended("unknown" as SessionId)]).toEqual([false, false]);
});

it("no session ends when the clock jumps back", () => {
  const { sessions, clock, open } = registry();
  open();
  clock.now = -1_000 * MINUTE;
  sessions.sweep();
  expect(sessions.size).toEqual(1);
});

it("beyond the limit a new session is refused, unless a barely used one can be closed", () => {
  const { sessions, open } = registry({ sessions: 2 });
  const [first, second] = [open("first"), open("second")];
  for (const used of [first, second]) used.requests = 2;
  expect(() => open("third")).toThrow(TooManySessions);
  first.requests = 1;
  open("third");
  expect([sessions.find("first"), sessions.size]).toEqual(["ended", 2]);
});

it("a principal that arrives when another one has used its whole share is served at once", () => {
  const { sessions, open } = registry({ sessions: 16 });
  const openUsed = (who: typeof ADA) => {
    const session = open(undefined, who);
    session.requests = 2;
    return session;
  };
  const ofAda = Array.from({ length: 16 }, () => openUsed(ADA));
  expect(() => openUsed(ADA)).toThrow("This server has 16 sessions open, which is its limit");
  openUsed(BOB);
  // A place that one caller frees is available to the other.
  for (const session of ofAda.slice(0, 1)) sessions.end(session, "it was ended");
  expect(() => openUsed(ADA)).toThrow(TooManySessions);
  openUsed(BOB);
});

it("only a principal's own barely used sessions are closed for it, unless it has no session", () => {
  const { sessions, open } = registry({ sessions: 2 });
  for (const id of ["of ada", "also of ada"]) open(id).requests = 2;
  open("of bob", BOB).requests = 1;
  expect(() => open("another of ada")).toThrow("This server has 3 sessions open, 2 of them yours, which is your share");
  open("of cleo", { ...ADA, principal: "cleo" as Principal });
  expect([sessions.find("of bob"), sessions.size]).toEqual(["ended", 3]);
});

it("closing ends every session", async () => {
  const { sessions, ended, open } = registry();
  open("a");
  open("b");
  await sessions.close("the server is shutting down");
  expect({ size: sessions.size, ended }).toEqual({
    size: 0,
    ended: [
      ["a", "the server is shutting down"],
      ["b", "the server is shutting down"],
    ],
  });
});

it("gives up the calls of a client, once, if its connection broke and it did not return within a minute", async () => {
  const { sessions, clock, work, open } = registry();
  const session = open();
  session.connection.awaited = true;
  beginWork(session);
  clock.now = 20 * MINUTE;
  sessions.sweep();
  session.connection.awaited = false;
  // The time counts from when the loss was noticed, not from the client's last request.
  sessions.sweep();
  clock.now += MINUTE - 1;
  sessions.sweep();
  expect(await Promise.race([work.promise, Promise.resolve("goes on")])).toBe("goes on");
  clock.now += 1;
  sessions.sweep();
  expect(await work.promise).toBe("interrupted");
  expect(sessions.find(session.caller.sessionId)).toBe(session);
});

it.for([
  ["has a stream again", { streams: 1 }],
  ["sends a request", { request: true }],
] as [string, { streams?: number; request?: boolean }][])("waits for a client that %s", async ([, { streams = 0, request = false }]) => {
  const { sessions, clock, work, open } = registry();
  const session = open();
  beginWork(session);
  sessions.sweep();
  clock.now += MINUTE - 1;
  session.connection.streamCount = streams;
  if (request) session.lastUsedAt = clock.now;
  sessions.sweep();
  clock.now += 2;
  sessions.sweep();
  expect(await Promise.race([work.promise, Promise.resolve("goes on")])).toBe("goes on");
});
