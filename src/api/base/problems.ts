import { AppError, describe } from "../../lib/errors.js";
import type { Problem, Settlement } from "../schemas/common.js";

/** The HTTP status for the agent's error codes. Any other code means a valid request that cannot be performed: 422. */
const STATUS: Readonly<Record<string, number>> = {
  invalid_request: 400,
  invalid_arguments: 400,
  invalid_uuid: 400,
  invalid_cursor: 400,
  not_authenticated: 401,
  scope_missing: 403,
  inside_turn: 403,
  above_ceiling: 403,
  foreign_origin: 403,
  login_refused: 403,
  thread_not_found: 404,
  turn_not_found: 404,
  item_not_found: 404,
  file_not_found: 404,
  approval_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  thread_in_use: 409,
  thread_busy_elsewhere: 409,
  nothing_to_steer: 409,
  nothing_to_stop: 409,
  question_settled: 409,
  server_busy: 429,
  too_many_queued_turns: 429,
  too_many_threads: 429,
  not_offered: 501,
  storage_failed: 503,
  call_cancelled: 503,
  took_too_long: 504,
};
const OTHER_STATUS = 422;

const TITLES: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  409: "Conflict",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  500: "Internal Server Error",
  501: "Not Implemented",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

/** An API error that does not come from the agent. */
export class ApiProblem extends AppError {
  readonly code: keyof typeof STATUS;
  readonly more: Pick<Problem, "errors" | "settlement">;

  constructor(
    code: "invalid_request" | "turn_not_found" | "item_not_found" | "approval_not_found" | "not_found" | "login_refused" | "not_offered",
    message: string,
    more: Pick<Problem, "errors"> = {},
  ) {
    super(message);
    this.code = code;
    this.more = more;
  }
}

/** The question was already answered. */
export class AnsweredBefore extends AppError {
  readonly code = "question_settled";
  readonly settlement: Settlement | undefined;

  constructor(message: string, settlement: Settlement | undefined) {
    super(message);
    this.settlement = settlement;
  }
}

export function problemOf(error: AppError): Problem {
  const status = STATUS[error.code] ?? OTHER_STATUS;
  return {
    ...problem(status, error.code, describe(error)),
    ...(error.advice !== undefined && { advice: error.advice }),
    ...(error instanceof ApiProblem && error.more),
    ...(error instanceof AnsweredBefore && error.settlement && { settlement: error.settlement }),
  };
}

export function problem(status: number, code: string, detail: string): Problem {
  return { type: "about:blank", title: TITLES[status] ?? "Error", status, detail, code };
}
