import type { RequestId } from "./message.js";

/** A frame as it came in, or the size of one that was too long to take. */
export type Frame = { readonly text: string } | { readonly tooLongBytes: number };

/** One channel to one counterpart. Each transport makes one; `JsonRpcPeer` speaks over it. */
export interface Wire {
  /** Ends when the other side has closed or is gone. Read by one reader. */
  readonly incoming: AsyncIterable<Frame>;
  /** Queues one message, in order. After `close` it does nothing. `relatedTo` names the request it belongs to. */
  send(text: string, about?: { readonly relatedTo?: RequestId }): void;
  /** Undefined while the other side keeps up; else a promise for the moment it does again (or is gone). */
  congested(): Promise<void> | undefined;
  /** Hands over what was queued, as far as the other side takes it in bounded time, then ends. */
  close(): Promise<void>;
}
