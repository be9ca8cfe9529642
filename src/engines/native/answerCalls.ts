import { abortedAnswer } from "../../exec/output.js";
import type { TurnContext } from "../../threads/engine.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { RawItem } from "../../threads/items.js";
import type { Conversation } from "./conversation.js";
import { type ToolCall, toolOutput } from "./model/items.js";
import type { ToolResult } from "./tools/tool.js";

/** A person decided that the turn ends here. */
export class TurnStopped extends Error {}

/** The tool calls of one model response: run in order, while the rest of the response is awaited or after it. */
export class AnswerCalls {
  readonly #conversation: Conversation;
  readonly #ctx: TurnContext;
  readonly #waiting: ToolCall[] = [];
  /** Results of calls that ran before the response had ended. */
  readonly #early: { readonly call: ToolCall; readonly result: ToolResult }[] = [];
  /** Messages that follow the outputs of all calls, such as an image that a tool showed. */
  readonly #after: RawItem[] = [];
  /** When the first call arrived. */
  readonly #startedAt = performance.now();

  constructor(conversation: Conversation, ctx: TurnContext) {
    this.#conversation = conversation;
    this.#ctx = ctx;
  }

  /** The calls that have not been started. */
  get waiting(): readonly ToolCall[] {
    return this.#waiting;
  }

  add(call: ToolCall): void {
    this.#waiting.push(call);
  }

  /** Runs calls before the response has ended; their outputs are held back until then. */
  async *carryOutEarly(): AsyncGenerator<readonly ThreadEvent[]> {
    for (const call of this.#take()) this.#early.push({ call, result: yield* this.#carryOut(call) });
  }

  /** Runs the remaining calls after the response has ended. */
  async *carryOutRest(): AsyncGenerator<readonly ThreadEvent[]> {
    for (const { call, result } of this.#early.splice(0)) yield* this.#resultEvents(call, result);
    for (const call of this.#take()) yield* this.#resultEvents(call, yield* this.#carryOut(call));
  }

  /** Adds the messages that follow the outputs to the conversation. */
  following(): ThreadEvent[] {
    return this.#after.splice(0).map((item) => this.#conversation.remember(item));
  }

  /** The response will not end. Later requests give the model the results of its calls; they were never part of the turn. */
  giveUp(): ThreadEvent[] {
    const outputs = [
      ...this.#early.splice(0).map(({ call, result }) => toolOutput(call, result.parts ?? result.output)),
      ...this.#waiting.splice(0).map((call) => toolOutput(call, "aborted")),
    ];
    return outputs.map((item) => this.#conversation.rememberUnseen(item));
  }

  *#take(): Generator<ToolCall> {
    for (let call = this.#waiting.shift(); call; call = this.#waiting.shift()) yield call;
  }

  *#resultEvents(call: ToolCall, result: ToolResult): Generator<readonly ThreadEvent[]> {
    if (result.isUnseen) {
      yield [this.#conversation.rememberUnseen(toolOutput(call, result.output))];
      return;
    }
    yield [this.#conversation.remember(toolOutput(call, result.parts ?? result.output))];
    this.#after.push(...(result.after ?? []));
    if (result.endsTurn) throw new TurnStopped();
  }

  async *#carryOut(call: ToolCall): AsyncGenerator<readonly ThreadEvent[], ToolResult> {
    const { signal, ask, beforeChanges } = this.#ctx;
    const remember = (item: RawItem) => this.#conversation.remember(item);
    try {
      signal.throwIfAborted();
      const tool = await this.#conversation.parts.threadTools.find(call.name, { signal });
      const asRecorded = this.#conversation.settings.asRecorded ?? false;
      if (tool && asRecorded && isMisdirected(call)) return { output: "aborted", isUnseen: true };
      if (!tool) return { output: unsupported(call) };
      const { callId, args } = call;
      return yield* tool.run(args, { callId, signal, isFreeform: isFreeform(call), ask, beforeChanges, remember, asRecorded });
    } catch (error) {
      if (signal.aborted) yield this.#aborted(call);
      throw error;
    }
  }

  /** Every call of the response gets an output: the stopped one, and those after it. */
  #aborted(stopped: ToolCall): ThreadEvent[] {
    const ms = performance.now() - this.#startedAt;
    const done = this.#early.splice(0).map(({ call, result }) => toolOutput(call, result.parts ?? result.output));
    const open = [stopped, ...this.#waiting.splice(0)].map((call) => toolOutput(call, abortedText(call, ms)));
    return [...done, ...open].map((item) => this.#conversation.remember(item));
  }
}

const SHELL_TOOLS = new Set(["shell", "container.exec", "local_shell", "shell_command", "unified_exec"]);

function abortedText({ name }: ToolCall, ms: number): string {
  if (SHELL_TOOLS.has(name)) return abortedAnswer(ms);
  const text = `aborted by user after ${(ms / 1000).toFixed(1)}s`;
  return name.startsWith("mcp__") ? `err: ${JSON.stringify(text)}` : text;
}

/** Codex 0.92.0 dropped free text for a tool that takes arguments, and told its model that the call was aborted. */
function isMisdirected(call: ToolCall): boolean {
  return isFreeform(call) && call.name !== "apply_patch";
}

function isFreeform({ outputType }: ToolCall): boolean {
  return outputType === "custom_tool_call_output";
}

function unsupported(call: ToolCall): string {
  return isFreeform(call) ? `unsupported custom tool call: ${call.name}` : `unsupported call: ${call.name}`;
}
