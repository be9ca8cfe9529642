import type { Fields } from "../../../lib/fields.js";
import type { CodexErrorInfo, ReviewTarget, ThreadEvent } from "../../../threads/events.js";
import type { ThreadSettings } from "../../../threads/settings.js";
import { OpenCalls } from "./openCalls.js";
import { OpenItems } from "./openItems.js";
import type { ThreadMemory } from "./threadMemory.js";

export interface Failure {
  readonly message: string;
  readonly info: CodexErrorInfo;
}

/** A review from its beginning to the turn's end, which alone tells whether what it came to counts. */
export interface Review {
  /** Undefined until it is told. */
  result: string | undefined;
}

/** What a turn is run with. */
export interface TurnGround {
  readonly settings: ThreadSettings;
  readonly memory: ThreadMemory;
  /** What the turn was asked to review. */
  readonly reviewTarget?: ReviewTarget | undefined;
}

/** What is known of the running turn, for those who translate its notifications. */
export interface TurnState extends TurnGround {
  readonly items: OpenItems;
  readonly calls: OpenCalls;
  /** What the agent said last. */
  lastMessage: string | null;
  /** The error that is expected to end the turn. */
  failure: Failure | undefined;
  /** What was last said about a retry that is not counted. */
  lastRetry: string | undefined;
  /** Until the end of a turn in which a reviewer is at work. */
  review: Review | undefined;
}

/** How one kind of notification shows. */
export type Translation = (params: Fields, turn: TurnState) => readonly ThreadEvent[];

export function newTurnState(ground: TurnGround): TurnState {
  return {
    ...ground,
    items: new OpenItems(),
    calls: new OpenCalls(),
    lastMessage: null,
    failure: undefined,
    lastRetry: undefined,
    review: undefined,
  };
}
