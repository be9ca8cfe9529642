import type { Caller } from "../../agent/caller.js";
import type { RequestId } from "../../jsonrpc/message.js";
import type { JsonRpcPeer } from "../../jsonrpc/peer.js";
import type { ThreadId } from "../../lib/ids.js";
import type { TraceContext } from "../../observability/telemetry.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { Turn } from "../../threads/turn.js";
import type { ClientInfo } from "../clientProfiles.js";
import type { HandshakeRevision } from "../revisions.js";
import type { ResultStyle } from "./callResult.js";
import { aboutEvent, CodexEventWriter } from "./codexEvent.js";
import { type LogLevel, logMessage, reaches } from "./logMessage.js";
import { ProgressReporter, progressText } from "./progress.js";

/** One `tools/call` while it is worked on: who asked, how to reach them, and whether they still want it. */
export interface Call {
  readonly requestId: RequestId;
  readonly signal: AbortSignal;
  /** Undefined on stdio outside of turns: the client is the user's own. */
  readonly caller: Caller | undefined;
  readonly progressToken: RequestId | undefined;
  /** From which level on the client wants log messages; undefined for none. */
  readonly logLevel: () => LogLevel | undefined;
  readonly peer: Pick<JsonRpcPeer, "notify" | "notifyText" | "congested" | "request">;
  /** The client said that it can put questions to a person, and has not shown otherwise. */
  readonly canElicit: boolean;
  /** It has answered one by itself. */
  readonly asksNobody?: () => void;
  /** The client said that it can be asked which folders it works in. */
  readonly tellsRoots?: boolean | undefined;
  readonly revision: HandshakeRevision | undefined;
  /** What the client calls itself. */
  readonly client?: ClientInfo | undefined;
  /** It declared that it takes Codex's events. */
  readonly asksForEvents?: boolean;
  /** The trace it belongs to, as the client said. */
  readonly trace?: TraceContext | undefined;
}

export function readProgressToken(params: Readonly<Record<string, unknown>>): RequestId | undefined {
  const meta = params["_meta"];
  const token: unknown = typeof meta === "object" && meta !== null && "progressToken" in meta ? meta.progressToken : undefined;
  return typeof token === "string" || typeof token === "number" || typeof token === "bigint" ? token : undefined;
}

/** What has to be known of a call to show it something. */
export type Shown = Pick<Call, "requestId" | "signal" | "progressToken" | "logLevel"> & {
  readonly peer: Pick<Call["peer"], "notify" | "notifyText">;
};

/** Which `codex/event` notifications a client gets; `no-deltas` leaves out the pieces of what is told whole later. */
export type EventsShown = "all" | "no-deltas" | "none";

export interface TurnViewOptions {
  readonly events: EventsShown;
  readonly progress: boolean;
  readonly logMessages: "on-request" | "from-start" | "never";
  /** Events have Codex 0.92.0's fields, or those of later versions beside them. */
  readonly results: ResultStyle;
  /** What the first progress says, before anything has happened. */
  readonly startText?: string | undefined;
}

/** What one client gets to see of a turn: every event, and progress and log messages if it asked for them. */
export class TurnView {
  readonly #call: Shown;
  readonly #meta: Readonly<Record<string, unknown>>;
  readonly #events: CodexEventWriter | undefined;
  readonly #progress: ProgressReporter | undefined;
  readonly #deltas: boolean;
  readonly #logs: TurnViewOptions["logMessages"];
  /** Named in the first line of the log. */
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
      const about = aboutEvent(event, this.#call.requestId);
      if (about.pieceOf === undefined || this.#deltas)
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
    // Where log messages are all that is shown of a turn, they say what a person should read.
    const text = fromStart ? progressText(event) : undefined;
    const data = { ...line.data, ...(text !== undefined && { text }), ...this.#unnamed };
    this.#notify("notifications/message", { level: line.level, logger: "codex", data });
    this.#unnamed = undefined;
  }

  /** A cancelled call gets the turn's last events, as Codex sends them, but nothing of MCP's own any more. */
  #notify(method: string, params: Readonly<Record<string, unknown>>): void {
    if (this.#call.signal.aborted) return;
    this.#call.peer.notify(method, { ...params, _meta: this.#meta }, { relatedTo: this.#call.requestId });
  }
}
