import type { IncomingMessage, ServerResponse } from "node:http";
import type { Agent, Ask } from "../../agent/agent.js";
import type { Caller } from "../../agent/caller.js";
import type { AnswerHeaders } from "../../http/access/identity.js";
import type { TurnWatch } from "../../threads/turn.js";

/** What was looked at on the machine, and how it is. */
export interface ExaminedPart {
  readonly subject: string;
  readonly verdict: "ok" | "note" | "fails";
  readonly text: string;
}

/** What the API is made of: the agent, and what only the server that serves it knows. */
export interface ApiParts {
  readonly agent: () => Promise<Agent>;
  /** Tells logs, metrics and traces of the turns that are begun here. */
  readonly watchTurn: TurnWatch;
  readonly version: string;
  /** Tells this process from the one before it. */
  readonly instance: string;
  readonly startedAt: number;
  readonly ready: () => boolean;
  /** Where the console is served, if it is. */
  readonly consoleAddress: () => string | undefined;
  /** Absent where the server was started by something that cannot. */
  readonly examine: (() => Promise<readonly ExaminedPart[]>) | undefined;
  readonly logins: Logins;
  readonly streams: EventLimits;
  readonly maxBodyBytes: number;
  /** Something nobody foresaw. Returns what a client may be told of it. */
  readonly failed: (what: string, error: unknown) => string;
}

/** How people come in by a browser. */
export interface Logins {
  /** A fresh code, and the console's address with it. Undefined where no console is served. */
  newCode(): { readonly address: string; readonly expiresAt: number } | undefined;
  /** The cookie that stands for a one-time code; undefined for one that is wrong, used or too old. */
  byCode(code: string, request: IncomingMessage): string | undefined;
  /** The cookie that stands for the bearer token of the request. */
  byToken(request: IncomingMessage): string | undefined;
  /** Ends what the request's cookie stands for; the header that takes the cookie from the browser. */
  end(request: IncomingMessage): string;
}

export interface EventLimits {
  readonly keepAliveMs: number;
  /** A reader that takes nothing for this long is cut off, and comes back where it was. */
  readonly slowReaderMs: number;
}

/** A request to the API, as its handlers know it. */
export interface ApiRequest {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Caller;
  readonly headers: AnswerHeaders;
  readonly signal: AbortSignal;
  readonly watchTurn: TurnWatch;
  /** It came from the console in a browser. */
  readonly viaConsole: boolean;
  /** The handler answers by itself, as a stream. */
  taken: boolean;
}

/** What every handler of the API has at hand. */
export interface ApiEnv {
  readonly Bindings: ApiRequest;
}

/** Asks the agent in the name of whoever sent the request. */
export function askOf({ caller, signal, watchTurn }: Pick<ApiRequest, "caller" | "signal" | "watchTurn">): Ask {
  return { caller: { ...caller, seesSessions: true }, signal, watchTurn, wantsReceipt: true };
}
