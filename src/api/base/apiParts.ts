import type { IncomingMessage, ServerResponse } from "node:http";
import type { Agent, Ask } from "../../agent/agent.js";
import type { Caller } from "../../agent/caller.js";
import type { AnswerHeaders } from "../../http/access/identity.js";
import type { RequestBodies } from "../../http/body.js";
import type { TurnWatch } from "../../threads/turn.js";

/** The result of one diagnostic check. */
export interface ExaminedPart {
  readonly subject: string;
  readonly verdict: "ok" | "note" | "fails";
  readonly text: string;
}

/** What the API needs: the agent, and facts about the server process. */
export interface ApiParts {
  readonly agent: () => Promise<Agent>;
  /** Reports turns that are started here to logs, metrics and traces. */
  readonly watchTurn: TurnWatch;
  readonly version: string;
  /** Distinguishes this process from an earlier one. */
  readonly instance: string;
  readonly startedAt: number;
  readonly ready: () => boolean;
  /** The console's URL, if it is served. */
  readonly consoleAddress: () => string | undefined;
  /** Absent where the server was started without diagnostics. */
  readonly examine: (() => Promise<readonly ExaminedPart[]>) | undefined;
  /** The server's metrics in Prometheus' text format. */
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
  readonly logins: Logins;
  readonly streams: EventStreams;
  readonly bodies: RequestBodies;
  /** Handles an unexpected error. Returns the text for the client. */
  readonly failed: (what: string, error: unknown) => string;
}

/** Browser logins. */
export interface Logins {
  /** A new one-time code and the console's URL with it; undefined if no console is served. */
  newCode(): { readonly address: string; readonly expiresAt: number } | undefined;
  /** Exchanges a one-time code for a cookie; undefined if the code is wrong, used or expired. */
  byCode(code: string, request: IncomingMessage): Promise<string | undefined>;
  /** A cookie for the bearer token of the request, which belongs to this principal. */
  byToken(request: IncomingMessage, principal: string): Promise<string | undefined>;
  /** Ends the login that the request's cookie identifies. Returns the header that deletes the cookie. */
  end(request: IncomingMessage): string;
}

export interface EventLimits {
  readonly keepAliveMs: number;
  /** A reader that reads nothing for this long is disconnected, and can resume where it was. */
  readonly slowReaderMs: number;
}

export interface EventStreams extends EventLimits {
  /** The open ones, for the server's metrics. */
  readonly open: Set<ServerResponse>;
  /** Called when a reader is disconnected because it does not read. */
  readonly disconnected: () => void;
}

/** A request to the API, as its handlers see it. */
export interface ApiRequest {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Caller;
  readonly headers: AnswerHeaders;
  readonly signal: AbortSignal;
  readonly watchTurn: TurnWatch;
  /** It came from the console in a browser. */
  readonly viaConsole: boolean;
  /** The handler writes the response itself, as a stream. */
  taken: boolean;
}

/** The context of every API handler. */
export interface ApiEnv {
  readonly Bindings: ApiRequest;
}

/** The request context for the agent, with the caller of this HTTP request. */
export function askOf({ caller, signal, watchTurn }: Pick<ApiRequest, "caller" | "signal" | "watchTurn">): Ask {
  return { caller: { ...caller, seesSessions: true }, signal, watchTurn, wantsReceipt: true };
}
