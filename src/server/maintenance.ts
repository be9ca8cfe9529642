import type { HttpSession, HttpSessions } from "../mcp/over/network/httpSession.js";
import type { StatelessReply } from "../mcp/over/streamableHttp/statelessReply.js";
import type { WebSocketEndpoint } from "../mcp/over/websocket.js";
import type { Metrics } from "../observability/metrics.js";

/** How long a client may come back for what it missed. */
const RETAIN_MS = 5 * 60_000;

export interface MaintenanceParts {
  readonly sessions: HttpSessions;
  readonly statelessStreams: ReadonlySet<StatelessReply>;
  readonly webSockets: WebSocketEndpoint;
  readonly metrics: Metrics;
  /** Ends connections whose tokens are no good any more. */
  readonly recheck: () => Promise<void>;
  readonly failed: (error: unknown) => void;
}

/** What has to be done now and then on a server that listens: signs of life, sessions nobody uses, losses to be counted. */
export class Maintenance {
  #timer: NodeJS.Timeout | undefined;
  readonly #counted = new WeakMap<HttpSession, { dropped: number; disconnected: number }>();

  constructor(private readonly parts: MaintenanceParts) {}

  every(ms: number): void {
    this.#timer = setInterval(() => this.#round(Date.now()), ms);
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #round(now: number): void {
    const { sessions, statelessStreams, webSockets } = this.parts;
    webSockets.ping();
    this.parts.recheck().catch(this.parts.failed);
    for (const reply of statelessStreams) reply.keepAlive();
    for (const open of sessions.all()) {
      open.connection.outbox.tick({ now, keepAlive: true, retainMs: RETAIN_MS });
      this.#countLosses(open);
    }
    sessions.sweep();
  }

  #countLosses(open: HttpSession): void {
    const { dropped, disconnected } = open.connection.outbox.counts;
    const before = this.#counted.get(open) ?? { dropped: 0, disconnected: 0 };
    if (dropped > before.dropped) this.parts.metrics.messagesDropped(dropped - before.dropped);
    for (let at = before.disconnected; at < disconnected; at++) this.parts.metrics.readerDisconnected({ reason: "did not read" });
    this.#counted.set(open, { dropped, disconnected });
  }
}
