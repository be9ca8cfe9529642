import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { AnswerHeaders } from "./access/identity.js";

/** A request that access control has admitted. */
export interface HttpRequest<Caller> {
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Caller;
  /** Headers that every response must carry. */
  readonly headers: AnswerHeaders;
}

/** An admitted request to upgrade its connection to another protocol. */
export interface HttpUpgrade<Caller> {
  readonly incoming: IncomingMessage;
  readonly socket: Socket;
  readonly head: Buffer;
  readonly caller: Caller;
}
