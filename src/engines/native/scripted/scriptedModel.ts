import { assertNever } from "../../../lib/assertNever.js";
import { currentLine, type Part, playDirective, type Reply, type TokenCounts } from "./directives.js";
import { type OfferedTool, type OutputItem, offeredTools, type ScriptInputItem } from "./scriptedCalls.js";

/** The fields of a Responses API request that the scripted model reads. */
export interface ScriptRequest {
  readonly model: string;
  readonly input: readonly ScriptInputItem[];
  readonly tools?: readonly OfferedTool[];
}

/** How a Responses API server would respond: a delay, then either an error status with a body, or a stream of events and its ending. */
export interface ScriptedAnswer {
  readonly delayMs: number;
  /** Delay between two text deltas. */
  readonly gapMs: number;
  readonly status: number;
  /** Only with a status other than 200. */
  readonly body?: string;
  readonly events: readonly ResponseStreamEvent[];
  /** `cut`: the connection breaks off after the events; `hang`: it stays open and nothing more comes. */
  readonly ending: "end" | "cut" | "hang";
  /** Delay before a failure or cut that follows some content: readers have processed the content by then. */
  readonly pauseMs?: number;
}

const PAUSE_MS = 300;

/**
 * A model that takes its responses from the prompt: each line of the newest user message that starts with a directive (`!say hello`, `!plan
 * a|b`, `!status 500`, …) is one response. Ids count up from 1 for as long as the instance lives.
 */
export class ScriptedModel {
  #lastId = 0;

  answer(request: ScriptRequest): ScriptedAnswer {
    const newId = (prefix: string) => `${prefix}_${++this.#lastId}`;
    const { line, think, delayMs } = currentLine(request.input);
    const reply = playDirective(line, { tools: offeredTools(request), newId });
    const gapMs = reply.kind === "text" ? (reply.gapMs ?? 0) : 0;
    if (reply.kind === "status") return { delayMs, gapMs, status: reply.status, body: reply.body, events: [], ending: "end" };
    const events = replyEvents(reply, { model: request.model, think, newId });
    return { delayMs, gapMs, status: 200, events, ...endOf(reply) };
  }
}

function endOf(reply: Reply): Pick<ScriptedAnswer, "ending" | "pauseMs"> {
  if (reply.kind === "cut" || reply.kind === "hang") return { ending: reply.kind };
  if (reply.kind !== "parts" || reply.breaksOff === undefined) return { ending: "end" };
  return { ending: reply.breaksOff === "cut" ? "cut" : "end", pauseMs: PAUSE_MS };
}

/** One event of a Responses API stream: `type` plus that type's fields, numbered within its stream. */
export type ResponseStreamEvent = { readonly type: string; readonly sequence_number: number } & Readonly<Record<string, unknown>>;

interface StreamContext {
  readonly model: string;
  readonly think: string | undefined;
  readonly newId: (prefix: string) => string;
}

function usageOf({ input, output }: TokenCounts = { input: 10, output: 5 }) {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
}

/** The events that a provider would stream for this reply, up to the point where it ends, breaks off or hangs. */
function replyEvents(reply: Exclude<Reply, { kind: "status" }>, context: StreamContext): readonly ResponseStreamEvent[] {
  const stream = new EventList();
  const response = {
    id: context.newId("resp"),
    object: "response",
    created_at: 1,
    model: context.model,
    status: "in_progress",
    output: [],
  };
  stream.add("response.created", { response });
  switch (reply.kind) {
    case "cut":
    case "hang":
      return stream.events;
    case "failed": {
      const error = { code: reply.code, message: reply.message };
      stream.add("response.failed", { response: { ...response, status: "failed", error } });
      return stream.events;
    }
    case "incomplete": {
      const incomplete_details = { reason: reply.reason };
      stream.add("response.incomplete", { response: { ...response, status: "incomplete", incomplete_details } });
      return stream.events;
    }
    case "parts": {
      const output = reply.parts.flatMap((part, at) => addPart(stream, part, { at, newId: context.newId }) ?? []);
      if (reply.breaksOff === "fail") {
        const error = { code: "server_error", message: "the scripted model gave up" };
        stream.add("response.failed", { response: { ...response, status: "failed", error } });
      } else if (reply.breaksOff === undefined) {
        stream.add("response.completed", { response: { ...response, status: "completed", output, usage: usageOf(reply.tokens) } });
      }
      return stream.events;
    }
    case "text":
    case "items": {
      const output: OutputItem[] = [];
      if (context.think !== undefined) output.push(addReasoning(stream, context.newId("rs"), context.think));
      if (reply.kind === "text") output.push(addMessage(stream, { id: context.newId("msg"), at: output.length }, reply.deltas));
      else for (const item of reply.items) output.push(addItem(stream, { id: context.newId("fc"), at: output.length }, item));
      stream.add("response.completed", { response: { ...response, status: "completed", output, usage: usageOf() } });
      return stream.events;
    }
    default:
      return assertNever(reply);
  }
}

/** Numbers events in the order they are added. */
class EventList {
  readonly events: ResponseStreamEvent[] = [];

  add(type: string, fields: Readonly<Record<string, unknown>>): void {
    this.events.push({ type, sequence_number: this.events.length, ...fields });
  }
}

interface Place {
  readonly id: string;
  /** The item's index in the response's output. */
  readonly at: number;
}

/** Undefined for a message that is not completed. */
function addPart(
  stream: EventList,
  part: Part,
  { at, newId }: { readonly at: number; readonly newId: StreamContext["newId"] },
): OutputItem | undefined {
  if ("item" in part) return addItem(stream, { id: newId("fc"), at }, part.item);
  if ("reasoning" in part) return addRawReasoning(stream, { id: newId("rs"), at }, part.reasoning);
  const place = { id: newId("msg"), at };
  const deltas = part.text.match(/\S+\s*/g) ?? [part.text];
  if (!part.isCut) return addMessage(stream, place, deltas);
  beginMessage(stream, place, deltas);
  return undefined;
}

/** Raw reasoning, as open models stream it. */
function addRawReasoning(stream: EventList, { id, at }: Place, text: string): OutputItem {
  const item = { type: "reasoning", id, summary: [], content: [] };
  stream.add("response.output_item.added", { output_index: at, item });
  const where = { output_index: at, content_index: 0, item_id: id };
  for (const delta of text.match(/\S+\s*/g) ?? []) stream.add("response.reasoning_text.delta", { ...where, delta });
  const done = { ...item, content: [{ type: "reasoning_text", text }], encrypted_content: "opaque" };
  stream.add("response.output_item.done", { output_index: at, item: done });
  return done;
}

function addReasoning(stream: EventList, id: string, summary: string): OutputItem {
  const item = { type: "reasoning", id, summary: [] };
  const where = { output_index: 0, summary_index: 0, item_id: id };
  stream.add("response.output_item.added", { output_index: 0, item });
  stream.add("response.reasoning_summary_part.added", { ...where, part: { type: "summary_text", text: "" } });
  for (const delta of summary.match(/\S+\s*/g) ?? []) stream.add("response.reasoning_summary_text.delta", { ...where, delta });
  stream.add("response.reasoning_summary_text.done", { ...where, text: summary });
  const done = { ...item, summary: [{ type: "summary_text", text: summary }], encrypted_content: "opaque" };
  stream.add("response.output_item.done", { output_index: 0, item: done });
  return done;
}

function beginMessage(stream: EventList, { id, at }: Place, deltas: readonly string[]) {
  const item = { type: "message", id, role: "assistant", status: "in_progress", content: [] };
  const where = { output_index: at, content_index: 0, item_id: id };
  stream.add("response.output_item.added", { output_index: at, item });
  stream.add("response.content_part.added", { ...where, part: { type: "output_text", text: "", annotations: [] } });
  for (const delta of deltas) stream.add("response.output_text.delta", { ...where, delta });
  return { item, where };
}

function addMessage(stream: EventList, place: Place, deltas: readonly string[]): OutputItem {
  const { item, where } = beginMessage(stream, place, deltas);
  const { at } = place;
  const text = deltas.join("");
  stream.add("response.output_text.done", { ...where, text });
  const done = { ...item, status: "completed", content: [{ type: "output_text", text, annotations: [] }] };
  stream.add("response.output_item.done", { output_index: at, item: done });
  return done;
}

function addItem(stream: EventList, { id, at }: Place, item: OutputItem): OutputItem {
  const full = { id, status: "completed", ...item };
  stream.add("response.output_item.added", { output_index: at, item: full });
  stream.add("response.output_item.done", { output_index: at, item: full });
  return full;
}
