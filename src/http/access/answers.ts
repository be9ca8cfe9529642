import type { AnswerHeaders, HttpAnswer, LoginOutcome } from "./identity.js";

export function jsonAnswer(status: number, body: object, headers: AnswerHeaders = {}): HttpAnswer {
  return jsonTextAnswer(status, JSON.stringify(body), headers);
}

export function jsonTextAnswer(status: number, body: string, headers: AnswerHeaders = {}): HttpAnswer {
  return { status, headers: { "content-type": "application/json", "cache-control": "no-store", ...headers }, body };
}

export interface LoginRefusal {
  readonly status: 400 | 401 | 403 | 429 | 503;
  readonly error: "invalid_request" | "invalid_token" | "insufficient_scope" | "too_many_requests" | "temporarily_unavailable";
  readonly description: string;
  readonly headers?: AnswerHeaders;
}

/** A refusal in OAuth's error format, which clients read whether or not an issuer provides the tokens. */
export function refuseLogin({ status, error, description, headers }: LoginRefusal): HttpAnswer {
  return jsonAnswer(status, { error, error_description: description }, headers);
}

export function forbidden(message: string): LoginOutcome {
  return { refusal: { status: 403, message } };
}
