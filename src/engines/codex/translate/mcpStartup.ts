import type { Fields } from "../../../lib/fields.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { McpServerStatus } from "../../../threads/items.js";
import { saidText, textOf } from "./read.js";

/** More servers than this are not kept apart. */
const MOST_SERVERS = 200;

/** How the starts of a thread's MCP servers went; once all are settled, that is told, once. */
export class McpStartup {
  readonly #statuses = new Map<string, McpServerStatus>();
  #isSettled = false;

  update(params: Fields): ThreadEvent[] {
    const server = textOf(params["name"]);
    const status = statusOf(params);
    if (server === "" || !status || this.#statuses.size >= MOST_SERVERS) return [];
    this.#statuses.set(server, status);
    return [{ type: "mcpStartupUpdated", server, status }];
  }

  /** The summary, when every expected server has started or failed and it was not told before. */
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
      return { state: "failed", error: saidText(params["error"]) ?? "failed to start" };
    default:
      return undefined;
  }
}

/** The summary names the server beside the reason. */
function bareReason(error: string): string {
  return error.replace(/^MCP client for `[^`]*` failed to start: (?:MCP startup failed: )?/, "");
}
