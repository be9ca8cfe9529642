import type { Answer, AnswerHeaders } from "./admission.js";

/** The specification leaves this code to servers. */
const NOT_SERVED = -32_000;

export function jsonAnswer(status: number, body: object, headers: AnswerHeaders = {}): Answer {
  return { status, headers: { "content-type": "application/json", "cache-control": "no-store", ...headers }, body: JSON.stringify(body) };
}

/** A refusal that has nothing to do with who asks. */
export function refuseRequest(status: 400 | 403, message: string): Answer {
  return jsonAnswer(status, { jsonrpc: "2.0", id: null, error: { code: NOT_SERVED, message } });
}

export interface LoginRefusal {
  readonly status: 400 | 401 | 403 | 429 | 503;
  readonly error: "invalid_request" | "invalid_token" | "insufficient_scope" | "too_many_requests" | "temporarily_unavailable";
  readonly description: string;
  readonly headers?: AnswerHeaders;
}

/** A refusal in the form of OAuth, which clients read whether or not tokens come from an issuer. */
export function refuseLogin({ status, error, description, headers }: LoginRefusal): Answer {
  return jsonAnswer(status, { error, error_description: description }, headers);
}

export function withHeaders(answer: Answer, headers: AnswerHeaders): Answer {
  return { ...answer, headers: { ...headers, ...answer.headers } };
}
