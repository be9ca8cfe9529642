import { resultAsText, type TruncationPolicy, truncateMiddle } from "../../../exec/output.js";
import { type Fields, isFields } from "../../../lib/fields.js";
import { type Item, type RawItem, rawReasoning } from "../../../threads/items.js";

/** A tool call, whichever kind of item carries it. */
export interface ToolCall {
  readonly callId: string;
  readonly name: string;
  readonly args: string;
  readonly outputType: "function_call_output" | "custom_tool_call_output";
}

/** The shown item for a raw one; undefined for calls and for kinds that are not shown as items. */
export function shownItem(raw: RawItem, { showRawReasoning }: { readonly showRawReasoning: boolean }): Item | undefined {
  const id = typeof raw["id"] === "string" ? raw["id"] : "";
  switch (raw.type) {
    case "message":
      return raw["role"] === "assistant" ? { kind: "agentMessage", id, texts: saidIn(raw["content"]) } : undefined;
    case "reasoning":
      return {
        kind: "reasoning",
        id,
        summary: partTexts(raw["summary"], "summary_text"),
        rawContent: partTexts(raw["content"], "reasoning_text", "text"),
        ...(showRawReasoning && { rawShown: true }),
      };
    case "web_search_call": {
      const action = isFields(raw["action"]) ? raw["action"] : { type: "other" };
      return { kind: "webSearch", id, query: queryOf(action), action };
    }
    default:
      return undefined;
  }
}

/** The call in a raw item, if it is one. */
export function toolCallOf(raw: RawItem): ToolCall | undefined {
  const callId = stringOf(raw["call_id"]);
  switch (raw.type) {
    case "function_call":
      return { callId, name: stringOf(raw["name"]), args: stringOf(raw["arguments"]), outputType: "function_call_output" };
    case "custom_tool_call":
      return { callId, name: stringOf(raw["name"]), args: stringOf(raw["input"]), outputType: "custom_tool_call_output" };
    case "local_shell_call":
      return {
        callId: callId || stringOf(raw["id"]),
        name: "local_shell",
        args: JSON.stringify(shellArguments(raw["action"])),
        outputType: "function_call_output",
      };
    default:
      return undefined;
  }
}

/** The action of a `local_shell_call` as arguments of the shell tool. */
function shellArguments(action: unknown): Fields {
  if (!isFields(action)) return {};
  const { working_directory: workdir, ...rest } = action;
  return typeof workdir === "string" ? { ...rest, workdir } : rest;
}

/** The fields that Codex adds to the action of a `local_shell_call` where the model left them out. */
const ABSENT_IN_ACTION = { timeout_ms: null, working_directory: null, env: null, user: null };

/** An item as stored and shown: with the fields that Codex fills in. */
export function filledIn(raw: RawItem): RawItem {
  const { action } = raw;
  if (raw.type !== "local_shell_call" || !isFields(action)) return raw;
  // The output refers to the call by this id; the item is sent back without its own id.
  return {
    ...raw,
    call_id: raw["call_id"] ?? raw["id"],
    action: { type: action["type"], command: action["command"], ...ABSENT_IN_ACTION, ...action },
  };
}

/** The calls that have no output yet. */
export function unansweredCalls(items: readonly RawItem[]): ToolCall[] {
  const open = new Map<string, ToolCall>();
  for (const item of items) {
    const call = toolCallOf(item);
    if (call) open.set(call.callId, call);
    else if (item.type.endsWith("_call_output")) open.delete(stringOf(item["call_id"]));
  }
  return [...open.values()];
}

export function toolOutput(call: ToolCall, output: string | readonly Fields[]): RawItem {
  return { type: call.outputType, call_id: call.callId, output };
}

/** The text of a message. A refusal counts as text too. */
function saidIn(content: unknown): string[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap((part: unknown) =>
    isFields(part) && part["type"] === "refusal" ? stringOf(part["refusal"]) : partTexts([part], "output_text"),
  );
}

export function partTexts(parts: unknown, ...types: string[]): string[] {
  if (!Array.isArray(parts)) return [];
  return parts.flatMap((part: unknown) =>
    isFields(part) && types.includes(String(part["type"])) && typeof part["text"] === "string" ? [part["text"]] : [],
  );
}

function queryOf(action: Fields): string {
  const [url, pattern] = [stringOf(action["url"]), stringOf(action["pattern"])];
  if (action["type"] === "find_in_page" && pattern) return url ? `'${pattern}' in ${url}` : `'${pattern}'`;
  return stringOf(action["query"]) || stringOf(action["url"]) || stringOf(action["pattern"]);
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/**
 * The conversation as the model sees it, kept as the JSON text of the request's `input`: a turn on a long thread appends to it instead of
 * serialising everything again.
 */
export class History {
  readonly #recorded: RecordedRequests | undefined;
  /** Calls whose results are to be rewritten. */
  readonly #resultsOf = new Set<string>();
  #text = "";

  constructor(items: readonly RawItem[], recorded?: RecordedRequests) {
    this.#recorded = recorded;
    this.append(items);
  }

  append(items: readonly RawItem[]): void {
    for (const item of items) {
      if (this.#recorded && isKeptBack(item)) continue;
      const text = JSON.stringify(this.#recorded ? this.#asRecorded(item, this.#recorded) : asSent(item));
      this.#text += this.#text === "" ? text : `,${text}`;
    }
  }

  #asRecorded(item: RawItem, { truncation, readsText }: RecordedRequests): RawItem {
    const sent = asRecorded(asSent(item), truncation);
    if (!readsText) return sent;
    const callId = String(item["call_id"]);
    if (givesResult(item)) this.#resultsOf.add(callId);
    const { output } = sent;
    return typeof output === "string" && this.#resultsOf.delete(callId) ? { ...sent, output: resultAsText(output) ?? output } : sent;
  }

  replace(items: readonly RawItem[]): void {
    this.#text = "";
    this.#resultsOf.clear();
    this.append(items);
  }

  /** The items, separated by commas. */
  get inputText(): string {
    return this.#text;
  }

  items(): RawItem[] {
    // We wrote every part of it from a RawItem.
    return JSON.parse(`[${this.#text}]`) as RawItem[];
  }
}

const SENT_WITHOUT_ID = new Set(["message", "reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call"]);

/** Nothing is stored at the provider, so an id would name something it does not have. Unknown kinds are sent unchanged. */
function asSent(item: RawItem): RawItem {
  if (!SENT_WITHOUT_ID.has(item.type)) return item;
  const { id: _, ...sent } = item;
  return sent;
}

/** How Codex 0.92.0 sent items back. */
export interface RecordedRequests {
  /** How much of an output one request contains. */
  readonly truncation: TruncationPolicy;
  /** The model has the freeform patch tool, and reads the results of commands and patches as text. */
  readonly readsText: boolean;
}

/** Outputs were measured again with their framing, with a fifth more allowed. */
const ALLOWANCE = 1.2;

/** Codex 0.92.0 showed these and did not send them back: providers refuse kinds that they do not know. */
function isKeptBack({ type, role }: RawItem): boolean {
  return type === "other" || type === "ghost_snapshot" || (type === "message" && role === "system");
}

/** Codex 0.92.0 rewrote the results of these calls only; `shell_command` gives text, except for a patch. */
const GIVES_RESULT: Readonly<Record<string, readonly string[]>> = {
  function_call: ["shell", "container.exec", "apply_patch"],
  custom_tool_call: ["apply_patch"],
};

function givesResult({ type, name }: RawItem): boolean {
  return type === "local_shell_call" || (GIVES_RESULT[type]?.includes(String(name)) ?? false);
}

function asRecorded(item: RawItem, truncation: TruncationPolicy): RawItem {
  switch (item.type) {
    case "message":
      return { type: "message", role: item["role"], content: knownParts(item["content"]) };
    case "reasoning":
      return {
        type: "reasoning",
        summary: item["summary"],
        ...rawReasoning(item),
        encrypted_content: item["encrypted_content"] ?? null,
      };
    case "function_call":
      return { type: "function_call", name: item["name"], arguments: item["arguments"], call_id: item["call_id"] };
    case "function_call_output":
    case "custom_tool_call_output": {
      const { output } = item;
      if (typeof output !== "string") return item;
      return { ...item, output: truncateMiddle(output, { ...truncation, limit: Math.ceil(truncation.limit * ALLOWANCE) }) };
    }
    default:
      return item;
  }
}

function knownParts(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content.map((part: unknown) => (isFields(part) && "text" in part ? { type: part["type"], text: part["text"] } : part));
}

export function message(role: "user" | "developer", text: string, images: readonly string[] = []): RawItem {
  return {
    type: "message",
    role,
    content: [{ type: "input_text", text }, ...images.map((image_url) => ({ type: "input_image", image_url }))],
  };
}
