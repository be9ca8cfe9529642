import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { AnswerHeaders } from "./access/identity.js";

/** A request that access control has let in. */
export interface HttpRequest<Caller> {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Caller;
  /** What every answer to it must carry. */
  readonly headers: AnswerHeaders;
}

/** The same of one that wants to go on with another protocol on its connection. */
export interface HttpUpgrade<Caller> {
  readonly incoming: IncomingMessage;
  readonly socket: Socket;
  readonly head: Buffer;
  readonly caller: Caller;
}
