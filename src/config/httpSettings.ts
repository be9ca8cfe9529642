import { LONGEST_TIMER_MS } from "../lib/promises.js";
import { HTTP_DEFAULTS, LAG_POLICIES } from "./schema/server.js";
import type { ConfigTree } from "./schema/settingTypes.js";
import { flagAt, numberAt } from "./tree.js";

/** Limits and timeouts of a listening server. */
export interface HttpSettings {
  readonly sessions: { readonly idleMs: number; readonly attendedMs: number; readonly vanishedMs: number; readonly sessions: number };
  readonly openRequests: number;
  /** Per session. */
  readonly requestsInFlight: number;
  readonly turns: { readonly sessions: number; readonly perPrincipal: number; readonly perSession: number; readonly queue: number };
  readonly streams: {
    readonly queueLength: number;
    readonly lagPolicy: (typeof LAG_POLICIES)[number];
    readonly slowReaderMs: number;
    readonly replayBytes: number;
    readonly perSession: number;
    readonly keepAliveMs: number;
  };
  readonly maxBodyBytes: number;
  readonly arrival: { readonly headersMs: number; readonly requestMs: number };
  readonly webSocketLingerMs: number;
  readonly shutdownGraceMs: number;
  /** Undefined: depends on the network interface the server listens on. */
  readonly clientsChooseIds: boolean | undefined;
  readonly legacySse: boolean;
  readonly metrics: boolean;
}

const MIB = 1024 * 1024;
type NumberKey = { [K in keyof typeof HTTP_DEFAULTS]: (typeof HTTP_DEFAULTS)[K] extends number ? K : never }[keyof typeof HTTP_DEFAULTS];

/** From the table `mcp_server.http`, which was checked. */
export function readHttpSettings(http: ConfigTree): HttpSettings {
  const number = (key: NumberKey) => numberAt(http, key) ?? HTTP_DEFAULTS[key];
  const ms = (key: NumberKey, unit: number) => Math.min(number(key) * unit, LONGEST_TIMER_MS);
  // Node treats 0 as no timeout.
  const arrivalMs = (key: NumberKey) => Math.max(ms(key, 1_000), 1);
  return {
    sessions: {
      idleMs: ms("idle_session_minutes", 60_000),
      attendedMs: ms("attended_seconds", 1_000),
      vanishedMs: ms("vanished_client_seconds", 1_000),
      sessions: number("max_sessions"),
    },
    openRequests: number("max_open_requests"),
    requestsInFlight: number("requests_per_session"),
    turns: {
      sessions: number("max_running_sessions"),
      perPrincipal: number("turns_per_principal"),
      perSession: number("turns_per_session"),
      queue: number("turn_queue"),
    },
    streams: {
      queueLength: number("queue_length"),
      lagPolicy: LAG_POLICIES.find((policy) => policy === http["when_behind"]) ?? HTTP_DEFAULTS.when_behind,
      slowReaderMs: ms("slow_reader_seconds", 1_000),
      replayBytes: number("replay_mib") * MIB,
      perSession: number("streams_per_session"),
      keepAliveMs: Math.max(ms("keep_alive_seconds", 1_000), 1_000),
    },
    maxBodyBytes: number("max_body_mib") * MIB,
    arrival: { headersMs: arrivalMs("header_timeout_seconds"), requestMs: arrivalMs("request_timeout_seconds") },
    webSocketLingerMs: ms("websocket_linger_seconds", 1_000),
    shutdownGraceMs: ms("shutdown_grace_seconds", 1_000),
    clientsChooseIds: flagAt(http, "clients_choose_ids"),
    legacySse: flagAt(http, "legacy_sse") ?? false,
    metrics: flagAt(http, "metrics") ?? true,
  };
}
