import type { Fields } from "../../../lib/fields.js";
import type { CodexErrorInfo } from "../../../threads/events.js";
import { fieldsOf, numberOf, saidText } from "./read.js";
import type { Failure } from "./turnState.js";

/** The error of a turn, as 0.92.0 told it. */
export function failureOf(error: Fields): Failure {
  // Newer versions write the same sentences with typographic apostrophes.
  const message = (saidText(error["message"]) ?? "the turn failed").replaceAll("’", "'");
  return { message, info: errorInfo(error["codexErrorInfo"]) };
}

/** Kinds that 0.92.0 did not have are `other`. */
export function errorInfo(info: unknown): CodexErrorInfo {
  if (typeof info === "string") return PLAIN.get(info) ?? "other";
  const [kind] = Object.keys(fieldsOf(info));
  const name = kind === undefined ? undefined : WITH_STATUS.get(kind);
  if (kind === undefined || name === undefined) return "other";
  return { [name]: { http_status_code: numberOf(fieldsOf(fieldsOf(info)[kind])["httpStatusCode"]) } };
}

const PLAIN: ReadonlyMap<string, CodexErrorInfo> = new Map<string, CodexErrorInfo>([
  ["contextWindowExceeded", "context_window_exceeded"],
  ["usageLimitExceeded", "usage_limit_exceeded"],
  ["internalServerError", "internal_server_error"],
  ["unauthorized", "unauthorized"],
  ["badRequest", "bad_request"],
  ["sandboxError", "sandbox_error"],
]);

type WithStatus = Extract<keyof Exclude<CodexErrorInfo, string>, string>;

const WITH_STATUS: ReadonlyMap<string, WithStatus> = new Map<string, WithStatus>([
  ["httpConnectionFailed", "http_connection_failed"],
  ["responseStreamConnectionFailed", "response_stream_connection_failed"],
  ["responseStreamDisconnected", "response_stream_disconnected"],
  ["responseTooManyFailedAttempts", "response_too_many_failed_attempts"],
]);
