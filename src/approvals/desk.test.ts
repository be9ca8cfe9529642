import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { newThreadId, turnIdOf } from "../lib/ids.js";
import { DEFAULT_DEADLINE_MS, MemoryApprovalDesk, TooManyQuestions } from "./desk.js";
import type { ApprovalId, ApprovalSubject } from "./model.js";

const SUBJECT: ApprovalSubject = { kind: "patch", callId: "call", changes: {}, staysInSandbox: true, needsPerson: false };
const HERE = newThreadId();
const THERE = newThreadId();
const turnId = turnIdOf("0");

function question(threadId = HERE, signal = new AbortController().signal) {
  return { threadId, turnId, subject: SUBJECT, signal };
}

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a question", () => {
  it("has an id, a subject and a deadline", () => {
    const desk = new MemoryApprovalDesk();
    const [first, second] = [desk.ask(question()).request, desk.ask(question()).request];
    expect(first).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      threadId: HERE,
      turnId,
      subject: SUBJECT,
      deadline: 1_000 + DEFAULT_DEADLINE_MS,
    });
    expect(second.id).not.toBe(first.id);
  });

  it("is decided by the first answer; later ones and answers to nothing are ignored", async () => {
    const desk = new MemoryApprovalDesk();
    const { request, decision } = desk.ask(question());
    const taken = [await desk.answer(request.id, { kind: "approved" }), await desk.answer(request.id, { kind: "abort" })];
    expect([taken, await decision]).toEqual([[true, false], { kind: "approved" }]);
    expect(await desk.answer("nobody asked" as ApprovalId, { kind: "approved" })).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("without an answer is denied at its deadline, with the reason", async () => {
    const desk = new MemoryApprovalDesk(5 * 60_000);
    const { request, decision } = desk.ask(question());
    await vi.advanceTimersByTimeAsync(5 * 60_000 - 1);
    expect(await desk.pending()).toEqual([request]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await decision).toEqual({ kind: "denied", reason: "nobody answered within 5 minutes", by: "deadline" });
    expect([await desk.pending(), await desk.answer(request.id, { kind: "approved" })]).toEqual([[], false]);
  });

  it.for([
    [300, "1 second"],
    [45_000, "45 seconds"],
    [60_000, "1 minute"],
  ] as const)("with %i ms to answer is denied after %s", async ([ms, span]) => {
    const { decision } = new MemoryApprovalDesk(ms).ask(question());
    await vi.advanceTimersByTimeAsync(ms);
    expect(await decision).toEqual({ kind: "denied", reason: `nobody answered within ${span}`, by: "deadline" });
  });

  it("is withdrawn at once when its turn is interrupted, even if it is not awaited yet", async () => {
    const desk = new MemoryApprovalDesk();
    const abort = new AbortController();
    const { request, decision } = desk.ask(question(HERE, abort.signal));
    abort.abort(new Error("stopped"));
    expect([await desk.pending(), await desk.answer(request.id, { kind: "approved" })]).toEqual([[], false]);
    await vi.advanceTimersByTimeAsync(0);
    await expect(decision).rejects.toThrow("stopped");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("of a turn that was already interrupted is not asked", async () => {
    const desk = new MemoryApprovalDesk();
    expect(() => desk.ask(question(HERE, AbortSignal.abort(new Error("stopped"))))).toThrow("stopped");
    expect(await desk.pending()).toEqual([]);
  });
});

describe("the desk", () => {
  it("lists the open questions, oldest first, of all threads or of one", async () => {
    const desk = new MemoryApprovalDesk();
    const [a, b, c] = [HERE, THERE, HERE].map((thread) => desk.ask(question(thread)).request);
    const filters = [{}, { threadId: HERE }, { threadId: newThreadId() }];
    expect(await Promise.all(filters.map((filter) => desk.pending(filter)))).toEqual([[a, b, c], [a, c], []]);
  });

  it("limits the questions of each thread, whatever other threads ask", async () => {
    const desk = new MemoryApprovalDesk();
    const asked = Array.from({ length: 64 }, () => desk.ask(question()).request);
    expect(() => desk.ask(question())).toThrow(TooManyQuestions);
    desk.ask(question(THERE));
    await desk.answer(asked[0]?.id ?? ("" as ApprovalId), { kind: "denied" });
    expect(desk.ask(question()).request.threadId).toBe(HERE);
  });
});
