import type { CodexErrorInfo } from "../../../threads/events.js";
import type { RawItem } from "../../../threads/items.js";
import type { RateLimits, TokenUsage } from "../../../threads/usage.js";

/** Something that answers model requests: the Responses API of a provider, or the scripted model. */
export interface ModelClient {
  /**
   * Sends one request and yields what comes back, in batches as it arrives. Ends after `completed`.
   * Throws `ModelFailure` for everything that goes wrong, and the signal's reason when it aborts.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<readonly ModelEvent[]>;
}

export interface ModelRequest {
  /** The request as JSON text, kept as text so that a long history is joined instead of serialised anew. */
  readonly body: string;
}

export type ModelEvent =
  /** The answer begins: the provider accepted the request. */
  | { readonly type: "accepted"; readonly rateLimits: RateLimits | undefined }
  | { readonly type: "itemAdded"; readonly item: RawItem }
  | { readonly type: "itemDone"; readonly item: RawItem }
  | { readonly type: "textDelta"; readonly itemId: string; readonly delta: string }
  | { readonly type: "summaryPartAdded"; readonly itemId: string; readonly summaryIndex: number }
  | { readonly type: "summaryDelta"; readonly itemId: string; readonly summaryIndex: number; readonly delta: string }
  | { readonly type: "reasoningTextDelta"; readonly itemId: string; readonly contentIndex: number; readonly delta: string }
  | { readonly type: "completed"; readonly responseId: string; readonly usage: TokenUsage | undefined };

/** Why a model request failed, in the words Codex uses on the wire. */
export class ModelFailure extends Error {
  override readonly name = "ModelFailure";
  readonly info: CodexErrorInfo;
  /** `request`: no answer began; `stream`: it broke off; `never`: asking again would give the same. */
  readonly retry: "request" | "stream" | "never";
  readonly retryAfterMs: number | undefined;
  readonly rateLimits: RateLimits | undefined;

  constructor(
    message: string,
    about: { info?: CodexErrorInfo; retry: ModelFailure["retry"]; retryAfterMs?: number; rateLimits?: RateLimits; cause?: unknown },
  ) {
    super(message, { cause: about.cause });
    this.info = about.info ?? "other";
    this.retry = about.retry;
    this.retryAfterMs = about.retryAfterMs;
    this.rateLimits = about.rateLimits;
  }

  /** The same in other words. */
  reworded(message: string): ModelFailure {
    if (message === this.message) return this;
    const { info, retry, retryAfterMs, rateLimits, cause } = this;
    return new ModelFailure(message, {
      info,
      retry,
      cause,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(rateLimits === undefined ? {} : { rateLimits }),
    });
  }
}
