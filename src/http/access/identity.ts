/** Who sends a request. What its scopes allow is for whoever serves it to know; here they are words. */
export interface Identity {
  readonly principal: string;
  readonly scopes: readonly string[];
  /** It is a process that this server has started, or the server itself. */
  readonly inside?: true;
  /** The folders it may work in, where they are its own: real paths, found when its token was read. */
  readonly roots?: readonly string[];
  /** A browser that has logged in shows a cookie for it. */
  readonly byCookie?: true;
}

/** The words for scopes, and who has which of them. */
export interface ScopeWords {
  /** In the order in which they are named to people. */
  readonly all: readonly string[];
  /** What a token is good for whose line says nothing about it, and the most that what this server has started gets. */
  readonly usual: readonly string[];
  /** What the server's own user has without a token. */
  readonly ownUser: readonly string[];
  /** What the scope that an issuer names for managing adds. */
  readonly manage: string;
  /** The word that stands for all of them. */
  readonly operator: string;
}

export type AnswerHeaders = Readonly<Record<string, string>>;

/** A whole answer, ready to be sent. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: string;
}

/** A refusal that has nothing to do with who asks. How it is worded on the wire is decided by whoever serves. */
export interface PlainRefusal {
  readonly status: 400 | 403;
  readonly message: string;
}

/** Who it is, or why nobody is let in. */
export type LoginOutcome = { readonly identity: Identity } | { readonly answer: HttpAnswer } | { readonly refusal: PlainRefusal };

/** What access control says of a request: who sent it, with headers that every answer to it must carry; or the answer, when that is its own. */
export type Admission =
  | { readonly identity: Identity; readonly headers: AnswerHeaders }
  /** A refusal, a preflight or the metadata of OAuth: nothing else may look at the request. */
  | { readonly answer: HttpAnswer };
