/** The sender of a request. The served protocol defines what its scopes allow; here they are only strings. */
export interface Identity {
  readonly principal: string;
  readonly scopes: readonly string[];
  /** The sender is a process that this server started, or the server itself. */
  readonly inside?: true;
  /** The folders that the sender's token allows, where the token names any: real paths, resolved when the token was read. */
  readonly roots?: readonly string[];
  /** The sender is a logged-in browser that sent a cookie. */
  readonly byCookie?: true;
}

/** The names of the scopes, and the defaults. */
export interface ScopeWords {
  /** In the order in which they are shown. */
  readonly all: readonly string[];
  /** The scopes of a token whose line names none, and the most that a process started by this server gets. */
  readonly usual: readonly string[];
  /** The scopes of the server's own user without a token. */
  readonly ownUser: readonly string[];
  /** The scope that an issuer's manage scope adds. */
  readonly manage: string;
  /** The scope that includes all others. */
  readonly operator: string;
}

export type AnswerHeaders = Readonly<Record<string, string>>;

/** A complete HTTP response. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: string;
}

/** A refusal that does not depend on the sender. The server decides its wire format. */
export interface PlainRefusal {
  readonly status: 400 | 403;
  readonly message: string;
}

/** The sender's identity, or the refusal. */
export type LoginOutcome = { readonly identity: Identity } | { readonly answer: HttpAnswer } | { readonly refusal: PlainRefusal };

/** The decision of access control: the sender with headers that every response must carry, or access control's own response. */
export type Admission =
  | { readonly identity: Identity; readonly headers: AnswerHeaders }
  /** A refusal, a preflight or the OAuth metadata: no handler gets the request. */
  | { readonly answer: HttpAnswer };
