import type { Caller } from "../../agent/caller.js";
import { isRequestId, type RequestId } from "../../jsonrpc/message.js";
import type { JsonRpcPeer } from "../../jsonrpc/peer.js";
import type { ThreadId } from "../../lib/ids.js";
import type { TraceContext } from "../../observability/telemetry.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { Turn } from "../../threads/turn.js";
import type { ClientInfo, ClientProfile } from "../clientProfiles.js";
import type { ResultReader, ResultStyle } from "./callResult.js";
import { CodexEventWriter, deliveryHints } from "./codexEvent.js";
import { type LogLevel, logMessage, reaches } from "./logMessage.js";
import { ProgressReporter, progressText } from "./progress.js";

/** How a client handles results. A session determines this once, at the handshake. */
export interface ClientReader extends ResultReader {
  readonly client: ClientProfile;
}

/** One `tools/call` in progress: its caller, its channel and its abort signal. */
export interface Call {
  readonly requestId: RequestId;
  readonly signal: AbortSignal;
  /** Undefined for a stdio client that no turn started: it belongs to the server's user. */
  readonly caller: Caller | undefined;
  readonly progressToken: RequestId | undefined;
  /** The lowest level of log messages that the client wants; undefined for none. */
  readonly logLevel: () => LogLevel | undefined;
  readonly peer: Pick<JsonRpcPeer, "notify" | "notifyText" | "congested" | "request">;
  /** The client declared elicitation, and has not shown that it answers without a person. */
  readonly canElicit: boolean;
  /** Called when the client answered a question without a person. */
  readonly asksNobody?: () => void;
  /** The client declared that it can list its roots. */
  readonly listsRoots?: boolean | undefined;
  /** How the client handles responses. */
  readonly reader: ClientReader;
  /** The client's name and version. */
  readonly client?: ClientInfo | undefined;
  /** The client declared the events extension. */
  readonly asksForEvents?: boolean;
  /** The trace context that the client sent. */
  readonly trace?: TraceContext | undefined;
}

export function readProgressToken(params: Readonly<Record<string, unknown>>): RequestId | undefined {
  const meta = params["_meta"];
  const token: unknown = typeof meta === "object" && meta !== null && "progressToken" in meta ? meta.progressToken : undefined;
  return typeof token === "number" || isRequestId(token) ? token : undefined;
}

/** The part of a call that is needed to send it notifications. */
export type Shown = Pick<Call, "requestId" | "signal" | "progressToken" | "logLevel"> & {
  readonly peer: Pick<Call["peer"], "notify" | "notifyText">;
};

/** Which `codex/event` notifications a client gets. `no-deltas` omits the deltas of texts that are also sent whole. */
export type EventsShown = "all" | "no-deltas" | "none";

export interface TurnViewOptions {
  readonly events: EventsShown;
  readonly progress: boolean;
  readonly logMessages: "on-request" | "from-start" | "never";
  /** Whether events have only the fields of Codex 0.92.0, or those of later versions too. */
  readonly results: ResultStyle;
  /** The text of the first progress notification. */
  readonly startText?: string | undefined;
}

/** What one client sees of a turn: every event, and progress and log messages if it asked for them. */
export class TurnView {
  readonly #call: Shown;
  readonly #meta: Readonly<Record<string, unknown>>;
  readonly #events: CodexEventWriter | undefined;
  readonly #progress: ProgressReporter | undefined;
  readonly #deltas: boolean;
  readonly #logs: TurnViewOptions["logMessages"];
  /** Included in the first log message. */
  #unnamed: { readonly threadId: ThreadId } | undefined;

  constructor(turn: Turn, call: Shown, { events, progress, logMessages, results, startText }: TurnViewOptions) {
    this.#call = call;
    this.#logs = logMessages;
    if (results === "extended") this.#unnamed = { threadId: turn.threadId };
    this.#meta = { requestId: call.requestId, threadId: turn.threadId };
    this.#deltas = events === "all";
    if (events !== "none") this.#events = new CodexEventWriter(call.requestId, turn, results === "recorded" ? "recorded" : "extended");
    const { progressToken } = call;
    if (progress && progressToken !== undefined)
      this.#progress = new ProgressReporter(
        (steps, message) => this.#notify("notifications/progress", { progressToken, progress: steps, message }),
        { waiting: "Waiting to start", subject: results === "extended" ? `Thread ${turn.threadId}` : undefined, startText },
      );
  }

  show(event: ThreadEvent): void {
    if (this.#events) {
      const about = deliveryHints(event, this.#call.requestId);
      if (about.deltaOf === undefined || this.#deltas)
        for (const text of this.#events.write(event)) this.#call.peer.notifyText(text, about);
    }
    this.#progress?.observe(event);
    this.#log(event);
  }

  close(): void {
    this.#progress?.stop();
  }

  #log(event: ThreadEvent): void {
    const fromStart = this.#logs === "from-start";
    const threshold = this.#logs === "never" ? undefined : (this.#call.logLevel() ?? (fromStart ? "info" : undefined));
    const line = threshold === undefined ? undefined : logMessage(event);
    if (!line || !threshold || !reaches(line.level, threshold)) return;
    // Where log messages are all that a client sees of a turn, they also carry the progress text.
    const text = fromStart ? progressText(event) : undefined;
    const data = { ...line.data, ...(text !== undefined && { text }), ...this.#unnamed };
    this.#notify("notifications/message", { level: line.level, logger: "codex", data });
    this.#unnamed = undefined;
  }

  /** A cancelled call still gets the turn's last events, as in Codex, but no MCP notifications. */
  #notify(method: string, params: Readonly<Record<string, unknown>>): void {
    if (this.#call.signal.aborted) return;
    this.#call.peer.notify(method, { ...params, _meta: this.#meta }, { relatedTo: this.#call.requestId });
  }
}
