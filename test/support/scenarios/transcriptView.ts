import { isDelta, joinDeltas } from "../model/deltas.js";
import { isRecord, valueAt } from "./scenario.js";
import { stabilise } from "./stabilise.js";
import type { Transcript } from "./transcript.js";

type ByName<T> = Readonly<Record<string, T>>;

/** A transcript in the form in which it is compared. */
export interface View {
  /** Responses by request id. */
  readonly answers: ByName<readonly unknown[]>;
  /** Requests to the client, in order. */
  readonly questions: readonly unknown[];
  /** Methods of notifications other than events, in order. */
  readonly notifications: readonly unknown[];
  /** The order of event types, by call. */
  readonly events: ByName<readonly string[]>;
  /** The keys seen in each type of event. */
  readonly fields: ByName<readonly string[]>;
  /** Whole events, by call and type; deltas as the text they make up. */
  readonly contents: ByName<ByName<readonly unknown[]>>;
  /** Requests to the model. */
  readonly requests: readonly unknown[];
  /** Exit code, files in the workspace, processes left. */
  readonly ending: readonly unknown[];
  /** Lines on stdout that are not messages. */
  readonly noise: readonly string[];
}

/** Events whose order varies between runs of the reference itself; the contents show that they exist. */
const UNORDERED_EVENTS = new Set(["mcp_startup_complete", "mcp_startup_update", "deprecation_notice", "token_count"]);

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

interface Event {
  readonly call: string;
  readonly type: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export function viewOf(transcript: Transcript): View {
  const stable = stabilise(transcript);
  const sent = stable.filter((entry) => entry.dir === "out");
  const messages = sent.flatMap((entry) => ("msg" in entry && isRecord(entry.msg) ? [entry.msg as Message] : []));
  const events = messages.flatMap(eventOf);
  const remarks = stable.flatMap((entry) => (entry.dir === "meta" ? [entry.meta] : []));
  return {
    answers: answersById(messages),
    questions: messages.filter(isQuestion).map(({ method, params }) => ({ method, params: withoutFiles(withoutAdditions(params)) })),
    notifications: withoutRepeats(messages.filter(isOtherNotification).map(({ method }) => method)),
    events: mapValues(
      groupBy(events, ({ call }) => call),
      eventOrder,
    ),
    fields: mapValues(
      groupBy(events, ({ type }) => type),
      keysOf,
    ),
    contents: mapValues(
      groupBy(events, ({ call }) => call),
      contentsByType,
    ),
    requests: stable.flatMap((entry) => (entry.dir === "model" && "msg" in entry ? [entry.msg] : [])),
    ending: remarks.filter((remark) => "exit" in remark || "files" in remark || "processesLeft" in remark).map(withoutSpeed),
    noise: sent.flatMap((entry) => ("raw" in entry ? [entry.raw] : [])),
  };
}

function answersById(messages: readonly Message[]): Record<string, unknown[]> {
  const answers = messages.filter((message) => message.method === undefined && "id" in message);
  const grouped = groupBy(answers, ({ id }) => JSON.stringify(id));
  return mapValues(grouped, (own) => own.map(({ result, error }) => (error === undefined ? withoutAdditions(result) : { error })));
}

/** Fields that we may add to a response or question, and texts with our own wording. */
function withoutAdditions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutAdditions);
  if (!isRecord(value)) return value;
  const kept = Object.entries(value).filter(
    ([key]) => !["_meta", "description", "annotations", "logging", "requestedSchema"].includes(key),
  );
  return Object.fromEntries(kept.map(([key, entry]) => [key, withoutAdditions(entry)]));
}

/** Below the sentence of a question about a patch we name its files. */
function withoutFiles(params: unknown): unknown {
  if (!isRecord(params) || params["codex_elicitation"] !== "patch-approval") return params;
  return { ...params, message: String(params["message"]).split("\n")[0] };
}

function isQuestion(message: Message): boolean {
  return message.method !== undefined && "id" in message;
}

function isOtherNotification(message: Message): boolean {
  return message.method !== undefined && !("id" in message) && message.method !== "codex/event";
}

function eventOf(message: Message): Event[] {
  const { method, params } = message;
  const body = valueAt(params, "msg");
  if (method !== "codex/event" || !isRecord(params) || !isRecord(body)) return [];
  const call = JSON.stringify(valueAt(params, "_meta.requestId") ?? null);
  return [{ call, type: String(body["type"]), body: { "params.id": params["id"], ...body } }];
}

/** Event types in order; a run of deltas counts once for each of its types. */
function eventOrder(events: readonly Event[]): string[] {
  const order: string[] = [];
  let stretch = new Set<string>();
  for (const { type } of events) {
    if (UNORDERED_EVENTS.has(type)) continue;
    if (!isDelta(type)) stretch = new Set();
    else if (stretch.has(type)) continue;
    else stretch.add(type);
    order.push(type);
  }
  return order;
}

function keysOf(events: readonly Event[]): string[] {
  return [...new Set(events.flatMap(({ body }) => Object.keys(body)))].sort();
}

function contentsByType(events: readonly Event[]): Record<string, readonly unknown[]> {
  return mapValues(
    groupBy(events, ({ type }) => type),
    (own) => {
      const bodies = own.map(({ body }) => body);
      return own.some(({ type }) => isDelta(type)) ? joinDeltas(bodies) : bodies;
    },
  );
}

function withoutSpeed(remark: object): unknown {
  if (!("exit" in remark) || !isRecord(remark.exit)) return remark;
  return { exit: { code: remark.exit["code"], signal: remark.exit["signal"] } };
}

function withoutRepeats(values: readonly unknown[]): unknown[] {
  return values.filter((value, at) => value !== values[at - 1]);
}

function groupBy<T>(values: readonly T[], keyOf: (value: T) => string): Record<string, T[]> {
  const groups: Record<string, T[]> = {};
  for (const value of values) {
    const key = keyOf(value);
    groups[key] ??= [];
    groups[key].push(value);
  }
  return groups;
}

function mapValues<T, U>(record: Readonly<Record<string, T>>, map: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
