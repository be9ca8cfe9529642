import { type ModelClient, type ModelEvent, ModelFailure, type ModelRequest } from "../../../src/engines/native/model/client.js";
import type { RawItem } from "../../../src/threads/items.js";
import type { TokenUsage } from "../../../src/threads/usage.js";

/** The model's answer to one request: its events in order, and its error, if any. */
export type PlannedAnswer = readonly (ModelEvent | ModelFailure | "silence" | { readonly until: AbortSignal })[];

export interface SentRequest {
  readonly input: readonly RawItem[];
  readonly tools: readonly unknown[];
}

/** A model with planned answers, one per request and each event in a batch of its own. It keeps the requests. */
export class PlannedModel implements ModelClient {
  readonly requests: SentRequest[] = [];
  readonly #answers: PlannedAnswer[];

  constructor(...answers: readonly PlannedAnswer[]) {
    this.#answers = [...answers];
  }

  plan(...answers: readonly PlannedAnswer[]): void {
    this.#answers.push(...answers);
  }

  /** Drops planned answers that were not requested. */
  forget(): void {
    this.#answers.length = 0;
  }

  async *stream({ body }: ModelRequest, signal: AbortSignal): AsyncGenerator<readonly ModelEvent[]> {
    this.requests.push(JSON.parse(body) as SentRequest);
    const answer = this.#answers.shift();
    if (!answer) throw new Error("the model was asked once more than planned");
    for (const step of answer) {
      if (step instanceof ModelFailure) throw step;
      if (step === "silence") await untilAborted(signal);
      else if ("until" in step) await untilAborted(step.until).catch(() => undefined);
      else yield [step];
    }
  }
}

async function untilAborted(signal: AbortSignal): Promise<never> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
  throw signal.reason;
}

export const accepted: ModelEvent = { type: "accepted", rateLimits: undefined };

export function usageOf(totalTokens: number): TokenUsage {
  return { input_tokens: totalTokens, cached_input_tokens: 0, output_tokens: 0, reasoning_output_tokens: 0, total_tokens: totalTokens };
}

export function completed(totalTokens = 15): ModelEvent {
  return { type: "completed", responseId: "resp", usage: usageOf(totalTokens) };
}

export function done(item: RawItem): ModelEvent {
  return { type: "itemDone", item };
}

export function assistant(text: string, id = "msg"): RawItem {
  return { type: "message", id, role: "assistant", content: [{ type: "output_text", text }] };
}

export function call(name: string, args: string, callId = "call"): RawItem {
  return { type: "function_call", id: `fc_${callId}`, name, arguments: args, call_id: callId };
}

/** A complete answer with this text. */
export function says(text: string, totalTokens?: number): PlannedAnswer {
  return [accepted, done(assistant(text)), completed(totalTokens)];
}

/** A complete answer with these tool calls. */
export function calls(...items: readonly RawItem[]): PlannedAnswer {
  return [accepted, ...items.map(done), completed()];
}
