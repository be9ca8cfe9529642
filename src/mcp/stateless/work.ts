import type { RpcError } from "../../jsonrpc/errors.js";
import type { Fields } from "../../lib/fields.js";

/** How something stands that goes on by itself while its client is elsewhere. */
export type WorkState =
  | { readonly at: "working"; readonly message: string }
  /** It waits for its client. The requests go by keys that are never used again. */
  | { readonly at: "asking"; readonly message: string; readonly requests: Fields }
  | { readonly at: "ended"; readonly end: WorkEnd };

export type WorkEnd =
  | { readonly how: "answered"; readonly result: Fields }
  | { readonly how: "failed"; readonly error: RpcError }
  /** Its client wanted it no longer; the result says so. */
  | { readonly how: "cancelled"; readonly result: Fields };

/** What a task is about. */
export interface Work {
  readonly state: WorkState;
  /** Settles with its end. Never rejects. */
  readonly ended: Promise<WorkEnd>;
  /** Calls back whenever the state is another, until what it returns is called. */
  watch(changed: () => void): () => void;
  /** Takes answers by key. One that nobody waits for decides nothing. */
  answer(responses: Fields): void;
  cancel(): void;
}

/** For what comes from a client. Throws the end's error, if it is one. */
export function resultOf(end: WorkEnd): Fields {
  if (end.how === "failed") throw end.error;
  return end.result;
}
