import type { TokenUsage, TokenUsageInfo } from "../../threads/usage.js";
import { msSince, now, type TurnScope } from "./scope.js";

type Ending = "answered" | "retried" | "failed" | "interrupted";

interface ModelCall {
  readonly since: number;
  firstPieceAt?: number;
}

/**
 * The model's calls within a turn, told from what the turn shows. An engine that says when it asks the model is taken at its word. Of others it
 * is supposed whenever no tool runs; a call that was only supposed counts once something came of it. It is over when its tokens are counted.
 */
export class ModelWatch {
  readonly #scope: TurnScope;
  #model = "unknown";
  #call: ModelCall | undefined;
  #engineSays = false;
  #countedTotal: number | undefined;

  constructor(scope: TurnScope) {
    this.#scope = scope;
  }

  get model(): string {
    return this.#model;
  }

  uses(model: string): void {
    this.#model = model;
  }

  /** The engine says that it asks the model now. */
  begin(): void {
    if (this.#engineSays && this.#call?.firstPieceAt !== undefined) this.end("answered");
    this.#engineSays = true;
    this.#call = { since: now() };
  }

  /** There is nothing else that the engine could be doing. */
  suppose(): void {
    if (!this.#engineSays) this.#call ??= { since: now() };
  }

  /** Some of the answer is there. Called for every delta. */
  piece(): void {
    if (this.#call && this.#call.firstPieceAt === undefined) this.#call.firstPieceAt = now();
  }

  /** An item is there, which may also be what was sent to the model. */
  item(): void {
    if (this.#engineSays) this.piece();
  }

  /** Tokens are also told when a request is accepted; then they are those of earlier ones. */
  counted(usage: TokenUsageInfo | null): void {
    const total = usage?.total_token_usage.total_tokens;
    if (this.#call?.firstPieceAt !== undefined) this.end("answered", total === this.#countedTotal ? undefined : usage?.last_token_usage);
    this.#countedTotal = total;
  }

  /** Waiting for the next try counts as part of it. */
  retry({ attempt, limit, cause }: { readonly attempt: number; readonly limit: number; readonly cause: string }): void {
    this.#scope.log.warn("asking the model again", { attempt, limit, cause });
    this.end("retried");
    this.#call = { since: now() };
  }

  /** The turn is over. */
  close(outcome: Exclude<Ending, "retried">): void {
    if (this.#engineSays || this.#call?.firstPieceAt !== undefined) this.end(outcome);
  }

  end(outcome: Ending, tokens?: TokenUsage): void {
    const call = this.#call;
    if (!call) return;
    this.#call = undefined;
    const ms = msSince(call.since);
    const firstTokenMs = call.firstPieceAt === undefined ? undefined : Math.round(call.firstPieceAt - call.since);
    const { log, metrics } = this.#scope;
    metrics.modelCallEnded({ model: this.#model, outcome, ms, firstTokenMs });
    if (tokens) metrics.tokensUsed(countsOf(tokens));
    log.debug("model call ended", { model: this.#model, outcome, ms, first_token_ms: firstTokenMs, tokens: tokens?.total_tokens });
    this.#trace(call, outcome, tokens);
  }

  #trace({ since }: ModelCall, outcome: Ending, tokens: TokenUsage | undefined): void {
    const { tracing, span } = this.#scope;
    const attributes = {
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": this.#model,
      "gen_ai.usage.input_tokens": tokens?.input_tokens,
      "gen_ai.usage.output_tokens": tokens?.output_tokens,
      "codex.outcome": outcome,
    };
    const call = tracing.startSpan("model call", { parent: span.context, kind: "client", attributes, startedAt: since });
    call.end(outcome === "answered" ? undefined : outcome);
  }
}

function countsOf(tokens: TokenUsage) {
  return {
    input: tokens.input_tokens,
    cachedInput: tokens.cached_input_tokens,
    output: tokens.output_tokens,
    reasoning: tokens.reasoning_output_tokens,
  };
}
