import type { Fields } from "../../../lib/fields.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { OpenItem } from "./openItems.js";
import type { TurnState } from "./turnState.js";

/** How a turn ended. */
export type Ending = "completed" | "interrupted" | "failed";

/** How one kind of the app-server's items shows. */
export interface ItemKind {
  start(open: OpenItem, turn: TurnState): readonly ThreadEvent[];
  /** `open.item` is the item as it completed. */
  complete(open: OpenItem, turn: TurnState): readonly ThreadEvent[];
  /** The item as it would have completed, when the turn ends before it does; undefined when then nothing is to be shown. */
  unfinished(open: OpenItem, ending: Ending): Fields | undefined;
}
