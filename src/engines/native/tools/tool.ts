import type { TurnContext } from "../../../threads/engine.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { RawItem } from "../../../threads/items.js";

/** A tool as the Responses API declares it. */
export type Declaration = Readonly<Record<string, unknown>>;

/** What happens when the model calls a name. */
export interface Tool {
  readonly name: string;
  /** Runs one call. Yields what a reader should see; returns what the model gets. Broken arguments are an answer, not an exception. */
  run(args: string, ctx: ToolContext): ToolRun;
}

/** A tool that brings the declaration the model is sent. */
export interface DeclaredTool extends Tool {
  readonly declaration: Declaration;
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
