import type { ApprovalId, ApprovalRequest } from "../../approvals/model.js";
import { RpcError } from "../../jsonrpc/errors.js";
import { describe } from "../../lib/errors.js";
import { Tasks } from "../../lib/promises.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { Turn } from "../../threads/turn.js";
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
 * Attaches a call to its turn. The client sees the events until the turn ends, and cancelling the call interrupts the turn. The call does
 * not own the turn: other calls may read the same log, and a call whose waiting time is over returns while the turn goes on.
 */
export async function followTurn(turnCall: TurnCall, call: Call): Promise<CallToolResult> {
  const { turn, agent, presentation, ifSilent, remarks, startText, present, stay: rules } = turnCall;
  using stay = new Stay(turn, rules, call.signal);
  // Events that another call has already shown are not shown again.
  const shown = rules?.joined ? turn.log.size : 0;
  const client = new TurnView(turn, call, { ...presentation, startText });
  const questions: ElicitationChannel = new ElicitationChannel(call, turnCall, () => stay.held(questions.held));
  try {
    for await (const batch of turn.log.read({ signal: stay.over })) {
      for (const { seq, value } of batch) {
        questions.take(value, { isPast: seq <= shown });
        if (seq <= shown) continue;
        client.show(value);
        // Checked within a batch too: a slow reader gets everything it missed in one batch.
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
        doing: (await stepOf(turn)) ?? "Waiting to start",
        ms: turn.ms,
        isQueued: turn.begunAt === undefined,
        questions: questions.open,
        console: turnCall.consoleAddress,
        remarks,
      };
      return answered(turnCall, presented(runningResult(running), presentation));
    }
    const { results } = presentation;
    const outcome = await turn.outcome;
    const receipt = await agent.receiptOf(turn);
    const result = turnResult(outcome, {
      threadId,
      engine: agent.engineName,
      receipt,
      ifSilent,
      reader: call.reader,
      results,
      resultTokens: turnCall.resultTokens,
      remarks,
      interruption: turn.interruption,
      neverBegan: turn.begunAt === undefined,
      present,
    });
    stay.received();
    return answered(turnCall, result);
  } finally {
    client.close();
    await questions.close();
  }
}

/** What a running turn is doing, by its events so far. */
async function stepOf({ log }: Turn): Promise<string | undefined> {
  if (log.size === 0) return undefined;
  for await (const batch of log.read()) return batch.map(({ value }) => progressText(value)).findLast((text) => text !== undefined);
  return undefined;
}

function answered({ stay }: TurnCall, result: CallToolResult): CallToolResult {
  if (!stay) return result;
  const whole = stay.lost.length === 0 ? result : withLostTurns(result, stay.lost);
  stay.answered(whole);
  return whole;
}

/** The questions that each client is currently asked. If several calls follow a turn, a person still gets each form once. */
const beingAsked = new WeakMap<Call["peer"], Set<ApprovalId>>();

/** Sends a turn's questions to the client of one call, and withdraws them when they are decided elsewhere. */
export class ElicitationChannel {
  readonly #call: Call;
  readonly #turnCall: Pick<TurnCall, "agent" | "emptyForms" | "presentation">;
  /** Questions without an answer. */
  readonly #unanswered = new Map<ApprovalId, ApprovalRequest>();
  /** Those asked before the call joined, until it has read whether they were answered. */
  readonly #past = new Map<ApprovalId, ApprovalRequest>();
  readonly #open = new Map<ApprovalId, AbortController>();
  readonly #asking = new Tasks(() => undefined);
  readonly #leftOpen: () => void;

  /** `leftOpen` is called when the client was asked but the question stays open for others. */
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

  /** The call has read all earlier events. Questions that are still open are now sent to its client. */
  catchUp(): void {
    for (const request of this.#past.values()) this.#consider(request);
    this.#past.clear();
  }

  /** The open questions. */
  get open(): readonly ApprovalRequest[] {
    return [...this.#unanswered.values()];
  }

  /** The open questions that the client is not being asked. */
  get held(): readonly ApprovalId[] {
    const asked = beingAsked.get(this.#call.peer);
    return [...this.#unanswered.keys()].filter((id) => !asked?.has(id));
  }

  /** Withdraws the forms that are still open. */
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
      // The form was withdrawn, or the client is gone: the turn ends, or the question was decided elsewhere.
      if (!(error instanceof RpcError)) return;
      const reason = `the client could not answer: ${describe(error)}`;
      agent.decide(request.id, { kind: "denied", reason, failed: true, by: "elicitation" });
    } finally {
      asked.delete(request.id);
      this.#open.delete(request.id);
    }
    if (taken === "left-open") this.#leftOpen();
  }
}
