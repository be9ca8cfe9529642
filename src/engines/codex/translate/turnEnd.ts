import { assertNever } from "../../../lib/assertNever.js";
import type { CodexErrorInfo, TurnEnd } from "../../../threads/events.js";
import { failureOf } from "./failures.js";
import { fieldsOf } from "./read.js";
import type { TurnState } from "./turnState.js";

/** How a turn ended, as the app-server or the engine says. */
export type TurnEnding =
  | { readonly kind: "completed" }
  | { readonly kind: "interrupted" }
  | { readonly kind: "failed"; readonly message: string; readonly info?: CodexErrorInfo };

/** The parameters of `turn/completed` → how it ended. A status nobody knows counts as a failure. */
export function turnEndOf(params: unknown): TurnEnding {
  const { status, error } = fieldsOf(fieldsOf(params)["turn"]);
  switch (status) {
    case "completed":
    case "interrupted":
      return { kind: status };
    default:
      return { kind: "failed", ...failureOf(fieldsOf(error)) };
  }
}

export function turnEnd(ending: TurnEnding, { lastMessage, failure }: TurnState): TurnEnd {
  switch (ending.kind) {
    case "completed":
      return { type: "turnCompleted", lastMessage };
    case "interrupted":
      return { type: "turnAborted", reason: "interrupted" };
    case "failed": {
      const told = failure?.message === ending.message ? failure.info : "other";
      return { type: "turnFailed", message: ending.message, info: ending.info ?? told };
    }
    default:
      return assertNever(ending);
  }
}
