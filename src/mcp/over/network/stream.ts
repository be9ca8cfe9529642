import type { RequestId } from "../../../jsonrpc/message.js";
import type { Kept } from "./replayBuffer.js";

/** The socket's side of a stream: how messages become bytes. */
export interface Carrier {
  /** Hands messages to the socket; false when it should get no more until it has drained (see `Outbox.drained`). */
  write(messages: readonly Kept[], streamName: string): boolean;
  /** A sign of life that is no message. */
  keepAlive(): void;
  /** Ends the connection: politely, or at once when the other side does not read. */
  end(how: "politely" | "at once"): void;
}

/**
 * `everything`: all messages of the session, answers included. `own`: those about one POST, until its answer.
 * `shared`: what is about no POST that has a stream of its own; each of those goes to one such stream.
 */
export type StreamKind = "everything" | "own" | "shared";

export interface StreamOptions {
  readonly name: string;
  readonly kind: StreamKind;
  readonly carrier: Carrier;
  /** The last number the client has seen. */
  readonly after: number;
  /** The stream is over once this request is answered. */
  readonly until?: RequestId;
}

/** One open connection that carries messages of a session, at its own place in them. */
export class Stream {
  readonly name: string;
  readonly kind: StreamKind;
  readonly carrier: Carrier;
  readonly until: RequestId | undefined;
  cursor: number;
  /** The socket has enough for now, since this moment. */
  blockedSince: number | undefined;
  /** Messages that came for it while it was blocked. */
  waiting = 0;
  /** It was ended because nobody read it; its client may come back. */
  disconnected = false;
  /** Pieces up to this number are left out: the client is too far behind. */
  skipPiecesUpTo = 0;

  constructor({ name, kind, carrier, after, until }: StreamOptions) {
    this.name = name;
    this.kind = kind;
    this.carrier = carrier;
    this.cursor = after;
    this.until = until;
  }

  carries({ route, answer }: Kept): boolean {
    switch (this.kind) {
      case "everything":
        return true;
      case "own":
        return route === this.name;
      case "shared":
        return route === this.name || (route === undefined && !answer);
    }
  }

  endsWith({ answer, request }: Kept): boolean {
    return answer && request !== undefined && (request === this.until || this.kind === "own");
  }
}
