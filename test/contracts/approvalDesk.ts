import { describe, expect, it } from "vitest";
import { type ApprovalDesk, TooManyQuestions } from "../../src/approvals/desk.js";
import type { ApprovalId, ApprovalRequest, ApprovalSubject } from "../../src/approvals/model.js";
import { newThreadId, type ThreadId, turnIdOf } from "../../src/lib/ids.js";

/** The desk seen from the node that runs the turn, and from any other. The same object if there is only one node. */
export interface DesksUnderTest extends AsyncDisposable {
  readonly asking: ApprovalDesk;
  readonly answering: ApprovalDesk;
}

export interface DeskOptions {
  readonly deadlineMs: number;
}

const SUBJECT: ApprovalSubject = { kind: "patch", callId: "call", changes: {}, staysInSandbox: true, needsPerson: false };
const PATIENT = { deadlineMs: 60_000 };

/** The contract of every implementation of `ApprovalDesk`, on the node of the turn and on others. */
export function approvalDeskContract(name: string, open: (options: DeskOptions) => Promise<DesksUnderTest>): void {
  describe(`questions in ${name}`, () => {
    it("are visible on every node with subject and deadline, oldest first, for all threads or for one", async () => {
      await using desks = await open(PATIENT);
      const [one, two] = [newThreadId(), newThreadId()];
      const asked = [ask(desks, one), ask(desks, two), ask(desks, one)].map(({ request }) => request);
      const idsOf = async (threadId?: ThreadId) => (await desks.answering.pending({ ...(threadId && { threadId }) })).map(({ id }) => id);
      await seen(desks, asked);
      expect(await desks.answering.pending()).toEqual(asked);
      expect([await idsOf(one), await idsOf(newThreadId())]).toEqual([[asked[0]?.id, asked[2]?.id], []]);
    });

    it("are decided by the first answer, on whichever node, and closed for all others", async () => {
      await using desks = await open(PATIENT);
      const { request, decision } = ask(desks);
      await seen(desks, [request]);
      const taken = await Promise.all([
        desks.answering.answer(request.id, { kind: "approved", by: "http" }),
        desks.answering.answer(request.id, { kind: "abort" }),
      ]);
      expect([taken, await decision]).toEqual([[true, false], { kind: "approved", by: "http" }]);
      expect(await desks.asking.answer(request.id, { kind: "abort" })).toBe(false);
      expect([await desks.asking.pending(), await desks.answering.pending()]).toEqual([[], []]);
    });

    it("that do not exist cannot be answered", async () => {
      await using desks = await open(PATIENT);
      expect(await desks.answering.answer("nobody asked" as ApprovalId, { kind: "approved" })).toBe(false);
    });

    it("are denied at their deadline", async () => {
      await using desks = await open({ deadlineMs: 20 });
      const { request, decision } = ask(desks);
      expect(await decision).toEqual({ kind: "denied", reason: "nobody answered within 1 second", by: "deadline" });
      expect(await desks.answering.answer(request.id, { kind: "approved" })).toBe(false);
    });

    it("are withdrawn everywhere when their turn is interrupted", async () => {
      await using desks = await open(PATIENT);
      const abort = new AbortController();
      const { request, decision } = ask(desks, newThreadId(), abort.signal);
      await seen(desks, [request]);
      abort.abort(new Error("stopped"));
      await expect(decision).rejects.toThrow("stopped");
      await seen(desks, []);
      expect(await desks.answering.answer(request.id, { kind: "approved" })).toBe(false);
      expect(() => ask(desks, newThreadId(), abort.signal)).toThrow("stopped");
    });

    it("are limited per thread", async () => {
      await using desks = await open(PATIENT);
      const threadId = newThreadId();
      for (let count = 0; count < 64; count++) ask(desks, threadId);
      expect(() => ask(desks, threadId)).toThrow(TooManyQuestions);
      ask(desks);
    });
  });
}

function ask({ asking }: DesksUnderTest, threadId = newThreadId(), signal = new AbortController().signal) {
  return asking.ask({ threadId, turnId: turnIdOf("0"), subject: SUBJECT, signal });
}

/** Other nodes may see a question a moment later. */
async function seen({ answering }: DesksUnderTest, requests: readonly ApprovalRequest[]): Promise<void> {
  await expect.poll(async () => (await answering.pending()).map(({ id }) => id)).toEqual(requests.map(({ id }) => id));
}
