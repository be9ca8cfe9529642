import type { RequestId } from "./message.js";

/** A frame as it came in, or the size of one that was too long to take. */
export type Frame = { readonly text: string } | { readonly tooLongBytes: number };

/** What a transport is told about a message, so that it can choose a way for it. */
export interface About {
  /** The request of the other side that the message belongs to. */
  readonly relatedTo?: RequestId;
  /** It is the answer to `relatedTo`: nothing about that request follows. */
  readonly answer?: "given" | "refused as busy";
  /** A piece of this item; the item itself is told later, so that a reader that is behind may miss the piece. */
  readonly pieceOf?: string;
  /** This item, whole: pieces of it need not be kept any more. */
  readonly whole?: string;
}

/** The way to one counterpart. */
export interface Outlet {
  /** The other side waits for an answer even to a request that it cancelled, because it holds a connection open for it. */
  readonly answersCancelled?: boolean;
  /** Queues one message, in order. After `close` it does nothing. */
  send(text: string, about?: About): void;
  /**
   * A request of the other side lasts, and may be asked for after this process: by its id, and by what is known by then of the subject that it is
   * about.
   */
  concerns?(id: RequestId, subject?: string): void;
  /** A request of the other side gets no answer: it was cancelled. */
  unanswered?(id: RequestId): void;
  /** Undefined while the other side keeps up; else a promise for the moment it does again (or is gone). */
  congested(): Promise<void> | undefined;
  /** Hands over what was queued, as far as the other side takes it in bounded time, then ends. */
  close(): Promise<void>;
}

/** One channel with both directions. Transports whose messages come one by one (HTTP) make an `Outlet` only. */
export interface Wire extends Outlet {
  /** Ends when the other side has closed or is gone. Read by one reader. */
  readonly incoming: AsyncIterable<Frame>;
}
