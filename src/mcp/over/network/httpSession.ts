import type { Connection, OpenSession, SessionRegistry } from "../../sessions/sessionRegistry.js";
import { Outbox, type OutboxLimits } from "./outbox.js";

/** A session's end of the network: whatever carries its messages at the moment. */
export class HttpConnection implements Connection {
  readonly outbox: Outbox;

  constructor(
    readonly transport: Connection["transport"],
    limits: OutboxLimits,
  ) {
    // A POST is held open until it is answered; the other ways follow the specification and leave a cancelled request without an answer.
    this.outbox = new Outbox(limits, { answersCancelled: transport === "http" });
  }

  get streamCount(): number {
    return this.outbox.streams.count;
  }

  close(): Promise<void> {
    return this.outbox.close();
  }
}

export type HttpSession = OpenSession<HttpConnection>;
export type HttpSessions = SessionRegistry<HttpConnection>;
