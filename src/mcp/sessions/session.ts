import type { Caller } from "../../agent/caller.js";
import type { Place } from "../../agent/turnLimiter.js";
import type { RequestId } from "../../jsonrpc/message.js";
import { type IncomingRequest, JsonRpcPeer } from "../../jsonrpc/peer.js";
import type { Frame, Outlet } from "../../jsonrpc/wire.js";
import type { Objection } from "../inside.js";
import { hasBatches } from "../revisions.js";
import type { ToolAction, ToolDeclaration } from "../tools/tool.js";
import type { LogLevel } from "../wording/logMessage.js";
import type { ClientProfile } from "./initialize.js";

/** What is done with what a client says; the table of methods is in dispatch.ts. */
export interface Dispatch {
  answer(session: Session, request: IncomingRequest): unknown;
  notified(session: Session, method: string, params: unknown): void;
  /** The channel is gone, though its session may come back on another. */
  left?(session: Session): void;
}

export interface SessionParts {
  /** Who is at the other end of a network session, or inside a turn; absent on stdio. */
  readonly caller?: Caller | undefined;
  readonly dispatch: Dispatch;
  readonly engine: string;
  readonly env: NodeJS.ProcessEnv;
  readonly tools: readonly ToolDeclaration[];
  /** Why nothing is started for a caller. Absent on a server that no turn started. */
  readonly objection?: Objection | undefined;
  /** What the tools do. Loaded on first use, so that a handshake need not wait for the agent. */
  readonly actions: () => Promise<ReadonlyMap<string, ToolAction>>;
  /** A place among the turns that may run at once. Absent where nobody is limited. */
  readonly enterTurn?: (signal: AbortSignal) => Promise<Place>;
  /** Called once the client's handshake is answered: a good moment to load what its first call will need. */
  readonly welcomed: () => void;
  /** For people who look at the server's own output. */
  readonly report: (line: string) => void;
}

/** One client: its peer, what it said of itself, and the calls it has running. */
export class Session {
  readonly peer: JsonRpcPeer;
  logLevel: LogLevel | undefined;
  #profile: ClientProfile | undefined;

  constructor(
    outlet: Outlet,
    readonly parts: SessionParts,
  ) {
    this.peer = new JsonRpcPeer(outlet, {
      answer: (request) => parts.dispatch.answer(this, request),
      notified: (method, params) => parts.dispatch.notified(this, method, params),
      unreadable: (reason) => parts.report(`ignored a message: ${reason}`),
      failed: (method, error) =>
        parts.report(`${method} failed unexpectedly: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`),
    });
  }

  get profile(): ClientProfile | undefined {
    return this.#profile;
  }

  welcome(profile: ClientProfile): void {
    this.#profile = profile;
    this.peer.acceptsBatches = hasBatches(profile.revision);
    this.parts.welcomed();
  }

  /** A cancelled request is not answered; what it started is interrupted. */
  cancel(id: RequestId): void {
    this.peer.cancel(id, new Error("the client cancelled the request"));
  }

  /** Stops what the client's calls started, and what they would start from now on; they are answered. */
  interrupt(reason: Error): void {
    this.peer.interrupt(reason);
  }

  /** The client's channel is gone; what it asked in this session waits for it. */
  leave(): void {
    this.parts.dispatch.left?.(this);
  }

  /** Serves the client until it closes its side. */
  run(incoming: AsyncIterable<Frame>): Promise<void> {
    return this.peer.run(incoming);
  }

  close(reason: Error): void {
    this.peer.close(reason);
  }
}
