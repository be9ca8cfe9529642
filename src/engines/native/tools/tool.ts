import type { ThreadEvent } from "../../../threads/model.js";

/** What the model may call: the declaration it is sent, and what happens on a call. */
export interface Tool {
  readonly name: string;
  /** The tool as the Responses API declares it. */
  readonly declaration: Readonly<Record<string, unknown>>;
  /** Runs one call. Yields what a reader should see; returns the text the model gets. Broken arguments are an answer, not an exception. */
  run(args: string, ctx: ToolContext): AsyncGenerator<readonly ThreadEvent[], string>;
}

export interface ToolContext {
  readonly callId: string;
  readonly signal: AbortSignal;
}
