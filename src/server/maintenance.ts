import type { HttpSessions } from "../mcp/over/network/httpSession.js";
import type { Outbox } from "../mcp/over/network/outbox.js";
import type { StatelessReply } from "../mcp/over/streamableHttp/statelessPost.js";
import type { WebSocketEndpoint } from "../mcp/over/websocket.js";
import type { Metrics } from "../observability/telemetry.js";

/** The metric label of a reader that was disconnected. */
export const SLOW_READER = "did not read";
/** How long a client may reconnect for missed messages. */
const RETAIN_MS = 5 * 60_000;

export interface MaintenanceParts {
  readonly sessions: HttpSessions;
  readonly statelessStreams: ReadonlySet<StatelessReply>;
  readonly webSockets: WebSocketEndpoint;
  readonly losses: DeliveryLosses;
  /** Closes connections whose tokens are no longer valid. */
  readonly recheck: () => Promise<void>;
  readonly failed: (error: unknown) => void;
}

/** The periodic work of a listening server: keep-alives, idle sessions, metrics of lost messages. */
export class Maintenance {
  readonly #parts: MaintenanceParts;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: MaintenanceParts) {
    this.#parts = parts;
  }

  every(ms: number): void {
    this.#timer = setInterval(() => this.#round(Date.now()), ms);
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #round(now: number): void {
    const { sessions, statelessStreams, webSockets, losses } = this.#parts;
    webSockets.ping();
    this.#parts.recheck().catch(this.#parts.failed);
    for (const reply of statelessStreams) reply.keepAlive();
    for (const { connection } of sessions.all()) {
      connection.outbox.tick({ now, keepAlive: true, retainMs: RETAIN_MS });
      losses.count(connection.outbox);
    }
    sessions.sweep();
  }
}

/**
 * Counts the messages that sessions lost, in the metrics. An outbox keeps totals; this class remembers how much of them is already counted.
 */
export class DeliveryLosses {
  readonly #metrics: Pick<Metrics, "messagesDropped" | "readerDisconnected">;
  readonly #counted = new WeakMap<Pick<Outbox, "counts">, { readonly dropped: number; readonly disconnected: number }>();

  constructor(metrics: Pick<Metrics, "messagesDropped" | "readerDisconnected">) {
    this.#metrics = metrics;
  }

  /** Call it regularly, and when the session has ended. */
  count(outbox: Pick<Outbox, "counts">): void {
    const { dropped, disconnected } = outbox.counts;
    const before = this.#counted.get(outbox) ?? { dropped: 0, disconnected: 0 };
    if (dropped > before.dropped) this.#metrics.messagesDropped(dropped - before.dropped);
    for (let at = before.disconnected; at < disconnected; at++) this.#metrics.readerDisconnected({ reason: SLOW_READER });
    this.#counted.set(outbox, { dropped, disconnected });
  }
}
