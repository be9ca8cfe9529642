import type { ApprovalId, ApprovalRequest } from "../../approvals/model.js";
import { RpcError } from "../../jsonrpc/errors.js";
import { describe } from "../../lib/errors.js";
import { Tasks } from "../../lib/promises.js";
import type { ThreadEvent } from "../../threads/events.js";
import { clientProfile } from "../clientProfiles.js";
import { hasStructuredContent } from "../revisions.js";
import { formFor, takeAnswer } from "../tools/answers.js";
import { Stay } from "../tools/stay.js";
import type { TurnCall } from "../tools/tools.js";
import { type CallToolResult, presented, turnResult } from "../wording/callResult.js";
import { elicitationParams, type FormOptions } from "../wording/elicitation.js";
import { progressText } from "../wording/progress.js";
import { runningResult, withLostTurns } from "../wording/runningResult.js";
import type { Call } from "../wording/turnView.js";
import { TurnView } from "../wording/turnView.js";

/**
 * Attaches a call to its turn: the client sees what happens until the turn ends, and a cancelled call interrupts it. The call does not own the turn:
 * others may read the same log, and one that waited long enough is answered while the turn goes on.
 */
export async function followTurn(turnCall: TurnCall, call: Call): Promise<CallToolResult> {
  const { turn, agent, presentation, ifSilent, remarks, startText, present, stay: rules } = turnCall;
  using stay = new Stay(turn, rules, call.signal);
  // What another call was shown is not shown again.
  const shown = rules?.joined ? turn.log.size : 0;
  const client = new TurnView(turn, call, { ...presentation, startText });
  const questions: ElicitationChannel = new ElicitationChannel(call, turnCall, () => stay.held(questions.held));
  let doing: string | undefined;
  try {
    for await (const batch of turn.log.read({ signal: stay.over })) {
      for (const { seq, value } of batch) {
        doing = progressText(value) ?? doing;
        questions.take(value, { isPast: seq <= shown });
        if (seq <= shown) continue;
        client.show(value);
        // Within a batch too: a reader that was behind gets everything it missed in one.
        const congestion = call.peer.congested();
        if (congestion) await congestion;
      }
      questions.catchUp();
      stay.held(questions.held);
    }
    const { threadId } = turn;
    if (!turn.ended) {
      const running = {
        threadId,
        doing: doing ?? "Waiting to start",
        ms: turn.ms,
        questions: questions.open,
        console: turnCall.consoleAddress,
      };
      return answered(turnCall, presented(runningResult(running), { ...presentation, remarks }));
    }
    const { results } = presentation;
    const outcome = await turn.outcome;
    const receipt = await agent.receiptOf(turn);
    const reader = { client: clientProfile(call.client), takesStructured: hasStructuredContent(call.revision) };
    const result = turnResult(outcome, {
      threadId,
      engine: agent.engineName,
      receipt,
      ifSilent,
      reader,
      results,
      resultTokens: turnCall.resultTokens,
      remarks,
      present,
    });
    stay.told();
    return answered(turnCall, result);
  } finally {
    client.close();
    await questions.close();
  }
}

function answered({ stay }: TurnCall, result: CallToolResult): CallToolResult {
  if (!stay) return result;
  const whole = withLostTurns(result, stay.lost);
  stay.answered(whole);
  return whole;
}

/** The questions that each client is being asked, by whichever of its calls: however many follow a turn, a person gets a form once. */
const beingAsked = new WeakMap<Call["peer"], Set<ApprovalId>>();

/** Puts a turn's questions to the client of one call, and takes them back when they are decided elsewhere. */
export class ElicitationChannel {
  readonly #call: Call;
  readonly #turnCall: Pick<TurnCall, "agent" | "emptyForms" | "presentation">;
  /** Those that have no answer yet. */
  readonly #unanswered = new Map<ApprovalId, ApprovalRequest>();
  /** Those of them that were asked before the call came, until it has seen whether they were answered. */
  readonly #past = new Map<ApprovalId, ApprovalRequest>();
  readonly #open = new Map<ApprovalId, AbortController>();
  readonly #asking = new Tasks(() => undefined);
  readonly #leftOpen: () => void;

  /** `leftOpen` is told when the client was asked, and the question is for others all the same. */
  constructor(call: Call, turnCall: Pick<TurnCall, "agent" | "emptyForms" | "presentation">, leftOpen: () => void = () => {}) {
    this.#call = call;
    this.#turnCall = turnCall;
    this.#leftOpen = leftOpen;
  }

  take(event: ThreadEvent, { isPast = false }: { readonly isPast?: boolean } = {}): void {
    if (event.type === "approvalRequested") {
      this.#unanswered.set(event.request.id, event.request);
      if (isPast) this.#past.set(event.request.id, event.request);
      else this.#consider(event.request);
    }
    if (event.type === "approvalDecided") {
      this.#unanswered.delete(event.id);
      this.#past.delete(event.id);
      this.#open.get(event.id)?.abort(new Error("decided"));
    }
  }

  /** The call has seen what happened before it came: what is still open is for its client too. */
  catchUp(): void {
    for (const request of this.#past.values()) this.#consider(request);
    this.#past.clear();
  }

  /** What waits for an answer. */
  get open(): readonly ApprovalRequest[] {
    return [...this.#unanswered.values()];
  }

  /** What waits for somebody else than the client. */
  get held(): readonly ApprovalId[] {
    const asked = beingAsked.get(this.#call.peer);
    return [...this.#unanswered.keys()].filter((id) => !asked?.has(id));
  }

  /** Withdraws what is still being asked. */
  async close(): Promise<void> {
    for (const abort of this.#open.values()) abort.abort(new Error("the turn has ended"));
    await this.#asking.settle();
  }

  #consider(request: ApprovalRequest): void {
    if (this.#turnCall.agent.mustAsk(request, { canAnswer: this.#call.canElicit, askAnyway: true }))
      this.#asking.start(`approval ${request.id}`, () => this.#ask(request));
  }

  get #form(): FormOptions {
    const { emptyForms, presentation } = this.#turnCall;
    return formFor(this.#call.client, { emptyForms, style: presentation.results });
  }

  async #ask(request: ApprovalRequest): Promise<void> {
    const asked = beingAsked.get(this.#call.peer) ?? new Set();
    if (asked.has(request.id)) return;
    beingAsked.set(this.#call.peer, asked.add(request.id));
    const abort = new AbortController();
    this.#open.set(request.id, abort);
    const { peer, requestId } = this.#call;
    const { agent, presentation } = this.#turnCall;
    let taken: ReturnType<typeof takeAnswer> = "taken";
    try {
      const params = elicitationParams(request, requestId, this.#form);
      const options = { signal: abort.signal, withdrawWith: "notifications/cancelled", relatedTo: requestId };
      const since = performance.now();
      const answer = await peer.request("elicitation/create", params, options);
      const given = { request, answer, afterMs: performance.now() - since };
      taken = takeAnswer(given, { agent, style: presentation.results });
      if (taken !== "taken") this.#call.asksNobody?.();
    } catch (error) {
      // Withdrawn, or the client is gone: then the turn ends or somebody else has decided.
      if (!(error instanceof RpcError)) return;
      const reason = `the client could not answer: ${describe(error)}`;
      agent.decide(request.id, { kind: "denied", reason, failed: true, by: "elicitation" });
    } finally {
      asked.delete(request.id);
      this.#open.delete(request.id);
    }
    if (taken === "left open") this.#leftOpen();
  }
}
