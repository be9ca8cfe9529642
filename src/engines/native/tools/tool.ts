import type { TurnContext } from "../../../threads/engine.js";
import type { RawItem, ThreadEvent } from "../../../threads/model.js";

/** What the model may call: the declaration it is sent, and what happens on a call. */
export interface Tool {
  readonly name: string;
  /** The tool as the Responses API declares it; absent for a name that is understood but not offered. */
  readonly declaration?: Readonly<Record<string, unknown>>;
  /** Runs one call. Yields what a reader should see; returns what the model gets. Broken arguments are an answer, not an exception. */
  run(args: string, ctx: ToolContext): ToolRun;
}

export type ToolRun = AsyncGenerator<readonly ThreadEvent[], ToolResult>;

export interface ToolResult {
  /** The text of the call's output. */
  readonly output: string;
  /** Said to the model after the output. */
  readonly after?: readonly RawItem[];
  /** Somebody decided that the turn is to end here. */
  readonly endsTurn?: true;
}

export interface ToolContext {
  readonly callId: string;
  readonly signal: AbortSignal;
  /** Adds to the conversation at once, and gives the event that shows it. */
  readonly remember: (item: RawItem) => ThreadEvent;
  readonly ask: TurnContext["ask"];
}
