import { describe, expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.js";
import { callerNamed, OwnToolsStage } from "../../test/support/memory/ownToolsStage.js";
import type { ApprovalSubject } from "../approvals/model.js";
import { newThreadId, type ThreadId, turnIdOf } from "../lib/ids.js";
import { ThreadInUse, ThreadNotFound } from "../threads/errors.js";
import type { Turn } from "../threads/turn.js";
import type { Ask } from "./agent.js";
import type { Caller } from "./caller.js";
import { INSIDE_CALLER } from "./caller.js";
import { InsideTurn, InvalidArguments, ScopeMissing } from "./errors.js";

const ALICE = ask(callerNamed("alice"));
const BOB = ask(callerNamed("bob"));
const OPERATOR = ask(callerNamed("root", { scopes: ["call", "read", "operator"] }));
const WATCHER = ask(callerNamed("alice", { scopes: ["read"] }));
const USER = ask(undefined);

function ask(caller: Caller | undefined): Ask {
  return { caller, signal: new AbortController().signal };
}

function begin(stage: OwnToolsStage, who: Ask, text: string): Promise<Turn> {
  return stage.agent.begin(who, { text }, { turnId: turnIdOf("1") });
}

async function running(stage: OwnToolsStage, who: Ask): Promise<Turn> {
  const turn = await begin(stage, who, "hang");
  await eventually("the turn", () => turn.log.size > 0 || undefined);
  return turn;
}

describe("a running turn", () => {
  it("can be waited for without being changed", async () => {
    await using stage = new OwnToolsStage();
    const { threadId } = await running(stage, ALICE);
    expect(await stage.agent.wait(ALICE, threadId, { ms: 5 })).toEqual({ status: "running" });
    const waiting = stage.agent.wait(ALICE, threadId, { ms: 60_000 });
    await stage.agent.interrupt(ALICE, threadId);
    expect(await waiting).toEqual({ status: "interrupted" });
    await stage.threads.settle();
    expect(await stage.agent.wait(ALICE, threadId, { ms: 5 })).toBeUndefined();
  });

  it("is stopped only by its principal, an operator and the server's own user", async () => {
    await using stage = new OwnToolsStage();
    for (const who of [ALICE, OPERATOR, USER]) {
      const { threadId, outcome } = await running(stage, ALICE);
      await expect(stage.agent.interrupt(BOB, threadId)).rejects.toThrow(ThreadNotFound);
      await expect(stage.agent.interrupt(WATCHER, threadId)).rejects.toThrow(ScopeMissing);
      await expect(stage.agent.interrupt(ask(INSIDE_CALLER), threadId)).rejects.toThrow(InsideTurn);
      expect(await stage.agent.interrupt(who, threadId)).toBe(true);
      expect(await outcome).toEqual({ status: "interrupted" });
    }
  });
});

describe("the stored data of a thread", () => {
  it("is read only by its principal and by callers who see all threads", async () => {
    await using stage = new OwnToolsStage();
    const { threadId, outcome } = await begin(stage, ALICE, "one");
    await outcome;
    await stage.threads.settle();
    for (const who of [ALICE, WATCHER, OPERATOR, USER])
      expect(await stage.agent.read(who, threadId)).toMatchObject({ settings: { cwd: "/repo" }, items: expect.any(Array) });
    await expect(stage.agent.read(BOB, threadId)).rejects.toThrow(ThreadNotFound);
    await expect(stage.agent.read(ask(INSIDE_CALLER), threadId)).rejects.toThrow(InsideTurn);
    await expect(stage.agent.read(USER, newThreadId())).rejects.toThrow(ThreadNotFound);
  });
});

describe("a thread's title and its end", () => {
  async function said(stage: OwnToolsStage, who: Ask): Promise<ThreadId> {
    const { threadId, outcome } = await begin(stage, who, "one");
    await outcome;
    await stage.threads.settle();
    stage.catalog.kept.push(threadId);
    return threadId;
  }

  it("are open only to its principal and to those who see all threads", async () => {
    await using stage = new OwnToolsStage();
    for (const who of [ALICE, OPERATOR, USER]) {
      const threadId = await said(stage, ALICE);
      for (const act of [() => stage.agent.rename(BOB, threadId, "mine"), () => stage.agent.remove(BOB, threadId)])
        await expect(act()).rejects.toThrow(ThreadNotFound);
      expect(() => stage.agent.rename(WATCHER, threadId, "mine")).toThrow(ScopeMissing);
      expect(() => stage.agent.remove(WATCHER, threadId)).toThrow(ScopeMissing);
      expect(() => stage.agent.remove(ask(INSIDE_CALLER), threadId)).toThrow(InsideTurn);
      await stage.agent.rename(who, threadId, "  A\n title\u0007 ");
      expect(stage.catalog.titles.get(threadId)).toBe("A title");
      await stage.agent.remove(who, threadId);
      expect(stage.catalog.kept).toEqual([]);
    }
  });

  it("is titled while a turn runs, and removed only after it", async () => {
    await using stage = new OwnToolsStage();
    const { threadId } = await running(stage, ALICE);
    stage.catalog.kept.push(threadId);
    await stage.agent.rename(ALICE, threadId, "Works");
    await expect(stage.agent.remove(ALICE, threadId)).rejects.toThrow(ThreadInUse);
    expect(stage.catalog.titles.get(threadId)).toBe("Works");
    await stage.agent.stop(ALICE, threadId);
    await stage.threads.settle();
    await stage.agent.remove(ALICE, threadId);
    expect(stage.catalog.kept).toEqual([]);
  });

  it.for(["", " \n ", "x".repeat(201)])("is refused as a title: %j", async (title) => {
    await using stage = new OwnToolsStage();
    const threadId = await said(stage, ALICE);
    expect(() => stage.agent.rename(ALICE, threadId, title)).toThrow(InvalidArguments);
  });

  it("are refused alike for another principal's thread and for one that does not exist", async () => {
    await using stage = new OwnToolsStage();
    const [theirs, nobodys] = [await said(stage, ALICE), newThreadId()];
    for (const id of [theirs, nobodys]) await expect(stage.agent.remove(BOB, id)).rejects.toEqual(new ThreadNotFound(id));
  });
});

describe("questions", () => {
  const SUBJECT: ApprovalSubject = { kind: "patch", callId: "1", changes: {}, staysInSandbox: true, needsPerson: false };

  it("are seen and answered only by their principal and by operators; the first answer decides", async () => {
    await using stage = new OwnToolsStage();
    const { threadId, id: turnId, signal } = await running(stage, ALICE);
    const { request, decision } = stage.desk.ask({ threadId, turnId, subject: SUBJECT, signal });
    const seen = await Promise.all([ALICE, WATCHER, OPERATOR, USER, BOB].map((who) => stage.agent.questions(who)));
    expect(seen.map((open) => open.length)).toEqual([1, 1, 1, 1, 0]);
    await expect(stage.agent.questions(ask(INSIDE_CALLER))).rejects.toThrow(InsideTurn);
    expect(await stage.agent.answer(BOB, request.id, { kind: "approved" })).toBe(false);
    await expect(stage.agent.answer(WATCHER, request.id, { kind: "approved" })).rejects.toThrow(ScopeMissing);
    expect(await stage.agent.answer(ALICE, request.id, { kind: "denied" })).toBe(true);
    expect(await stage.agent.answer(OPERATOR, request.id, { kind: "approved" })).toBe(false);
    expect(await decision).toMatchObject({ kind: "denied" });
  });
});
