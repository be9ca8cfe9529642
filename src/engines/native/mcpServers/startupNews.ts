import { describe } from "../../../lib/errors.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { McpServerStatus } from "../../../threads/items.js";
import { McpServerNotStarted, McpStartCancelled } from "./failures.js";

export type McpStartupNews = Extract<ThreadEvent, { type: "mcpStartupUpdated" | "mcpStartupCompleted" }>;

/** How a start went; the bare reason of a failure is for the summary, the sentence around it for the update. */
type Outcome = { readonly state: "ready" | "cancelled" } | { readonly state: "failed"; readonly error: string; readonly reason: string };

/** What happens while the servers of a thread start, for whoever comes to fetch it. */
export class StartupNews {
  readonly #servers: readonly string[];
  readonly #outcomes = new Map<string, Outcome>();
  #untold: McpStartupNews[] = [];

  constructor(servers: readonly string[]) {
    this.#servers = servers;
    for (const server of servers) this.#tell(server, { state: "starting" });
  }

  /** What was not told yet. */
  take(): readonly McpStartupNews[] {
    const untold = this.#untold;
    this.#untold = [];
    return untold;
  }

  ready(server: string): void {
    this.#tell(server, { state: "ready" });
    this.#settle(server, { state: "ready" });
  }

  failed(server: string, cause: unknown): void {
    const outcome = outcomeOf(cause);
    this.#tell(server, outcome.state === "failed" ? { state: "failed", error: outcome.error } : { state: outcome.state });
    this.#settle(server, outcome);
  }

  #tell(server: string, status: McpServerStatus): void {
    this.#untold.push({ type: "mcpStartupUpdated", server, status });
  }

  #settle(server: string, outcome: Outcome): void {
    this.#outcomes.set(server, outcome);
    if (this.#outcomes.size === this.#servers.length) this.#untold.push(this.#summary());
  }

  #summary(): McpStartupNews {
    const inState = (state: Outcome["state"]) => this.#servers.filter((server) => this.#outcomes.get(server)?.state === state);
    const failed = inState("failed").map((server) => {
      const outcome = this.#outcomes.get(server);
      return { server, error: outcome?.state === "failed" ? outcome.reason : "" };
    });
    return { type: "mcpStartupCompleted", ready: inState("ready"), failed, cancelled: inState("cancelled") };
  }
}

function outcomeOf(cause: unknown): Outcome {
  if (cause instanceof McpStartCancelled) return { state: "cancelled" };
  const error = describe(cause);
  return { state: "failed", error, reason: cause instanceof McpServerNotStarted ? cause.reason : error };
}
