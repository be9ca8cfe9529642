import { tokenCounts } from "../../agent/receipt.js";
import { isDenialRemark } from "../../approvals/denials.js";
import { isFields, textOrNothing } from "../../lib/fields.js";
import type { RawItem } from "../../threads/items.js";
import { findingsIn } from "../../threads/reviewFindings.js";
import type { StoredMoment, StoredSettings } from "../../threads/store.js";
import type { TokenUsageInfo } from "../../threads/usage.js";
import type { PlanSteps, Tokens } from "../schemas/common.js";
import type { TimelineItem } from "../schemas/items.js";
import { beginning, tokensBetween } from "./shownTexts.js";
import { callContent, type ItemContent, withOutput } from "./storedCalls.js";
import { type CostOf, shownFinding } from "./turnItems.js";

export interface StoredReading {
  /** Longer texts are shortened; default: the limit of lists. */
  readonly longest?: number | undefined;
  readonly costOf?: CostOf | undefined;
}

/** Builds a thread's items from its record, entry by entry. */
export class StoredItems {
  readonly #reading: StoredReading;
  #items: TimelineItem[] = [];
  readonly #ids = new Set<string>();
  readonly #calls = new Map<string, number>();
  #turn: StoredTurn | undefined;
  #turns = 0;
  #settings: StoredSettings | undefined;
  #usage: TokenUsageInfo | undefined;
  #plan: PlanSteps | undefined;
  #preview: string | undefined;
  #at: number | undefined;

  constructor(reading: StoredReading = {}) {
    this.#reading = reading;
  }

  /** In order, with a summary after each turn. */
  get items(): readonly TimelineItem[] {
    return [...this.#items, ...(this.#turn ? [this.#summary(this.#turn)] : [])];
  }

  /** The items before the last turn, which another source provides. */
  before(isStart: (item: TimelineItem) => boolean): readonly TimelineItem[] {
    const at = this.#items.findLastIndex(isStart);
    if (at !== -1) return this.#items.slice(0, at);
    const isOpen = this.#turn?.isMarked && !this.#turn.end;
    return this.#turn && isOpen ? this.#items.slice(0, this.#turn.from) : this.items;
  }

  get settings(): StoredSettings | undefined {
    return this.#settings;
  }

  get usage(): TokenUsageInfo | undefined {
    return this.#usage;
  }

  get plan(): PlanSteps | undefined {
    return this.#plan;
  }

  /** The user's first message. */
  get preview(): string | undefined {
    return this.#preview;
  }

  /** The time of the last entry, in milliseconds since 1970. */
  get lastAt(): number | undefined {
    return this.#at;
  }

  take(moment: StoredMoment): void {
    this.#at = moment.at ?? this.#at;
    switch (moment.type) {
      case "settings":
        this.#settings = { ...this.#settings, ...moment.settings };
        return;
      case "userSpoke":
        return this.#spoke(moment.text ?? "", moment.images);
      case "item":
        return this.#item(moment.item);
      case "usage":
        this.#usage = moment.usage;
        return;
      case "turnStarted":
        return this.#beginTurn({ isMarked: true });
      case "turnEnded":
        return this.#ended(moment.error === null ? COMPLETED : { outcome: "failed", message: beginning(moment.error).text }, moment.ms);
      case "interrupted":
        return this.#ended(INTERRUPTED, moment.ms);
      case "compacted":
        return this.#put("compaction", { type: "compaction", status: "completed", message: beginning(moment.message).text });
      case "rolledBack":
        return this.#takeBack(moment.turns);
      case "reviewStarted":
        return this.#put("review", { type: "review", status: "failed", hint: moment.hint, text: null, findings: [] });
      case "reviewEnded":
        return this.#reviewed(moment.text);
    }
  }

  #spoke(text: string, images = 0): void {
    this.#preview ??= text;
    // A user message during a turn is input to that turn.
    if (!this.#turn?.isMarked || this.#turn.end) this.#beginTurn({ isMarked: false });
    else if (isDenialRemark(text) && this.#items.length > this.#turn.from)
      return this.#put("notice", { type: "notice", status: "completed", level: "info", ...this.#cut(text) });
    this.#put("user", { type: "userMessage", status: "completed", ...this.#cut(text), images });
  }

  #beginTurn({ isMarked }: Pick<StoredTurn, "isMarked">): void {
    this.#endTurn();
    const from = this.#items.length;
    this.#turn = { id: `t${++this.#turns}`, from, begunAt: this.#at, usageBefore: this.#tokens(), isMarked, end: undefined };
  }

  #ended(end: StoredEnd, ms: number | undefined): void {
    if (this.#turn) this.#turn.end ??= { ...end, ms: ms ?? null };
  }

  #item(item: RawItem): void {
    switch (item.type) {
      case "message":
        if (item["role"] === "assistant") this.#answered(idOf(item), partsText(item["content"]));
        return;
      case "reasoning":
        return this.#reasoning(item);
      case "web_search_call":
        return this.#put(idOf(item), { type: "webSearch", status: "completed", query: queryOf(item["action"]) });
      case "function_call":
      case "custom_tool_call":
      case "local_shell_call":
        return this.#call(item);
      case "function_call_output":
      case "custom_tool_call_output":
        return this.#output(item);
      default:
    }
  }

  #answered(id: string | undefined, text: string): void {
    const shown = this.#cut(text);
    const last = this.#items.at(-1);
    // The text of a review is also recorded as a message for the model.
    if (last?.type === "review" && last.text === shown.text) return;
    this.#put(id, { type: "agentMessage", status: "completed", ...shown });
  }

  #reasoning(item: RawItem): void {
    const [summary, content] = [textsOf(item["summary"]), textsOf(item["content"])];
    if (summary.length + content.length > 0) this.#put(idOf(item), { type: "reasoning", status: "completed", summary, content });
  }

  #call(item: RawItem): void {
    const callId = textOrNothing(item["call_id"]) ?? textOrNothing(item["id"]);
    const shown = callContent(item, this.#reading.longest);
    if (shown.type === "plan") this.#plan = shown.plan;
    this.#put(callId, shown.type === "command" ? { ...shown, cwd: shown.cwd ?? this.#settings?.cwd ?? null } : shown);
    if (callId !== undefined) this.#calls.set(callId, this.#items.length - 1);
  }

  #output(item: RawItem): void {
    const callId = textOrNothing(item["call_id"]) ?? "";
    const at = this.#calls.get(callId);
    const call = at === undefined ? undefined : this.#items[at];
    if (at === undefined || !call) return;
    this.#calls.delete(callId);
    this.#items[at] = withOutput(call, outputText(item["output"]), this.#reading.longest);
  }

  #reviewed(text: string | null): void {
    const at = this.#items.findLastIndex(({ type }) => type === "review");
    const review = this.#items[at];
    if (review?.type !== "review" || text === null) return;
    const shown = this.#cut(text);
    this.#items[at] = { ...review, status: "completed", ...shown, findings: findingsIn(text).map(shownFinding) };
    const last = this.#items.at(-1);
    if (last?.type === "agentMessage" && last.text === shown.text) this.#items.pop();
  }

  #takeBack(turns: number): void {
    this.#endTurn();
    const starts = this.#items.flatMap(({ type }, at) => (type === "userMessage" ? [at] : []));
    this.#items = this.#items.slice(0, starts.at(-Math.max(1, turns)) ?? 0);
  }

  #endTurn(): void {
    if (this.#turn) this.#items.push(this.#summary(this.#turn));
    this.#turn = undefined;
    this.#calls.clear();
  }

  #summary({ id, begunAt, usageBefore, isMarked, end }: StoredTurn): TimelineItem {
    // A record that marks the start of turns also marks their end, unless its writer was killed.
    const { outcome, message } = end ?? (isMarked ? INTERRUPTED : COMPLETED);
    const used = this.#usage && tokensBetween(usageBefore, tokenCounts(this.#usage.total_token_usage));
    const model = this.#settings?.model;
    const cost = used && model !== undefined ? this.#reading.costOf?.(model, domainTokens(used)) : undefined;
    return {
      id: `summary-${id}`,
      turnId: id,
      at: this.#time(),
      type: "turnSummary",
      status: outcome === "completed" ? "completed" : "failed",
      outcome,
      message,
      usage: used ?? null,
      costUsd: cost ?? null,
      ms: end?.ms ?? this.#msSince(begunAt),
    };
  }

  /** Computed from the recorded times; null if the clock was set back meanwhile. */
  #msSince(begunAt: number | undefined): number | null {
    return begunAt === undefined || this.#at === undefined || this.#at < begunAt ? null : this.#at - begunAt;
  }

  /** Some models reuse ids; here each id belongs to one item. */
  #put(id: string | undefined, item: ItemContent): void {
    const wanted = id === undefined || UNNAMED.has(id) ? `${id ?? "item"}-${this.#items.length + 1}` : id;
    const own = this.#ids.has(wanted) ? `${wanted}-${this.#items.length + 1}` : wanted;
    this.#ids.add(own);
    this.#items.push({ id: own, turnId: this.#turn?.id ?? "t0", at: this.#time(), ...item });
  }

  #time(): string | null {
    return this.#at === undefined ? null : new Date(this.#at).toISOString();
  }

  #tokens(): Tokens | undefined {
    return this.#usage && tokenCounts(this.#usage.total_token_usage);
  }

  #cut(given: string): { text: string; truncated?: true } {
    const { text, truncated } = beginning(given, this.#reading.longest);
    return truncated ? { text, truncated } : { text };
  }
}

type StoredEnd = Pick<Extract<TimelineItem, { type: "turnSummary" }>, "outcome" | "message">;

const COMPLETED: StoredEnd = { outcome: "completed", message: null };
const INTERRUPTED: StoredEnd = { outcome: "interrupted", message: null };

interface StoredTurn {
  readonly id: string;
  /** The number of items before it. */
  readonly from: number;
  readonly begunAt: number | undefined;
  readonly usageBefore: Tokens | undefined;
  /** The record marks its start. */
  readonly isMarked: boolean;
  end: (StoredEnd & { readonly ms: number | null }) | undefined;
}

const UNNAMED: ReadonlySet<string> = new Set(["user", "notice", "compaction", "review"]);
function idOf(item: RawItem): string | undefined {
  return textOrNothing(item["id"]);
}

function queryOf(action: unknown): string {
  return isFields(action) ? (textOrNothing(action["query"]) ?? "") : "";
}

function textsOf(parts: unknown): string[] {
  return (Array.isArray(parts) ? parts : []).flatMap((part: unknown) => (isFields(part) ? (textOrNothing(part["text"]) ?? []) : []));
}

function partsText(parts: unknown): string {
  return typeof parts === "string" ? parts : textsOf(parts).join("");
}

function outputText(output: unknown): string {
  if (isFields(output)) return textOrNothing(output["content"]) ?? partsText(output["content"]);
  return partsText(output);
}

function domainTokens({ input, cachedInput, output, reasoning, total }: Tokens) {
  return {
    input_tokens: input,
    cached_input_tokens: cachedInput,
    output_tokens: output,
    reasoning_output_tokens: reasoning,
    total_tokens: total,
  };
}
