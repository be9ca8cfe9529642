import type { Agent, Ask } from "../../agent/agent.js";
import { hasScope, withoutSession } from "../../agent/caller.js";
import type { ApprovalId, ApprovalRequest, ApprovalSubject } from "../../approvals/model.js";
import { RpcError } from "../../jsonrpc/errors.js";
import type { JsonRpcPeer } from "../../jsonrpc/peer.js";
import { describe } from "../../lib/errors.js";
import type { TurnKey } from "../../lib/ids.js";
import { Tasks } from "../../lib/promises.js";
import { readDecision } from "../../mcp/wording/elicitation.js";
import { oldFileChanges } from "../surface/shapes.js";

/** Counts the clients that are asked each question, and tracks the turns that were started by methods of this surface. */
export class AskedClients {
  readonly #asked = new Map<ApprovalId, number>();
  readonly #begun = new Set<TurnKey>();

  enter(id: ApprovalId): void {
    this.#asked.set(id, (this.#asked.get(id) ?? 0) + 1);
  }

  /** Returns how many clients are still asked. */
  leave(id: ApprovalId): number {
    const left = (this.#asked.get(id) ?? 1) - 1;
    if (left > 0) this.#asked.set(id, left);
    else this.#asked.delete(id);
    return left;
  }

  /** Records a turn without a tool call: no other channel asks its caller. */
  begun(key: TurnKey, over: Promise<unknown>): void {
    this.#begun.add(key);
    void over.finally(() => this.#begun.delete(key));
  }

  isBegunHere(key: TurnKey): boolean {
    return this.#begun.has(key);
  }
}

interface ApprovalParts {
  readonly agent: Agent;
  readonly peer: Pick<JsonRpcPeer, "request">;
  readonly caller: Ask["caller"];
  readonly asked: AskedClients;
}

/** Sends questions to one client. All channels share the approval desk: the first answer counts, and the other requests are withdrawn. */
export class ApprovalRequests {
  readonly #parts: ApprovalParts;
  readonly #open = new Map<ApprovalId, AbortController>();
  readonly #asking = new Tasks(() => undefined);

  constructor(parts: ApprovalParts) {
    this.#parts = parts;
  }

  /** Asks the client once, even if several of its listeners see the question. Returns whether this call asked it. */
  consider(request: ApprovalRequest, turn: TurnKey): boolean {
    const { agent, caller, asked } = this.#parts;
    const { subject } = request;
    if (this.#open.has(request.id) || !hasScope(caller, "call")) return false;
    // The protocol of September 2025 has no forms.
    if (subject.kind === "form") {
      if (asked.isBegunHere(turn)) agent.mustAsk(request, { canAnswer: false, askAnyway: false });
      return false;
    }
    const abort = new AbortController();
    this.#open.set(request.id, abort);
    asked.enter(request.id);
    this.#asking.start(`approval ${request.id}`, () => this.#ask(request, { subject, turn, signal: abort.signal }));
    return true;
  }

  /** The question was decided, or its turn has ended. */
  withdraw(id: ApprovalId): void {
    this.#open.get(id)?.abort(new Error("decided"));
  }

  async close(): Promise<void> {
    for (const id of this.#open.keys()) this.withdraw(id);
    await this.#asking.settle();
  }

  async #ask(request: ApprovalRequest, { subject, turn, signal }: PutQuestion): Promise<void> {
    const { agent, peer, caller, asked } = this.#parts;
    let failure: string | undefined;
    try {
      const [method, params] = wordsFor(request, subject);
      const answer = await peer.request(method, params, { signal, withdrawWith: "notifications/cancelled" });
      const decision = { ...readDecision(answer, subject), by: "elicitation" } as const;
      // A watcher answers for its principal, whichever session uses the thread.
      await agent.answer({ caller: withoutSession(caller), signal }, request.id, decision);
    } catch (error) {
      // The request was withdrawn, or the client is gone: another client has decided or still may.
      if (error instanceof RpcError) failure = describe(error);
    } finally {
      this.#open.delete(request.id);
      const others = asked.leave(request.id);
      // A client that cannot answer does not decide for those that can.
      if (failure !== undefined && others === 0 && asked.isBegunHere(turn))
        agent.decide(request.id, { kind: "denied", reason: `the client could not answer: ${failure}`, failed: true, by: "elicitation" });
    }
  }
}

type Askable = Exclude<ApprovalSubject, { kind: "form" }>;

interface PutQuestion {
  readonly subject: Askable;
  readonly turn: TurnKey;
  readonly signal: AbortSignal;
}

function wordsFor({ threadId }: ApprovalRequest, subject: Askable): [string, Readonly<Record<string, unknown>>] {
  const about = { conversation_id: threadId, call_id: subject.callId };
  const reason = subject.reason === undefined ? {} : { reason: subject.reason };
  if (subject.kind === "command") return ["execCommandApproval", { ...about, command: subject.command, cwd: subject.cwd, ...reason }];
  const grant = subject.grantRoot === undefined ? {} : { grant_root: subject.grantRoot };
  return ["applyPatchApproval", { ...about, file_changes: oldFileChanges(subject.changes), ...reason, ...grant }];
}
