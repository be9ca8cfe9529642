import type { Caller, Scope } from "../../agent/caller.js";

/** Somebody the gate has let in. */
export type Visitor = Omit<Caller, "sessionId">;

/** What a token is good for whose line says nothing about it. */
export const USUAL_SCOPES: readonly Scope[] = ["call", "read"];

export type AnswerHeaders = Readonly<Record<string, string>>;

/** A whole answer, ready to be sent. */
export interface Answer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: string;
}

/** What the gate says of a request: who sent it, with headers that every answer to it must carry; or the answer, when that is the gate's own. */
export type Admission =
  | { readonly visitor: Visitor; readonly headers: AnswerHeaders }
  /** A refusal, a preflight or the metadata of OAuth: nothing else may look at the request. */
  | { readonly answer: Answer };
