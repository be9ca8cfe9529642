import type { Deadline } from "../../../lib/promises.js";

/** A server's question to its user (`elicitation/create`, form mode). */
export interface McpElicitation {
  readonly server: string;
  readonly message: string;
  readonly requestedSchema: Readonly<Record<string, unknown>>;
}

export type McpAnswer =
  | { readonly action: "accept"; readonly content: Record<string, string | number | boolean | string[]> }
  | { readonly action: "decline" | "cancel" };

/** Aborting the signal withdraws the question; a later answer is ignored. */
export type AskElicitation = (elicitation: McpElicitation, context: { readonly signal: AbortSignal }) => Promise<McpAnswer>;

/** The questions of one server. An open question pauses the time limits of its calls; the end of the last call withdraws them. */
export class Questions {
  readonly #put: AskElicitation | undefined;
  readonly #open = new Set<AbortController>();
  readonly #calls = new Set<Deadline>();

  constructor(put: AskElicitation | undefined) {
    this.#put = put;
  }

  async ask(elicitation: McpElicitation, signal: AbortSignal): Promise<McpAnswer> {
    if (!this.#put) return { action: "decline" };
    const question = new AbortController();
    this.#open.add(question);
    for (const call of this.#calls) call.pause();
    try {
      return await this.#put(elicitation, { signal: AbortSignal.any([signal, question.signal]) });
    } catch {
      return { action: "cancel" };
    } finally {
      this.#open.delete(question);
      if (this.#open.size === 0) for (const call of this.#calls) call.resume();
    }
  }

  /** Runs a call under its time limit. */
  async during<T>(limit: Deadline, call: () => Promise<T>): Promise<T> {
    this.#calls.add(limit);
    if (this.#open.size > 0) limit.pause();
    try {
      return await call();
    } finally {
      this.#calls.delete(limit);
      if (this.#calls.size === 0) for (const question of this.#open) question.abort();
    }
  }
}
