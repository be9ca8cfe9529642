import type { Fields } from "../../../lib/fields.js";
import type { CodexErrorInfo, ReviewTarget, ThreadEvent } from "../../../threads/events.js";
import type { RawItem } from "../../../threads/items.js";
import type { ThreadSettings } from "../../../threads/settings.js";
import { asText } from "../appServer/read.js";
import type { ThreadMemory } from "./threadMemory.js";

export interface Failure {
  readonly message: string;
  readonly info: CodexErrorInfo;
}

/** A review until the end of its turn, which determines whether the result counts. */
interface Review {
  /** Undefined until it is known. */
  result: string | undefined;
}

/** The inputs of a turn's translation. */
export interface TurnSetup {
  readonly settings: ThreadSettings;
  readonly memory: ThreadMemory;
  /** What the turn was asked to review. */
  readonly reviewTarget?: ReviewTarget | undefined;
}

/** The state of the running turn, for the translations of its notifications. */
export interface TurnState extends TurnSetup {
  readonly items: OpenItems;
  readonly calls: OpenToolCalls;
  /** The agent's last message. */
  lastMessage: string | null;
  /** Questions to the user that the agent asked without waiting for an answer. */
  openQuestions: readonly string[];
  /** The error that is expected to end the turn. */
  failure: Failure | undefined;
  /** The last text about a retry that has no count. */
  lastRetry: string | undefined;
  /** Present until the end of a turn with a reviewer. */
  review: Review | undefined;
}

/** Translates one kind of notification. */
export type Translation = (params: Fields, turn: TurnState) => readonly ThreadEvent[];

export function newTurnState(setup: TurnSetup): TurnState {
  return {
    ...setup,
    items: new OpenItems(),
    calls: new OpenToolCalls(),
    lastMessage: null,
    openQuestions: [],
    failure: undefined,
    lastRetry: undefined,
    review: undefined,
  };
}

/** How a turn ended. */
export type Ending = "completed" | "interrupted" | "failed";

/** Translates one kind of the app-server's items. */
export interface ItemKind {
  start(open: OpenItem, turn: TurnState): readonly ThreadEvent[];
  /** `open.item` is the completed item. */
  complete(open: OpenItem, turn: TurnState): readonly ThreadEvent[];
  /** The item to complete with when the turn ends first; undefined when nothing is to be shown. */
  unfinished(open: OpenItem, ending: Ending): Fields | undefined;
}

/** Far more than run at the same time; an item beyond the limit is shown as a whole when it completes. */
const MOST_OPEN_ITEMS = 500;

/** How much of a command's streamed output is kept, in case the command never completes. */
const OUTPUT_KEPT = 1_048_576;

/** An item in progress, with its streamed content. */
export interface OpenItem {
  readonly id: string;
  /** The latest version of the item. */
  item: Fields;
  /** A message's text, or a command's output. */
  text: string;
  readonly summary: string[];
  readonly content: string[];
  /** Its start was shown. */
  isShown: boolean;
}

/** The running turn's items that have started and not completed, in order. */
export class OpenItems {
  readonly #items = new Map<string, OpenItem>();

  /** Undefined when it is already open, or the limit is reached. */
  add(item: Fields): OpenItem | undefined {
    const open = openItem(item);
    if (this.#items.has(open.id) || this.#items.size >= MOST_OPEN_ITEMS) return undefined;
    this.#items.set(open.id, open);
    return open;
  }

  find(id: unknown): OpenItem | undefined {
    return typeof id === "string" ? this.#items.get(id) : undefined;
  }

  take(id: unknown): OpenItem | undefined {
    const open = this.find(id);
    if (open) this.#items.delete(open.id);
    return open;
  }

  takeWhere(isWanted: (open: OpenItem) => boolean): readonly OpenItem[] {
    const wanted = [...this.#items.values()].filter(isWanted);
    for (const { id } of wanted) this.#items.delete(id);
    return wanted;
  }
}

export function openItem(item: Fields): OpenItem {
  return { id: asText(item["id"]), item, text: "", summary: [], content: [], isShown: false };
}

export function keepOutput(open: OpenItem, delta: string): void {
  if (open.text.length < OUTPUT_KEPT) open.text += delta;
}

/** Appends to one of several texts. An index beyond the next one counts as the next. */
export function keepPart(parts: string[], index: number, delta: string): void {
  const at = Math.min(Math.max(0, Math.trunc(index)), parts.length);
  parts[at] = (parts[at] ?? "") + delta;
}

/** Far more calls than a model makes at the same time. */
const MOST_OPEN_CALLS = 500;

export interface OpenToolCall {
  readonly callId: string;
  readonly call: RawItem;
  readonly outputType: string;
  /** An item shows its result. */
  isShown: boolean;
}

/** The model's tool calls without an output, from raw events. */
class OpenToolCalls {
  readonly #calls = new Map<string, OpenToolCall>();

  /** Ignores items that are not calls. */
  add(call: RawItem): void {
    const outputType = OUTPUT_TYPES.get(call.type);
    const callId = asText(call["call_id"]);
    if (outputType === undefined || callId === "" || this.#calls.size >= MOST_OPEN_CALLS) return;
    this.#calls.set(callId, { callId, call, outputType, isShown: false });
  }

  markShown(callId: string): void {
    const open = this.#calls.get(callId);
    if (open) open.isShown = true;
  }

  /** Removes and returns the call that this item answers, if any. */
  takeAnswered(output: RawItem): OpenToolCall | undefined {
    const open = this.#calls.get(asText(output["call_id"]));
    if (!open || open.outputType !== output.type) return undefined;
    this.#calls.delete(open.callId);
    return open;
  }

  /** Removes and returns all calls. */
  takeAll(): readonly OpenToolCall[] {
    const all = [...this.#calls.values()];
    this.#calls.clear();
    return all;
  }
}

const OUTPUT_TYPES: ReadonlyMap<string, string> = new Map([
  ["function_call", "function_call_output"],
  ["local_shell_call", "function_call_output"],
  ["custom_tool_call", "custom_tool_call_output"],
]);
