// Long because every kind of turn event has its form here, and the same state serves live readers and later ones.

import { tokenCounts, UsageOfTurn } from "../../agent/receipt.js";
import { isDenialRemark } from "../../approvals/denials.js";
import type { ThreadId } from "../../lib/ids.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { CommandCall, Item as DomainItem } from "../../threads/items.js";
import { findingsIn } from "../../threads/reviewFindings.js";
import { isTurnEnd } from "../../threads/turn.js";
import type { TokenUsage } from "../../threads/usage.js";
import type { PlanSteps } from "../schemas/common.js";
import type { ApiEvent } from "../schemas/events.js";
import type { TimelineItem } from "../schemas/items.js";
import { isRefusal } from "./commandOutput.js";
import { beginning, commandTextOf, ending, fileDiffs } from "./shownTexts.js";

export interface FoldedTurn {
  readonly threadId: ThreadId;
  readonly turnId: string;
  /** How long it ran, queried when it has ended; undefined if that is no longer known. */
  readonly ranMs: () => number | undefined;
  /** In US dollars; undefined where the model's price is not known. */
  readonly costOf?: CostOf | undefined;
}

export type CostOf = (model: string, usage: TokenUsage) => number | undefined;

/** An API event of a turn, without the fields that all events have. */
export type TurnApiEvent = ApiEvent extends infer Each ? (Each extends ApiEvent ? Omit<Each, "at" | "threadId" | "turnId"> : never) : never;

/** How much of a running command's output is kept for later readers. */
const MOST_OUTPUT = 64 * 1024;

/** Builds a turn's items from its events. */
export class TurnItems {
  readonly #turn: FoldedTurn;
  readonly #longest: number | undefined;
  readonly #items = new Map<string, TimelineItem>();
  readonly #decoders = new Map<string, InstanceType<typeof TextDecoder>>();
  #notices = 0;
  #plan: PlanSteps | undefined;
  #diff: string | undefined;
  readonly #usage = new UsageOfTurn();
  #model: string | undefined;

  /** @param longest Longer texts are shortened; default: the limit of lists. */
  constructor(turn: FoldedTurn, longest?: number) {
    this.#turn = turn;
    this.#longest = longest;
  }

  /** In order of their start. */
  get items(): readonly TimelineItem[] {
    return [...this.#items.values()];
  }

  get plan(): PlanSteps | undefined {
    return this.#plan;
  }

  get diff(): string | undefined {
    return this.#diff;
  }

  /** The API events for a turn's event; none for most of the content for the model only. `at` is the time of the event. */
  take(event: ThreadEvent, at = Date.now()): readonly TurnApiEvent[] {
    this.#usage.observe(event);
    if ("ofTurn" in event && !this.#items.has(event.callId)) return [];
    switch (event.type) {
      case "threadConfigured":
      case "turnContext":
        this.#model = event.settings.model;
        return [];
      case "itemStarted":
      case "itemCompleted":
        return this.#said(event.item, event.type === "itemStarted" ? "running" : "completed", at);
      case "messageDelta":
        return this.#delta(event.itemId, { field: "text", index: 0, delta: event.delta });
      case "reasoningDelta":
        return this.#delta(event.itemId, { field: "summary", index: event.summaryIndex, delta: event.delta });
      case "rawReasoningDelta":
        return this.#delta(event.itemId, { field: "content", index: event.contentIndex, delta: event.delta });
      case "commandStarted":
        return this.#put({ ...this.#command(event, at), status: "running" });
      case "commandOutput":
        return this.#delta(event.callId, { field: "output", index: 0, delta: this.#decoded(event) });
      case "commandEnded":
        return this.#commandEnded(event, at);
      case "patchStarted":
        return this.#put({ ...this.#common(event.callId, at), type: "patch", status: "running", changes: this.#files(event.changes) });
      case "patchEnded": {
        const status = event.declined ? "declined" : event.success ? "completed" : "failed";
        return this.#put({ ...this.#common(event.callId, at), type: "patch", status, changes: this.#files(event.changes) });
      }
      case "mcpToolStarted":
        return this.#put({ ...this.#toolCall(event, at), status: "running" });
      case "mcpToolEnded": {
        const failed = "Err" in event.result;
        const { text, truncated } = beginning(resultText(event.result), this.#longest);
        return this.#put({
          ...this.#toolCall(event, at),
          status: failed ? "failed" : "completed",
          ...(failed ? { error: text } : { result: text }),
          durationMs: event.durationMs,
          ...(truncated && { truncated }),
        });
      }
      case "agentChanged":
        return this.#helped(event, at);
      case "imageViewed":
        return this.#put({ ...this.#common(event.callId, at), type: "image", status: "completed", path: event.path });
      case "planUpdated": {
        this.#plan = { explanation: event.explanation, steps: [...event.plan] };
        const item = { ...this.#common("plan", at), type: "plan", status: "completed", plan: this.#plan } as const;
        return [{ type: "turn.plan", plan: this.#plan }, ...this.#put(item)];
      }
      case "turnDiff": {
        this.#diff = event.unifiedDiff;
        const { text, truncated } = beginning(event.unifiedDiff, this.#longest);
        return [{ type: "turn.diff", unifiedDiff: text, truncated }];
      }
      case "tokenCount":
        return this.#counted(event);
      case "historyCompacted":
        return this.#put({ ...this.#common("compaction", at), type: "compaction", status: "completed", message: event.message });
      case "reviewStarted":
        return this.#put({
          ...this.#common("review", at),
          type: "review",
          status: "running",
          hint: event.hint,
          text: null,
          findings: [],
        });
      case "reviewEnded":
        return this.#reviewed(event.text, at);
      case "warning":
        return this.#notice("warning", event.message, at);
      case "deprecation":
        return this.#notice("info", [event.summary, event.details].filter(Boolean).join(" "), at);
      case "modelRetry":
        return this.#notice("warning", `The model request is retried (${event.attempt} of ${event.limit}): ${event.cause}`, at);
      default:
        return isTurnEnd(event) ? this.#ended(event, at) : [];
    }
  }

  #said(item: DomainItem, status: "running" | "completed", at: number): readonly TurnApiEvent[] {
    const common = { ...this.#common(item.id, at), status };
    switch (item.kind) {
      case "userMessage":
        if (status === "completed" && this.#hasBegun() && isDenialRemark(item.text)) return this.#notice("info", item.text, at);
        // A user message is complete when it begins.
        return status === "running"
          ? []
          : this.#put({ ...common, type: "userMessage", ...this.#cut(item.text), images: item.images?.length ?? 0 });
      case "agentMessage":
        return this.#put({ ...common, type: "agentMessage", ...this.#cut(item.texts.join("")) });
      case "reasoning":
        return this.#put({ ...common, type: "reasoning", summary: [...item.summary], content: [...item.rawContent] });
      case "webSearch":
        return this.#put({ ...common, type: "webSearch", query: item.query });
    }
  }

  /** Deltas are for live readers; later readers find the text in the item. */
  #delta(itemId: string, { field, index, delta }: Delta): readonly TurnApiEvent[] {
    const item = this.#items.get(itemId);
    if (!item || delta === "") return [];
    this.#items.set(itemId, withDelta(item, { field, index, delta }));
    return [{ type: "item.delta", itemId, field, index, delta }];
  }

  #decoded({ callId, bytes }: Extract<ThreadEvent, { type: "commandOutput" }>): string {
    const decoder = this.#decoders.get(callId) ?? new TextDecoder();
    this.#decoders.set(callId, decoder);
    return decoder.decode(bytes, { stream: true });
  }

  #command(call: CommandCall, at: number): Extract<TimelineItem, { type: "command" }> {
    const { text, truncated } = beginning(commandTextOf(call.command), this.#longest);
    return {
      ...this.#common(call.callId, at),
      type: "command",
      status: "running",
      command: truncated ? [text] : [...call.command],
      commandText: text,
      cwd: call.cwd,
      exitCode: null,
      output: "",
      durationMs: null,
      ...(truncated && { truncated }),
    };
  }

  #commandEnded(event: Extract<ThreadEvent, { type: "commandEnded" }>, at: number): readonly TurnApiEvent[] {
    this.#decoders.delete(event.callId);
    const item = this.#command(event, at);
    const { aggregatedOutput, exitCode, durationMs } = event;
    // A command with an exit code did run, whatever its output says.
    const declined = event.declined === true || (exitCode < 0 && isRefusal(aggregatedOutput));
    const { text: output, truncated } = ending(aggregatedOutput, this.#longest);
    return this.#put({
      ...item,
      status: declined ? "declined" : exitCode === 0 ? "completed" : "failed",
      exitCode: declined ? null : exitCode,
      output,
      durationMs: declined ? null : durationMs,
      ...(truncated && { truncated }),
    });
  }

  #toolCall(
    { callId, invocation }: Pick<Extract<ThreadEvent, { type: "mcpToolStarted" }>, "callId" | "invocation">,
    at: number,
  ): Extract<TimelineItem, { type: "toolCall" }> {
    const { server, tool, arguments: given } = invocation;
    const nothing = { status: "running", result: null, error: null, durationMs: null } as const;
    return { ...this.#common(callId, at), type: "toolCall", server, tool, arguments: given ?? null, ...nothing };
  }

  #helped(
    { agentId, name, task, status, result, tokens }: Extract<ThreadEvent, { type: "agentChanged" }>,
    at: number,
  ): readonly TurnApiEvent[] {
    const [asked, said] = [task, result].map((text) => (text === null ? undefined : beginning(text, this.#longest)));
    return this.#put({
      ...this.#common(`agent-${agentId}`, at),
      type: "subAgent",
      status: status === "interrupted" ? "failed" : status,
      name,
      task: asked?.text ?? null,
      result: said?.text ?? null,
      tokens,
      ...((asked?.truncated || said?.truncated) && { truncated: true }),
    });
  }

  #counted({ usage }: Extract<ThreadEvent, { type: "tokenCount" }>): readonly TurnApiEvent[] {
    const counted = this.#usage.total();
    if (!usage || !counted) return [];
    const { turn, thread } = counted;
    return [{ type: "turn.usage", usage: tokenCounts(turn), threadUsage: tokenCounts(thread), contextWindow: usage.model_context_window }];
  }

  #reviewed(given: string | null, at: number): readonly TurnApiEvent[] {
    const begun = this.#items.get("review");
    const { text, truncated } = given === null ? { text: null, truncated: false } : beginning(given, this.#longest);
    const findings = given === null ? [] : findingsIn(given).map(shownFinding);
    return this.#put({
      ...this.#common("review", at),
      type: "review",
      status: given === null ? "failed" : "completed",
      hint: begun?.type === "review" ? begun.hint : "",
      text,
      findings,
      ...(truncated && { truncated }),
    });
  }

  #hasBegun(): boolean {
    return [...this.#items.values()].some(({ type }) => type === "userMessage");
  }

  #notice(level: "info" | "warning" | "error", given: string, at: number): readonly TurnApiEvent[] {
    const { text, truncated } = beginning(given, this.#longest);
    const common = { ...this.#common(`notice-${++this.#notices}`, at), ...(truncated && { truncated }) };
    return this.#put({ ...common, type: "notice", status: "completed", level, text });
  }

  #ended(end: ThreadEvent, at: number): readonly TurnApiEvent[] {
    const outcome = end.type === "turnCompleted" ? "completed" : end.type === "turnFailed" ? "failed" : "interrupted";
    const used = this.#usage.total()?.turn;
    // Unfinished items will never finish.
    for (const [id, item] of this.#items) if (item.status === "running") this.#items.set(id, { ...item, status: "failed" });
    return this.#put({
      ...this.#common("summary", at),
      type: "turnSummary",
      status: outcome === "completed" ? "completed" : "failed",
      outcome,
      message: end.type === "turnFailed" ? beginning(end.message).text : null,
      usage: used ? tokenCounts(used) : null,
      costUsd: (used && this.#model !== undefined && this.#turn.costOf?.(this.#model, used)) || null,
      ms: this.#turn.ranMs() ?? null,
    });
  }

  /** An item keeps the position of its start; later events update it there. */
  #put(item: TimelineItem): readonly TurnApiEvent[] {
    const known = this.#items.get(item.id);
    this.#items.set(item.id, known ? { ...item, at: known.at } : item);
    return [{ type: item.status === "running" ? "item.started" : "item.completed", item: this.#items.get(item.id) ?? item }];
  }

  #common(id: string, at: number): { id: string; turnId: string; at: string } {
    // An item without an id of its own gets that of its turn.
    const own = OF_TURN.test(id) ? `${id}-${this.#turn.turnId}` : id;
    return { id: own, turnId: this.#turn.turnId, at: new Date(at).toISOString() };
  }

  #cut(given: string): { text: string; truncated?: true } {
    const { text, truncated } = beginning(given, this.#longest);
    return truncated ? { text, truncated } : { text };
  }

  #files(changes: Extract<ThreadEvent, { type: "patchStarted" }>["changes"]) {
    return fileDiffs(changes, this.#longest);
  }
}

const OF_TURN = /^(?:plan|compaction|review|summary|notice-\d+|agent-.+)$/;
interface Delta {
  readonly field: "text" | "summary" | "content" | "output";
  readonly index: number;
  readonly delta: string;
}

function withDelta(item: TimelineItem, { field, index, delta }: Delta): TimelineItem {
  if (item.type === "agentMessage" && field === "text") return { ...item, text: item.text + delta };
  if (item.type === "command" && field === "output") return { ...item, output: ending(item.output + delta, MOST_OUTPUT).text };
  if (item.type !== "reasoning" || (field !== "summary" && field !== "content")) return item;
  const texts = [...item[field]];
  while (texts.length <= index) texts.push("");
  texts[index] += delta;
  return { ...item, [field]: texts };
}

function resultText(result: { readonly Ok: unknown } | { readonly Err: string }): string {
  return "Err" in result ? result.Err : (JSON.stringify(result.Ok, null, 2) ?? "");
}

export function shownFinding({ lines, ...finding }: ReturnType<typeof findingsIn>[number]) {
  return { ...finding, lines: lines && { first: lines[0], last: lines[1] } };
}
