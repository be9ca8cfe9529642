import { randomUUID } from "node:crypto";
import { isFields, parseForeignJson } from "../lib/fields.js";
import { RPC, RpcError } from "./errors.js";

/** A string or an integer, including integers beyond the safe range of a number. The response repeats type and value. */
export type RequestId = string | number | bigint;

export interface RequestMessage {
  readonly kind: "request";
  readonly id: RequestId;
  readonly method: string;
  readonly params: unknown;
}

export interface NotificationMessage {
  readonly kind: "notification";
  readonly method: string;
  readonly params: unknown;
}

export interface ResponseMessage {
  readonly kind: "response";
  readonly id: RequestId;
  readonly outcome: { readonly result: unknown } | { readonly error: RpcError };
}

/** Text that is not a message. `answer` is the response to the sender, if one is possible; `reason` is for the log. */
export interface UnreadableMessage {
  readonly kind: "unreadable";
  readonly problem: "not-json" | "not-a-message";
  readonly reason: string;
  readonly answer?: { readonly id: RequestId | null; readonly error: RpcError };
}

export type Message = RequestMessage | NotificationMessage | ResponseMessage | UnreadableMessage;

/** Parses one frame into one message or the entries of a batch. Never throws. */
export function parseMessage(text: string): Message | readonly Message[] {
  let value: unknown;
  try {
    value = parseJson(withoutByteOrderMark(text));
  } catch {
    return notJson(text);
  }
  if (!Array.isArray(value)) return readMessage(value);
  return value.length > LONGEST_BATCH ? longBatch(value.length) : value.map(readMessage);
}

/** More messages than a session may have in flight. */
const LONGEST_BATCH = 1_000;

function longBatch(length: number): UnreadableMessage {
  const reason = `a batch of ${length} messages; ${LONGEST_BATCH} are the limit`;
  const error = new RpcError(RPC.invalidRequest, `Invalid request: ${reason}`);
  return { kind: "unreadable", problem: "not-a-message", reason, answer: { id: null, error } };
}

/** Some shells put a byte order mark at the start of a pipe. */
function withoutByteOrderMark(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

// Only text that looks like JSON gets a response. Other text (a stray print, an HTTP header) does not come from a JSON-RPC sender.
function notJson(text: string): UnreadableMessage {
  const reason = `${text.length} characters that are not JSON`;
  if (!/^\s*[{[]/.test(text)) return { kind: "unreadable", problem: "not-json", reason };
  return {
    kind: "unreadable",
    problem: "not-json",
    reason,
    answer: { id: null, error: new RpcError(RPC.parseError, "Parse error: the line is not valid JSON") },
  };
}

function readMessage(value: unknown): Message {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { kind: "unreadable", problem: "not-a-message", reason: "not a JSON object" };
  const { id, method, params } = value as Record<string, unknown>;
  if (typeof method === "string") {
    if (id === undefined) return { kind: "notification", method, params };
    if (isRequestId(id)) return { kind: "request", id, method, params };
    const why = typeof id === "string" ? `has more than ${LONGEST_ID} characters` : "is neither a string nor an integer";
    return { kind: "unreadable", problem: "not-a-message", reason: `the id of \`${method}\` ${why}` };
  }
  if (!isRequestId(id)) return { kind: "unreadable", problem: "not-a-message", reason: "neither a request, a notification nor a response" };
  if ("error" in value) return { kind: "response", id, outcome: { error: readError(value.error) } };
  if ("result" in value) return { kind: "response", id, outcome: { result: value.result } };
  return {
    kind: "unreadable",
    problem: "not-a-message",
    reason: "no method",
    answer: { id, error: new RpcError(RPC.invalidRequest, "Invalid request: `method` must be a string") },
  };
}

/** Also of progress tokens. Everything that is sent about a request repeats it. */
const LONGEST_ID = 4_096;

export function isRequestId(value: unknown): value is RequestId {
  if (typeof value === "string") return value.length <= LONGEST_ID;
  return typeof value === "bigint" || Number.isInteger(value);
}

function readError(value: unknown): RpcError {
  const { code, message, data } = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  return new RpcError(
    typeof code === "number" ? code : RPC.internalError,
    typeof message === "string" ? message : "unreadable error",
    data,
  );
}

// Key order is Codex 0.92.0's, so that simple responses are equal byte for byte.

export function resultText(id: RequestId, result: unknown): string {
  const text = result instanceof JsonText ? result.text : jsonText(result);
  return `{"id":${jsonText(id)},"jsonrpc":"2.0","result":${text}}`;
}

/** A constant result, serialised once. */
export class JsonText {
  readonly text: string;

  constructor(value: unknown) {
    this.text = JSON.stringify(value);
  }
}

export function errorText(id: RequestId | null, { code, message, extra }: RpcError): string {
  return jsonText({ error: { code, message, ...(extra === undefined ? {} : { data: extra }) }, id, jsonrpc: "2.0" });
}

export function requestText(id: RequestId, method: string, params: unknown): string {
  return jsonText({ id, jsonrpc: "2.0", method, params });
}

export function notificationText(method: string, params: unknown): string {
  return jsonText({ jsonrpc: "2.0", method, params });
}

/**
 * `JSON.parse` for messages. An integer beyond the safe range becomes a bigint where it identifies a request: ids are sent back, and the
 * sender would not recognise a rounded one. Everything else is as with `parseForeignJson`.
 */
export function parseJson(text: string): unknown {
  const value = parseForeignJson(text);
  if (!(Array.isArray(value) ? value.some(hasRoundedId) : hasRoundedId(value))) return value;
  const exact = parseForeignJson(withLongIntegersAsText(text));
  return Array.isArray(value)
    ? value.map((message, at) => withExactIds(message, Array.isArray(exact) ? exact[at] : undefined))
    : withExactIds(value, exact);
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const PART_OF_NUMBER = /[\d.eE+-]/;
/** Such an integer may exceed the safe range of a number. */
const LONG_INTEGER = /^-?\d{16,}$/;

/**
 * Valid JSON with long integers as strings. Read in one pass: a caller's number may have millions of digits, and a pattern would try each of them
 * as the beginning of another one.
 */
function withLongIntegersAsText(json: string): string {
  const parts: string[] = [];
  let taken = 0;
  for (let at = 0; at < json.length; ) {
    const begin = at;
    if (json.charCodeAt(at) === QUOTE) at = endOfString(json, at);
    else if (PART_OF_NUMBER.test(json.charAt(at))) {
      while (PART_OF_NUMBER.test(json.charAt(at))) at++;
      const number = json.slice(begin, at);
      if (!LONG_INTEGER.test(number)) continue;
      parts.push(json.slice(taken, begin), `"${number}"`);
      taken = at;
    } else at++;
  }
  return parts.join("") + json.slice(taken);
}

function endOfString(json: string, begin: number): number {
  let at = begin + 1;
  for (let code = json.charCodeAt(at); code !== QUOTE && at < json.length; code = json.charCodeAt(at)) at += code === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** `JSON.stringify` that writes a bigint as an integer. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch (error) {
    // `JSON.stringify` throws this for a bigint. Trying it first keeps all other messages fast.
    if (!(error instanceof TypeError)) throw error;
    return textWithBigIntegers(value);
  }
}

/** A message can contain a request id in three places: its own id, the id it cancels, and its progress token. */
function hasRoundedId(message: unknown): boolean {
  if (!isFields(message)) return false;
  const { id, params } = message;
  if (isRounded(id)) return true;
  if (!isFields(params)) return false;
  const { requestId, _meta } = params;
  return isRounded(requestId) || (isFields(_meta) && isRounded(_meta["progressToken"]));
}

function isRounded(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** `exact` is the same message with its long integers as strings. */
function withExactIds(message: unknown, exact: unknown): unknown {
  if (!hasRoundedId(message) || !isFields(message) || !isFields(exact)) return message;
  return {
    ...withExact(message, exact, "id"),
    ...("params" in message && { params: paramsWithExactIds(message["params"], exact["params"]) }),
  };
}

function paramsWithExactIds(params: unknown, exact: unknown): unknown {
  if (!isFields(params) || !isFields(exact)) return params;
  const { _meta } = params;
  const meta = isFields(_meta) && isFields(exact["_meta"]) ? { _meta: withExact(_meta, exact["_meta"], "progressToken") } : {};
  return { ...withExact(params, exact, "requestId"), ...meta };
}

function withExact(fields: Readonly<Record<string, unknown>>, exact: Readonly<Record<string, unknown>>, name: string) {
  const digits = exact[name];
  const isInexact = isRounded(fields[name]) && typeof digits === "string" && digits !== String(fields[name]);
  return isInexact ? { ...fields, [name]: BigInt(digits) } : fields;
}

function textWithBigIntegers(value: unknown): string {
  // A random mark, so that no text in the value can contain it.
  const mark = randomUUID();
  const text = JSON.stringify(value, (_, held: unknown) => (typeof held === "bigint" ? `${mark}${held}` : held));
  return text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
}
