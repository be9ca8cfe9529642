import type { RequestId } from "../../jsonrpc/message.js";
import type { About } from "../../jsonrpc/wire.js";
import type { ThreadEvent } from "../../threads/events.js";

/** What a transport may know of an event: whose it is, and whether a reader that is behind could do without it. */
export function aboutEvent(event: ThreadEvent, relatedTo: RequestId): About {
  switch (event.type) {
    case "messageDelta":
    case "reasoningDelta":
    case "rawReasoningDelta":
      return { relatedTo, pieceOf: event.itemId };
    case "commandOutput":
      return { relatedTo, pieceOf: event.callId };
    case "itemCompleted":
      return { relatedTo, whole: event.item.id };
    case "commandEnded":
      return { relatedTo, whole: event.callId };
    default:
      return { relatedTo };
  }
}
