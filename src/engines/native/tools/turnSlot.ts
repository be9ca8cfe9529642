import type { TurnContext } from "../../../threads/engine.js";

/** What a turn is for, as far as its tools must know. */
export interface TurnPurpose {
  /** False for a review: it says what should change, and changes nothing. */
  readonly changesFiles: boolean;
}

/** The turn that runs on a thread now, for what outlives its turns. */
export interface TurnSlot {
  running: (Pick<TurnContext, "ask" | "confined" | "reach"> & TurnPurpose) | undefined;
}
