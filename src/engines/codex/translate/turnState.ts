import type { Fields } from "../../../lib/fields.js";
import type { CodexErrorInfo, ThreadEvent, ThreadSettings } from "../../../threads/model.js";
import { OpenCalls } from "./openCalls.js";
import { OpenItems } from "./openItems.js";
import type { ThreadMemory } from "./threadMemory.js";

export interface Failure {
  readonly message: string;
  readonly info: CodexErrorInfo;
}

/** What is known of the running turn, for those who translate its notifications. */
export interface TurnState {
  readonly settings: ThreadSettings;
  readonly memory: ThreadMemory;
  readonly items: OpenItems;
  readonly calls: OpenCalls;
  /** What the agent said last. */
  lastMessage: string | null;
  /** The error that is expected to end the turn. */
  failure: Failure | undefined;
  /** What was last said about a retry that is not counted. */
  lastRetry: string | undefined;
  /** A reviewer is at work: what it says to itself is not the agent's answer. */
  isReviewing: boolean;
}

/** How one kind of notification shows. */
export type Translation = (params: Fields, turn: TurnState) => readonly ThreadEvent[];

export function newTurnState(settings: ThreadSettings, memory: ThreadMemory): TurnState {
  return {
    settings,
    memory,
    items: new OpenItems(),
    calls: new OpenCalls(),
    lastMessage: null,
    failure: undefined,
    lastRetry: undefined,
    isReviewing: false,
  };
}
