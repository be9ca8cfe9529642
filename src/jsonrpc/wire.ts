import type { RequestId } from "./message.js";

/** A received frame, or the size of one that was too long. */
export type Frame = { readonly text: string } | { readonly tooLongBytes: number };

/** Delivery hints for a transport. */
export interface DeliveryHints {
  /** The request of the other side that the message belongs to. */
  readonly relatedTo?: RequestId;
  /** The message is the response to `relatedTo`: no more messages about that request follow. */
  readonly answer?: "given" | "busy";
  /** The message is a delta of this item. The whole item follows later, so a slow reader may miss the delta. */
  readonly deltaOf?: string;
  /** The message is this whole item: its deltas need not be kept any more. */
  readonly whole?: string;
  /** The client can do without the message, or read its content elsewhere: a client that returns may find it gone. */
  readonly passing?: true;
}

/** The sending side of a connection with one counterpart. */
export interface Outlet {
  /** Whether a cancelled request gets a response too, because the other side holds a connection open for it. */
  readonly answersCancelled?: boolean;
  /** Queues one message, in order. Does nothing after `close`. */
  send(text: string, about?: DeliveryHints): void;
  /**
   * Marks a long request that a client may ask for again after this process has ended, by its id and by its subject, once that is known.
   */
  concerns?(id: RequestId, subject?: string): void;
  /** A request of the other side gets no response, because it was cancelled. */
  unanswered?(id: RequestId): void;
  /**
   * Undefined while the other side keeps up; otherwise a promise that resolves when it does again, or is gone. This is the backpressure.
   */
  congested(): Promise<void> | undefined;
  /** Sends the queued messages, as far as the other side reads them in bounded time, and then ends. */
  close(): Promise<void>;
}

/** A channel with both directions. Transports that receive messages one by one (HTTP) implement only `Outlet`. */
export interface Wire extends Outlet {
  /** Ends when the other side has closed or is gone. Has a single reader. */
  readonly incoming: AsyncIterable<Frame>;
}
