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

/** A review from its beginning to the turn's end, which alone tells whether what it came to counts. */
interface Review {
  /** Undefined until it is told. */
  result: string | undefined;
}

/** What a turn is run with. */
export interface TurnSetup {
  readonly settings: ThreadSettings;
  readonly memory: ThreadMemory;
  /** What the turn was asked to review. */
  readonly reviewTarget?: ReviewTarget | undefined;
}

/** What is known of the running turn, for those who translate its notifications. */
export interface TurnState extends TurnSetup {
  readonly items: OpenItems;
  readonly calls: OpenToolCalls;
  /** What the agent said last. */
  lastMessage: string | null;
  /** What the agent asked the user without waiting for an answer. */
  openQuestions: readonly string[];
  /** The error that is expected to end the turn. */
  failure: Failure | undefined;
  /** What was last said about a retry that is not counted. */
  lastRetry: string | undefined;
  /** Until the end of a turn in which a reviewer is at work. */
  review: Review | undefined;
}

/** How one kind of notification shows. */
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

/** How one kind of the app-server's items shows. */
export interface ItemKind {
  start(open: OpenItem, turn: TurnState): readonly ThreadEvent[];
  /** `open.item` is the item as it completed. */
  complete(open: OpenItem, turn: TurnState): readonly ThreadEvent[];
  /** The item as it would have completed, when the turn ends before it does; undefined when then nothing is to be shown. */
  unfinished(open: OpenItem, ending: Ending): Fields | undefined;
}

/** Far more than run at once; whatever begins beyond it is shown as a whole when it completes. */
const MOST_OPEN_ITEMS = 500;

/** How much of a command's streamed output is kept, for the case that the command never completes. */
const OUTPUT_KEPT = 1_048_576;

/** An item from its beginning to its end, with what was streamed of it. */
export interface OpenItem {
  readonly id: string;
  /** As it was last told. */
  item: Fields;
  /** A message's text, or a command's output. */
  text: string;
  readonly summary: string[];
  readonly content: string[];
  /** Its beginning was shown. */
  isShown: boolean;
}

/** The items of the running turn that have begun and not completed, in the order they began. */
export class OpenItems {
  readonly #items = new Map<string, OpenItem>();

  /** Undefined when it is open already, or too much is. */
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

/** Adds to one of several texts. An index beyond the next one counts as the next. */
export function keepPart(parts: string[], index: number, delta: string): void {
  const at = Math.min(Math.max(0, Math.trunc(index)), parts.length);
  parts[at] = (parts[at] ?? "") + delta;
}

/** Far more than a model asks for at once. */
const MOST_OPEN_CALLS = 500;

export interface OpenToolCall {
  readonly callId: string;
  readonly call: RawItem;
  readonly outputType: string;
  /** An item shows what became of it. */
  isShown: boolean;
}

/** The model's tool calls that have no output yet, as raw events tell them. */
class OpenToolCalls {
  readonly #calls = new Map<string, OpenToolCall>();

  /** Anything but a call is left alone. */
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

  /** The call this item answers, if it answers one. */
  takeAnswered(output: RawItem): OpenToolCall | undefined {
    const open = this.#calls.get(asText(output["call_id"]));
    if (!open || open.outputType !== output.type) return undefined;
    this.#calls.delete(open.callId);
    return open;
  }

  /** Empties it. */
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
