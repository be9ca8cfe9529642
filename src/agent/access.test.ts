import { beforeEach, describe, expect, it } from "vitest";
import { MemoryOwners } from "../../test/support/memory/memoryThreads.js";
import { newThreadId } from "../lib/ids.js";
import { StorageFailed, ThreadNotFound } from "../threads/errors.js";
import { type Asker, ThreadAccess } from "./access.js";
import type { Principal, SessionCaller, SessionId } from "./caller.js";

const STDIO: Asker = { caller: undefined, signal: new AbortController().signal };
const ALICE = asker("alice-1", "alice");
const ALICE_AGAIN = asker("alice-2", "alice");
const BOB = asker("bob-1", "bob");

function asker(session: string, principal: string, signal = new AbortController().signal): Asker & { readonly caller: SessionCaller } {
  return { caller: { sessionId: session as SessionId, principal: principal as Principal, scopes: ["call", "read"] }, signal };
}

let owners: MemoryOwners;
let reported: string[];
let shares: boolean;
let attended: Set<string>;
let access: ThreadAccess;
beforeEach(() => {
  owners = new MemoryOwners();
  reported = [];
  shares = false;
  attended = new Set([ALICE, ALICE_AGAIN, BOB].map(({ caller }) => caller.sessionId).concat(["alice-3" as SessionId]));
  access = accessTo(owners);
});

function accessTo(known: MemoryOwners): ThreadAccess {
  return new ThreadAccess({
    owners: known,
    isAttended: (session) => attended.has(session),
    sharesUnowned: () => shares,
    report: (line) => reported.push(line),
  });
}

async function claimed(by: Asker) {
  const id = newThreadId();
  await access.claim(id, by);
  return id;
}

/** "used" or "not found". */
function tryOut(id: ReturnType<typeof newThreadId>, by: Asker): Promise<string> {
  return access
    .using(id, by, async () => "used")
    .catch((error: unknown) => {
      expect(error).toEqual(new ThreadNotFound(id));
      return "not found";
    });
}

describe("a thread that a session started", () => {
  it("belongs to that session until it ends, even against other sessions of the same principal", async () => {
    const id = await claimed(ALICE);
    expect([await tryOut(id, ALICE), await tryOut(id, ALICE_AGAIN), await tryOut(id, BOB)]).toEqual(["used", "not found", "not found"]);
  });

  it("belongs to its principal when the session is over, and then to the session that continues it", async () => {
    const id = await claimed(ALICE);
    access.sessionEnded(ALICE.caller.sessionId);
    expect([await tryOut(id, BOB), await tryOut(id, ALICE_AGAIN), await tryOut(id, ALICE)]).toEqual(["not found", "used", "not found"]);
  });

  it("belongs to its principal while its session is unattended, and then to the session that continues it", async () => {
    const id = await claimed(ALICE);
    attended.delete(ALICE.caller.sessionId);
    const shown = await access.isOpenTo(id, ALICE_AGAIN.caller);
    expect([shown, await tryOut(id, BOB), await tryOut(id, ALICE_AGAIN)]).toEqual([true, "not found", "used"]);
    attended.add(ALICE.caller.sessionId);
    expect([await tryOut(id, ALICE), access.heldCount]).toEqual(["not found", 1]);
    // The session that lost the thread takes nothing along when it ends.
    access.sessionEnded(ALICE.caller.sessionId);
    expect([await tryOut(id, asker("alice-3", "alice")), await tryOut(id, ALICE_AGAIN)]).toEqual(["not found", "used"]);
  });

  it("still belongs to that session if its client returns before another session takes it", async () => {
    const id = await claimed(ALICE);
    attended.delete(ALICE.caller.sessionId);
    attended.add(ALICE.caller.sessionId);
    expect([await tryOut(id, ALICE_AGAIN), await tryOut(id, ALICE)]).toEqual(["not found", "used"]);
  });

  it("is visible to callers who could use it, and keeps its holder", async () => {
    const id = await claimed(ALICE);
    const openTo = () => Promise.all([STDIO, ALICE, ALICE_AGAIN, BOB].map(({ caller }) => access.isOpenTo(id, caller)));
    expect(await openTo()).toEqual([true, true, false, false]);
    access.sessionEnded(ALICE.caller.sessionId);
    expect(await openTo()).toEqual([true, true, true, false]);
    expect(access.heldCount).toBe(0);
  });

  it("goes to one of two sessions that continue it at the same time", async () => {
    const id = await claimed(ALICE);
    access.sessionEnded(ALICE.caller.sessionId);
    expect(await Promise.all([tryOut(id, ALICE_AGAIN), tryOut(id, asker("alice-3", "alice"))])).toEqual(["used", "not found"]);
  });

  it("still belongs to its principal in another process", async () => {
    const id = await claimed(ALICE);
    access = accessTo(owners);
    expect([await tryOut(id, BOB), await tryOut(id, ALICE_AGAIN)]).toEqual(["not found", "used"]);
  });

  it("does not begin when its owner cannot be stored", async () => {
    const id = newThreadId();
    owners.broken.add(id);
    await expect(access.claim(id, ALICE)).rejects.toThrow(StorageFailed);
    expect(access.heldCount).toBe(0);
  });

  it("is closed to network callers if its owner cannot be read, and the operator gets a report", async () => {
    const id = newThreadId();
    owners.broken.add(id);
    shares = true;
    expect(await tryOut(id, ALICE)).toBe("not found");
    expect(reported).toEqual([`no network caller may use thread ${id}: the file is torn`]);
  });
});

describe("a thread without an owner", () => {
  it("is reachable from stdio only", async () => {
    const id = await claimed(STDIO);
    expect(owners.kept.size).toBe(0);
    expect([await tryOut(id, ALICE), await tryOut(id, STDIO)]).toEqual(["not found", "used"]);
  });

  it("is reachable over the network where the setting says so, by one session at a time, and stays without an owner", async () => {
    shares = true;
    const id = newThreadId();
    expect([await tryOut(id, ALICE), await tryOut(id, BOB)]).toEqual(["used", "not found"]);
    access.sessionEnded(ALICE.caller.sessionId);
    expect([await tryOut(id, BOB), owners.kept.size]).toEqual(["used", 0]);
  });
});

describe("a caller without a session", () => {
  const sessionless = (principal: string): Asker => ({
    caller: { principal: principal as Principal, scopes: ["call", "read"] },
    signal: new AbortController().signal,
  });

  it("starts threads that belong to its principal only", async () => {
    const id = await claimed(sessionless("alice"));
    const tries = [await tryOut(id, sessionless("alice")), await tryOut(id, sessionless("bob")), await tryOut(id, sessionless("alice"))];
    expect([tries, access.heldCount]).toEqual([["used", "not found", "used"], 0]);
  });

  it("may not use the threads of its principal's session until that session is over", async () => {
    const id = await claimed(ALICE);
    const during = await tryOut(id, sessionless("alice"));
    access.sessionEnded(ALICE.caller.sessionId);
    expect([during, await tryOut(id, sessionless("alice")), await tryOut(id, ALICE_AGAIN)]).toEqual(["not found", "used", "used"]);
  });
});

it("stdio may continue any thread, a session's own included", async () => {
  const id = await claimed(ALICE);
  expect([await tryOut(id, STDIO), await tryOut(id, ALICE)]).toEqual(["used", "used"]);
});

it("the thread of another principal is not touched before the refusal", async () => {
  const id = await claimed(ALICE);
  await expect(access.using(id, BOB, () => Promise.reject(new Error("it was touched")))).rejects.toEqual(new ThreadNotFound(id));
});

describe("the table holds nothing", () => {
  it("of sessions that are over", async () => {
    await Promise.all([claimed(ALICE), claimed(ALICE), claimed(BOB)]);
    access.sessionEnded(ALICE.caller.sessionId);
    access.sessionEnded(ALICE_AGAIN.caller.sessionId);
    expect(access.heldCount).toBe(1);
    access.sessionEnded(BOB.caller.sessionId);
    expect(access.heldCount).toBe(0);
  });

  it("for a call that was aborted, whose session may be over", async () => {
    const gone = AbortSignal.abort();
    await claimed(asker("alice-1", "alice", gone));
    expect(access.heldCount).toBe(0);
  });

  it("of threads that turn out not to exist", async () => {
    shares = true;
    const id = newThreadId();
    await expect(access.using(id, ALICE, () => Promise.reject(new ThreadNotFound(id)))).rejects.toEqual(new ThreadNotFound(id));
    expect(access.heldCount).toBe(0);
  });

  it("beyond what one session may have", async () => {
    for (let count = 0; count < 10_000; count++) await claimed(ALICE);
    await expect(claimed(ALICE)).rejects.toThrow("This session has used 10000 threads. Close it and open a new one.");
    expect(access.heldCount).toBe(10_000);
    await claimed(BOB);
  });
});
