import type { TurnContext } from "../../../threads/engine.js";

/** What a turn is for, as far as its tools must know. */
export interface TurnPurpose {
  /** False for a review: it says what should change, and changes nothing. */
  readonly changesFiles: boolean;
}

/** The turn that runs on a thread now, for what outlives its turns. */
export interface TurnSlot {
  /** The thread's folder, by the real path that it had when the thread was opened. */
  readonly workspace: string;
  running: (Pick<TurnContext, "ask" | "confined" | "reach"> & TurnPurpose) | undefined;
}
