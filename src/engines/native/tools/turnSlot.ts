import type { TurnContext } from "../../../threads/engine.js";

/** The turn that runs on a thread now, for what outlives its turns. */
export interface TurnSlot {
  running: Pick<TurnContext, "ask" | "confined"> | undefined;
}
