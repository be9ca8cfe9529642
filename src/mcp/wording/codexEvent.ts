import { type EventMsg, eventMsgs } from "../../codexwire/eventMsg.js";
import { jsonText, type RequestId } from "../../jsonrpc/message.js";
import type { DeliveryHints } from "../../jsonrpc/wire.js";
import type { ThreadId, TurnId } from "../../lib/ids.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { Turn } from "../../threads/turn.js";

/** The start of every `codex/event` notification. Its `_meta` is open, so that a transport can insert fields. */
export const CODEX_EVENT_START = '{"jsonrpc":"2.0","method":"codex/event","params":{"_meta":{';

/** Writes a turn's events as `codex/event` notifications for one call. */
export class CodexEventWriter {
  readonly #requestId: RequestId;
  readonly #where: Pick<Turn, "threadId" | "id">;
  readonly #beforeId: string;
  readonly #ofTurn: string;
  /** The text before the item id and the delta, in each of a delta's two notifications. */
  readonly #deltaStart: string;
  readonly #legacyDeltaStart: string;
  readonly #later: LaterFields | undefined;
  /** The item of the current deltas, and the text before each delta. */
  #item: { readonly id: string; readonly start: string } | undefined;

  /** `recorded`: only the fields of Codex 0.92.0. */
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

  /** The notifications of an event, in order. */
  write(event: ThreadEvent): string[] {
    // A fast path, because turns have thousands of deltas: each text is built around one escaped delta.
    if (event.type === "messageDelta") {
      const delta = JSON.stringify(event.delta);
      return [`${this.#startOfDeltas(event.itemId)}${delta}}}}`, `${this.#legacyDeltaStart}${delta}}}}`];
    }
    if (event.type === "threadConfigured") return [this.#configured(event)];
    const start = this.#startOf(event);
    return this.#msgs(event).map((msg) => `${start}${JSON.stringify(msg)}}}`);
  }

  #msgs(event: ThreadEvent): readonly EventMsg[] {
    const turnId = earlierTurn(event) ?? this.#where.id;
    const msgs = eventMsgs(event, { threadId: this.#where.threadId, turnId });
    return this.#later?.added(event, msgs) ?? msgs;
  }

  #startOfDeltas(itemId: string): string {
    if (this.#item?.id !== itemId) this.#item = { id: itemId, start: `${this.#deltaStart}${JSON.stringify(itemId)},"delta":` };
    return this.#item.start;
  }

  /** Adds the sandbox that is really in force to Codex's own fields. */
  #configured(event: Extract<ThreadEvent, { type: "threadConfigured" }>): string {
    const [msg] = this.#msgs(event);
    const meta = { requestId: this.#requestId, threadId: this.#where.threadId, "codex-mcpd/sandbox": event.sandboxBackend ?? "none" };
    return jsonText({ jsonrpc: "2.0", method: "codex/event", params: { _meta: meta, id: "", msg } });
  }

  /** Events of opening a thread are not part of a turn. */
  #startOf(event: ThreadEvent): string {
    const earlier = earlierTurn(event);
    if (earlier !== undefined) return `${this.#beforeId}${JSON.stringify(earlier)},"msg":`;
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

function earlierTurn(event: ThreadEvent): TurnId | undefined {
  return event.type === "commandOutput" || event.type === "commandEnded" ? event.ofTurn : undefined;
}

/** Delivery hints for a transport: the request of an event, if it has one, and whether a slow reader can miss the event. */
export function deliveryHints(event: ThreadEvent, relatedTo?: RequestId): DeliveryHints {
  switch (event.type) {
    case "messageDelta":
    case "reasoningDelta":
    case "rawReasoningDelta":
      return { relatedTo, deltaOf: event.itemId };
    case "commandOutput":
      return { relatedTo, deltaOf: event.callId };
    case "itemCompleted":
      return { relatedTo, whole: event.item.id };
    case "commandEnded":
      return { relatedTo, whole: event.callId };
    default:
      return { relatedTo };
  }
}

/**
 * The fields that Codex 0.152.1, the last version with an MCP server, added to the events of 0.92.0: the thread and turn, the status, and
 * times. Times are those of sending to a client that follows the running turn.
 */
export class LaterFields {
  readonly #threadId: ThreadId;
  readonly #turnId: TurnId;
  readonly #now: () => number;
  readonly #itemsStarted = new Map<string, number>();
  #turnStarted: number | undefined;

  constructor({ threadId, id }: { readonly threadId: ThreadId; readonly id: TurnId }, now: () => number = Date.now) {
    this.#threadId = threadId;
    this.#turnId = id;
    this.#now = now;
  }

  /** Adds the fields to the messages, which were made for this writer. */
  added(event: ThreadEvent, msgs: readonly EventMsg[]): readonly EventMsg[] {
    // Codex retries a request silently; a waiting user should know.
    if (event.type === "modelRetry" && event.quiet) return [{ type: "background_event", message: retryText(event) }];
    for (const msg of msgs) Object.assign(msg, this.#fieldsOf(msg, event));
    return msgs;
  }

  #fieldsOf(msg: EventMsg, event: ThreadEvent): Readonly<Record<string, unknown>> | undefined {
    const at = this.#now();
    switch (msg.type) {
      case "session_configured":
        return { thread_id: this.#threadId };
      case "task_started":
        this.#turnStarted = at;
        return { turn_id: this.#turnId, started_at: seconds(at) };
      case "task_complete":
      case "turn_aborted":
        return { turn_id: this.#turnId, ...this.#span(at) };
      case "item_started":
      case "item_completed":
        return this.#itemTimes(msg, event, at);
      case "exec_command_begin":
        return { process_id: msg["process_id"] ?? null, started_at_ms: at };
      case "exec_command_end":
        return {
          process_id: msg["process_id"] ?? null,
          completed_at_ms: at,
          ...(event.type === "commandEnded" && { status: commandStatus(event) }),
        };
      case "patch_apply_end":
        return event.type === "patchEnded" ? { status: patchStatus(event) } : {};
      case "exec_approval_request":
        return { started_at_ms: at, available_decisions: decisions(msg["proposed_execpolicy_amendment"]) };
      case "apply_patch_approval_request":
        return { started_at_ms: at };
      default:
        return undefined;
    }
  }

  #span(at: number): Readonly<Record<string, unknown>> {
    const started = this.#turnStarted;
    if (started === undefined) return { completed_at: seconds(at) };
    return { started_at: seconds(started), completed_at: seconds(at), duration_ms: at - started };
  }

  #itemTimes(msg: EventMsg, event: ThreadEvent, at: number): Readonly<Record<string, unknown>> {
    if (event.type !== "itemStarted" && event.type !== "itemCompleted") return {};
    const { id } = event.item;
    if (msg.type === "item_started") {
      this.#itemsStarted.set(id, at);
      return { started_at_ms: at };
    }
    const started = this.#itemsStarted.get(id) ?? at;
    this.#itemsStarted.delete(id);
    return { started_at_ms: started, completed_at_ms: at };
  }
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}

function commandStatus({ exitCode, declined }: Extract<ThreadEvent, { type: "commandEnded" }>): string {
  if (declined) return "declined";
  return exitCode === 0 ? "completed" : "failed";
}

function patchStatus({ success, declined }: Extract<ThreadEvent, { type: "patchEnded" }>): string {
  if (declined) return "declined";
  return success ? "completed" : "failed";
}

/** The possible decisions on a command. */
function decisions(amendment: unknown): readonly unknown[] {
  const always = amendment === undefined ? [] : [{ approved_execpolicy_amendment: { proposed_execpolicy_amendment: amendment } }];
  return ["approved", "approved_for_session", ...always, "denied", "abort"];
}

function retryText({ attempt, limit, cause }: Extract<ThreadEvent, { type: "modelRetry" }>): string {
  return `Asking the model again (${attempt}/${limit}): ${cause}`;
}
