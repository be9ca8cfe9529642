import type { Fields } from "../../../lib/fields.js";
import type { CodexErrorInfo, ThreadEvent } from "../../../threads/events.js";
import type { RateLimits } from "../../../threads/usage.js";
import { asFields, asNumber, asText, asTexts, nonEmptyText } from "../appServer/read.js";
import type { ThreadMemory } from "./threadMemory.js";
import type { Failure, Translation, TurnState } from "./turnState.js";

const RETRY = /\b(\d+)\/(\d+)\s*$/;

/** An error that will be retried is announced; any other is expected to end the turn. */
export const errorNotice: Translation = ({ error, willRetry }, turn) => {
  const failure = failureOf(asFields(error));
  if (willRetry !== true) {
    turn.failure = failure;
    return [];
  }
  const cause = nonEmptyText(asFields(error)["additionalDetails"]) ?? failure.message;
  const [, attempt, limit] = RETRY.exec(failure.message) ?? [];
  if (attempt === undefined) return failureOnce(failure.message, turn);
  return [{ type: "modelRetry", attempt: Number(attempt), limit: Number(limit), cause }];
};

export const warning: Translation = ({ message }, { memory }) => {
  const text = nonEmptyText(message);
  return text !== undefined && isAboutOurTable(text) ? [] : warningOnce(text, memory);
};

export const configWarning: Translation = ({ summary, details, path }, { memory }) => {
  const place = nonEmptyText(path) === undefined ? undefined : `(${asText(path)})`;
  return warningOnce([summary, details, place].filter(nonEmptyText).join(" "), memory);
};

export const deprecation: Translation = ({ summary, details }, { memory }) => {
  const text = nonEmptyText(summary);
  if (text === undefined || !memory.isNew(text)) return [];
  const more = nonEmptyText(details);
  return [{ type: "deprecation", summary: text, ...(more === undefined ? {} : { details: more }) }];
};

export const modelRerouted: Translation = ({ fromModel, toModel, reason }, { memory }) =>
  warningOnce(`The model ${asText(fromModel)} was replaced by ${asText(toModel)}${inBrackets(reason)}`, memory);

export const worldWritable: Translation = ({ samplePaths }, { memory }) =>
  warningOnce(`Folders that everyone may write are not protected by the sandbox: ${asTexts(samplePaths).join(", ")}`, memory);

export const authRecovery: Translation = ({ provider, message }) =>
  note(nonEmptyText(message) ?? `Renewing the login at ${asText(provider)}`);

export const modelVerification: Translation = () => note("The provider requires a verified account for this model");

export const safetyBuffering: Translation = ({ reasons }) =>
  note(`The answer is held back for a safety check${inBrackets(asTexts(reasons).join(", "))}`);

export const toolProgress: Translation = ({ message }) => noteIfSaid(message);

export const hookCompleted: Translation = ({ run }) => {
  const { eventName, status, statusMessage } = asFields(run);
  return note(`Hook ${asText(eventName)}: ${asText(status)}${inBrackets(statusMessage)}`);
};

export const autoReviewStarted: Translation = () => note("A second model judges whether this may run");

export const autoReviewCompleted: Translation = ({ review }) => note(`The second model's judgement: ${asText(asFields(review)["status"])}`);

export const strictReviewRequired: Translation = () => note("Everything that runs from here on is judged by a second model");

export const oauthCompleted: Translation = ({ name, success, error }: Fields) =>
  note(success === true ? `Logged in to the MCP server ${asText(name)}` : `No login to the MCP server ${asText(name)}${inBrackets(error)}`);

/** Whether the warning is only about `mcp_server`, this server's own table. Codex 0.166 lists the settings that it does not know, one per line. */
function isAboutOurTable(text: string): boolean {
  const [first = "", ...named] = text.trim().split("\n");
  return (
    /unrecognized configuration setting/.test(first) &&
    named.length > 0 &&
    named.every((line) => /`mcp_server(\.[^`]*)?` is ignored/.test(line))
  );
}

/** Without a network the same error is repeated many times; a turn shows consecutive repetitions once. */
function failureOnce(message: string, turn: TurnState): ThreadEvent[] {
  if (turn.lastRetry === message) return [];
  turn.lastRetry = message;
  return [{ type: "warning", message }];
}

function warningOnce(message: string | undefined, memory: ThreadMemory): ThreadEvent[] {
  return message === undefined || message === "" || !memory.isNew(message) ? [] : [{ type: "warning", message }];
}

function note(message: string): ThreadEvent[] {
  return [{ type: "backgroundNote", message }];
}

function noteIfSaid(message: unknown): ThreadEvent[] {
  const said = nonEmptyText(message);
  return said === undefined ? [] : note(said);
}

function inBrackets(text: unknown): string {
  const said = nonEmptyText(text);
  return said === undefined ? "" : ` (${said})`;
}

/** The error of a turn in 0.92.0's wording. */
export function failureOf(error: Fields): Failure {
  // Newer versions use typographic apostrophes in the same sentences.
  const message = (nonEmptyText(error["message"]) ?? "the turn failed").replaceAll("’", "'");
  return { message, info: errorInfo(error["codexErrorInfo"]) };
}

/** Adds what Codex does not say: when a limit resets, and how to log in. */
export function withRemedy({ message, info }: Failure, { memory, settings }: Pick<TurnState, "memory" | "settings">): string {
  if (info === "unauthorized" && settings.provider.requiresOpenaiAuth && !/codex login/.test(message))
    return `${sentence(message)} Run \`codex login\` on the machine of this server.`;
  const resetsAt = info === "usage_limit_exceeded" ? endOfLimit(memory.rateLimits) : undefined;
  if (resetsAt === undefined || /try again at/i.test(message)) return message;
  return `${sentence(message)} The limit resets at ${new Date(resetsAt * 1_000).toISOString()}.`;
}

/** The latest reset of all exhausted windows, in seconds since 1970. */
function endOfLimit({ primary, secondary }: RateLimits): number | undefined {
  const full = [primary, secondary].filter((window) => window !== null && window.used_percent >= 100);
  const ends = full.flatMap((window) => (window?.resets_at ? [window.resets_at] : []));
  return ends.length === 0 ? undefined : Math.max(...ends);
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Kinds unknown to 0.92.0 become `other`. */
function errorInfo(info: unknown): CodexErrorInfo {
  if (typeof info === "string") return PLAIN.get(info) ?? "other";
  const [kind] = Object.keys(asFields(info));
  const name = kind === undefined ? undefined : WITH_STATUS.get(kind);
  if (kind === undefined || name === undefined) return "other";
  return { [name]: { http_status_code: asNumber(asFields(asFields(info)[kind])["httpStatusCode"]) } };
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
