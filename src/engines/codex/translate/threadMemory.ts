import type { Fields } from "../../../lib/fields.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { McpServerStatus } from "../../../threads/items.js";
import { NO_RATE_LIMITS, NO_USAGE, type RateLimits, type TokenUsage } from "../../../threads/usage.js";
import { asText, nonEmptyText } from "../appServer/read.js";

/** Notifications that matter while no turn runs. */
const OUTSIDE_TURNS: ReadonlySet<string> = new Set([
  "account/rateLimits/updated",
  "configWarning",
  "deprecationNotice",
  "guardianWarning",
  "mcpServer/startupStatus/updated",
  "warning",
  "windows/worldWritableWarning",
]);

/** The limit of notifications kept between two turns; the oldest are dropped. */
const MOST_KEPT = 200;
/** The limit of remembered texts, which are not repeated. */
const MOST_SHOWN_TEXTS = 200;
/** The number of ended turns whose late messages are recognised. */
const MOST_FINISHED = 100;

interface Notification {
  readonly method: string;
  readonly params: unknown;
}

/** What one app-server thread reported outside the running turn. One per thread, for as long as it is open. */
export class ThreadMemory {
  readonly mcp = new McpStartup();
  contextWindow: number | null = null;
  rateLimits: RateLimits = NO_RATE_LIMITS;
  /** The tokens that the thread has used, as far as Codex reported them. */
  used: TokenUsage = NO_USAGE;
  readonly #shownTexts = new Set<string>();
  readonly #finishedTurns = new Set<string>();
  #kept: Notification[] = [];

  /** Keeps a notification that came while no turn runs; it is shown when the next one starts. */
  betweenTurns(method: string, params: unknown): void {
    if (!OUTSIDE_TURNS.has(method)) return;
    this.#kept.push({ method, params });
    if (this.#kept.length > MOST_KEPT) this.#kept.shift();
  }

  takeKept(): readonly Notification[] {
    const kept = this.#kept;
    this.#kept = [];
    return kept;
  }

  /** False when the same text was already shown on this thread: the app-server repeats some with every turn. */
  isNew(text: string): boolean {
    if (this.#shownTexts.has(text)) return false;
    keep(this.#shownTexts, text, MOST_SHOWN_TEXTS);
    return true;
  }

  finishTurn(appServerTurnId: string): void {
    keep(this.#finishedTurns, appServerTurnId, MOST_FINISHED);
  }

  /** Commands outlive an interrupted turn, and their notifications still carry its id. */
  isFinished(appServerTurnId: unknown): boolean {
    return typeof appServerTurnId === "string" && this.#finishedTurns.has(appServerTurnId);
  }
}

function keep(texts: Set<string>, text: string, most: number): void {
  texts.add(text);
  const [oldest] = texts;
  if (texts.size > most && oldest !== undefined) texts.delete(oldest);
}

/** The limit of MCP servers that are tracked. */
const MOST_SERVERS = 200;

/** The start-up results of a thread's MCP servers; once all are known, one summary is reported. */
class McpStartup {
  readonly #statuses = new Map<string, McpServerStatus>();
  #isSettled = false;

  update(params: Fields): ThreadEvent[] {
    const server = asText(params["name"]);
    const status = statusOf(params);
    if (server === "" || !status || this.#statuses.size >= MOST_SERVERS) return [];
    this.#statuses.set(server, status);
    return [{ type: "mcpStartupUpdated", server, status }];
  }

  /** The summary, when every expected server has started or failed and it was not reported before. */
  settle(expected: readonly string[]): ThreadEvent[] {
    const all = [...this.#statuses];
    const isOpen = all.some(([, { state }]) => state === "starting") || !expected.every((server) => this.#statuses.has(server));
    if (this.#isSettled || isOpen) return [];
    this.#isSettled = true;
    const inState = (state: McpServerStatus["state"]) => all.filter(([, status]) => status.state === state).map(([server]) => server);
    const failed = all.flatMap(([server, status]) => (status.state === "failed" ? [{ server, error: bareReason(status.error) }] : []));
    return [{ type: "mcpStartupCompleted", ready: inState("ready"), failed, cancelled: inState("cancelled") }];
  }
}

function statusOf(params: Fields): McpServerStatus | undefined {
  switch (params["status"]) {
    case "starting":
    case "ready":
    case "cancelled":
      return { state: params["status"] };
    case "failed":
      return { state: "failed", error: nonEmptyText(params["error"]) ?? "failed to start" };
    default:
      return undefined;
  }
}

/** The reason without the server's name, which the summary has beside it. */
function bareReason(error: string): string {
  return error.replace(/^MCP client for `[^`]*` failed to start: (?:MCP startup failed: )?/, "");
}
