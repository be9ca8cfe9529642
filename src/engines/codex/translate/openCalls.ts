import type { RawItem } from "../../../threads/items.js";
import { textOf } from "./read.js";

/** Far more than a model asks for at once. */
const MOST_OPEN = 500;

export interface OpenCall {
  readonly callId: string;
  readonly call: RawItem;
  readonly outputType: string;
  /** An item shows what became of it. */
  isShown: boolean;
}

/** The model's tool calls that have no output yet, as raw events tell them. */
export class OpenCalls {
  readonly #calls = new Map<string, OpenCall>();

  /** Anything but a call is left alone. */
  add(call: RawItem): void {
    const outputType = OUTPUT_TYPES.get(call.type);
    const callId = textOf(call["call_id"]);
    if (outputType === undefined || callId === "" || this.#calls.size >= MOST_OPEN) return;
    this.#calls.set(callId, { callId, call, outputType, isShown: false });
  }

  markShown(callId: string): void {
    const open = this.#calls.get(callId);
    if (open) open.isShown = true;
  }

  /** The call this item answers, if it answers one. */
  takeAnswered(output: RawItem): OpenCall | undefined {
    const open = this.#calls.get(textOf(output["call_id"]));
    if (!open || open.outputType !== output.type) return undefined;
    this.#calls.delete(open.callId);
    return open;
  }

  /** Empties it. */
  takeAll(): readonly OpenCall[] {
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
