import type { ParsedCommand } from "../exec/actions.js";
import { isFields } from "../lib/fields.js";
import { inSlices } from "../lib/slices.js";

/** An item of the model's conversation exactly as it went over the wire (`type` decides the rest). */
export type RawItem = { readonly type: string } & Readonly<Record<string, unknown>>;

/** The `content` field of a reasoning item as Codex writes it: left out if no part of it is the model's raw text. */
export function rawReasoning({ content }: RawItem): { readonly content?: unknown } {
  const isRaw = (part: unknown) => isFields(part) && part["type"] === "reasoning_text";
  return Array.isArray(content) && !content.some(isRaw) ? {} : { content: content ?? null };
}

export type Item =
  | { readonly kind: "userMessage"; readonly id: string; readonly text: string; readonly images?: readonly string[] }
  | { readonly kind: "agentMessage"; readonly id: string; readonly texts: readonly string[] }
  | {
      readonly kind: "reasoning";
      readonly id: string;
      readonly summary: readonly string[];
      readonly rawContent: readonly string[];
      /** The user wants the raw content in the finished item too, not only while it streams. */
      readonly rawShown?: boolean;
    }
  | {
      readonly kind: "webSearch";
      readonly id: string;
      readonly query: string;
      readonly action: Readonly<Record<string, unknown>>;
    };

export interface PlanStep {
  readonly step: string;
  readonly status: "pending" | "in_progress" | "completed";
}

/** A command as the model requested it. */
export interface CommandCall {
  readonly callId: string;
  /** For a command that may outlive its call: the id for further input. */
  readonly sessionId?: number;
  readonly command: readonly string[];
  readonly cwd: string;
  readonly parsed: readonly ParsedCommand[];
}

export interface CommandOutcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly aggregatedOutput: string;
  readonly exitCode: number;
  readonly durationMs: number;
  /** The output as the model gets it: truncated in the middle if long. */
  readonly formattedOutput: string;
  /** The command did not run: a person or a rule refused it. */
  readonly declined?: true;
  /** The turn ended before the command, which goes on. */
  readonly stillRuns?: true;
  /** The end of the turn ended it: it has no exit code of its own. */
  readonly cutOff?: true;
  /** It did not run: it could not be started, as its output says. */
  readonly neverStarted?: true;
  /** It did not run: no sandbox works on this machine, and running it without one was not approved. */
  readonly lacksSandbox?: true;
}

export interface McpInvocation {
  readonly server: string;
  readonly tool: string;
  readonly arguments: unknown;
}

export type McpServerStatus = { readonly state: "starting" | "ready" | "cancelled" } | { readonly state: "failed"; readonly error: string };

/**
 * Models reject a history in which a tool call has no output or an output no call, and a process that dies during a call leaves such a
 * history. Calls without an output get one that says `aborted`; outputs without a call are dropped.
 */
export function pairToolCalls(items: readonly RawItem[]): readonly RawItem[] {
  const pairs = new ToolCallPairs();
  for (const item of items) pairs.note(item);
  return pairs.areWhole ? items : items.flatMap((item) => pairs.completed(item));
}

/** The same for the history of a thread, which may be very long: the requests of others are served in between. */
export async function pairStoredCalls(items: readonly RawItem[]): Promise<readonly RawItem[]> {
  const pairs = new ToolCallPairs();
  await inSlices(items, (item) => pairs.note(item));
  if (pairs.areWhole) return items;
  const completed: RawItem[] = [];
  await inSlices(items, (item) => completed.push(...pairs.completed(item)));
  return completed;
}

/** The calls and outputs among some items. */
class ToolCallPairs {
  readonly #calls = new Set<string>();
  readonly #outputs = new Set<string>();
  /** Calls without an output, and outputs without a call. */
  readonly #alone = new Set<string>();

  note(item: RawItem): void {
    const type = outputTypeOf(item);
    if (type !== undefined) this.#add(key(type, item), this.#calls, this.#outputs);
    else if (isOutput(item)) this.#add(key(item.type, item), this.#outputs, this.#calls);
  }

  get areWhole(): boolean {
    return this.#alone.size === 0;
  }

  /** The item with the output that it lacks, or nothing instead of an output without a call. */
  completed(item: RawItem): RawItem[] {
    if (isOutput(item)) return this.#calls.has(key(item.type, item)) ? [item] : [];
    const type = outputTypeOf(item);
    if (type === undefined || this.#outputs.has(key(type, item))) return [item];
    return [item, { type, call_id: item["call_id"], output: MISSING_OUTPUT }];
  }

  #add(one: string, to: Set<string>, others: ReadonlySet<string>): void {
    to.add(one);
    if (others.has(one)) this.#alone.delete(one);
    else this.#alone.add(one);
  }
}

const MISSING_OUTPUT = "aborted";

/** The items without the outputs that `pairToolCalls` added to calls of the last turn. While it runs, these calls have no output yet. */
export function withoutMissingOutputs(items: readonly RawItem[]): readonly RawItem[] {
  const begin = items.findLastIndex(({ type, role }) => type === "message" && role === "user");
  return items.filter((item, at) => at < begin || !isOutput(item) || item["output"] !== MISSING_OUTPUT);
}

/** The type of the output item, if this item is a call. */
function outputTypeOf(item: RawItem): string | undefined {
  switch (item.type) {
    case "function_call":
    case "local_shell_call":
      return typeof item["call_id"] === "string" ? "function_call_output" : undefined;
    case "custom_tool_call":
      return "custom_tool_call_output";
    default:
      return undefined;
  }
}

function isOutput(item: RawItem): boolean {
  return item.type === "function_call_output" || item.type === "custom_tool_call_output";
}

function key(outputType: string, item: RawItem): string {
  return `${outputType} ${String(item["call_id"])}`;
}
