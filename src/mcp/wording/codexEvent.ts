import { type EventMsg, eventMsgs } from "../../codexwire/eventMsg.js";
import { LaterFields } from "../../codexwire/laterFields.js";
import { jsonText, type RequestId } from "../../jsonrpc/message.js";
import type { About } from "../../jsonrpc/wire.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { Turn } from "../../threads/turn.js";

/** How every notification about a turn's event begins: its `_meta` is open, and whoever has something to add puts it first. */
export const CODEX_EVENT_START = '{"jsonrpc":"2.0","method":"codex/event","params":{"_meta":{';

/** Writes a turn's events as the text of `codex/event` notifications, for one call. */
export class CodexEventWriter {
  readonly #requestId: RequestId;
  readonly #where: Pick<Turn, "threadId" | "id">;
  readonly #beforeId: string;
  readonly #ofTurn: string;
  /** What precedes the item's id and the text in each of a delta's two notifications. */
  readonly #deltaStart: string;
  readonly #legacyDeltaStart: string;
  readonly #later: LaterFields | undefined;
  /** The item whose deltas come now, and what precedes their text. */
  #item: { readonly id: string; readonly start: string } | undefined;

  /** `recorded`: with the fields of Codex 0.92.0 alone. */
  constructor(requestId: RequestId, turn: Pick<Turn, "threadId" | "id">, fields: "recorded" | "extended") {
    this.#requestId = requestId;
    this.#later = fields === "extended" ? new LaterFields(turn) : undefined;
    this.#where = turn;
    const meta = jsonText({ requestId, threadId: turn.threadId }).slice(1);
    this.#beforeId = `${CODEX_EVENT_START}${meta},"id":`;
    this.#ofTurn = `${this.#beforeId}${JSON.stringify(turn.id)},"msg":`;
    const ids = `"thread_id":${JSON.stringify(turn.threadId)},"turn_id":${JSON.stringify(turn.id)}`;
    this.#deltaStart = `${this.#ofTurn}{"type":"agent_message_content_delta",${ids},"item_id":`;
    this.#legacyDeltaStart = `${this.#ofTurn}{"type":"agent_message_delta","delta":`;
  }

  /** The notifications an event shows as, in order. */
  write(event: ThreadEvent): string[] {
    // Deltas come by the thousand: their text is put together around one escaped piece.
    if (event.type === "messageDelta") {
      const delta = JSON.stringify(event.delta);
      return [`${this.#startOfDeltas(event.itemId)}${delta}}}}`, `${this.#legacyDeltaStart}${delta}}}}`];
    }
    if (event.type === "threadConfigured") return [this.#configured(event)];
    const start = this.#startOf(event);
    return this.#msgs(event).map((msg) => `${start}${JSON.stringify(msg)}}}`);
  }

  #msgs(event: ThreadEvent): readonly EventMsg[] {
    const msgs = eventMsgs(event, { threadId: this.#where.threadId, turnId: this.#where.id });
    return this.#later?.added(event, msgs) ?? msgs;
  }

  #startOfDeltas(itemId: string): string {
    if (this.#item?.id !== itemId) this.#item = { id: itemId, start: `${this.#deltaStart}${JSON.stringify(itemId)},"delta":` };
    return this.#item.start;
  }

  /** Says beside Codex's own fields what really confines the commands. */
  #configured(event: Extract<ThreadEvent, { type: "threadConfigured" }>): string {
    const [msg] = this.#msgs(event);
    const meta = { requestId: this.#requestId, threadId: this.#where.threadId, "codex-mcpd/sandbox": event.sandboxBackend ?? "none" };
    return jsonText({ jsonrpc: "2.0", method: "codex/event", params: { _meta: meta, id: "", msg } });
  }

  /** What belongs to the opening of a thread is not part of a turn. */
  #startOf(event: ThreadEvent): string {
    switch (event.type) {
      case "deprecation":
      case "mcpStartupUpdated":
      case "mcpStartupCompleted":
        return `${this.#beforeId}"","msg":`;
      case "contextItem":
        return `${this.#beforeId}"auto-compact-0","msg":`;
      case "warning":
        return event.ofThread ? `${this.#beforeId}"","msg":` : this.#ofTurn;
      default:
        return this.#ofTurn;
    }
  }
}

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
