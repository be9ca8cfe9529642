import { type ApprovalDesk, MemoryApprovalDesk } from "../../../src/approvals/desk.js";
import { newThreadId, turnIdOf } from "../../../src/lib/ids.js";
import type { EngineThread, TurnContext } from "../../../src/threads/engine.js";
import type { ThreadEvent, TurnInput } from "../../../src/threads/events.js";
import type { RawItem } from "../../../src/threads/items.js";
import type { ThreadHistory } from "../../../src/threads/store.js";

export interface PlayOptions {
  readonly signal?: AbortSignal;
  /** Called with each batch, before the next one is requested. */
  readonly onBatch?: (batch: readonly ThreadEvent[], index: number) => void;
}

export interface Surroundings {
  readonly desk?: ApprovalDesk;
  /** Observes questions and decisions. */
  readonly tell?: (event: ThreadEvent) => void;
  readonly confined?: boolean;
}

/** The context of a turn: an approval desk whose questions stay open unless a test answers them. */
export function turnContext(
  signal: AbortSignal = new AbortController().signal,
  { desk = new MemoryApprovalDesk(), tell = () => {}, confined = false }: Surroundings = {},
): TurnContext {
  const where = { threadId: newThreadId(), turnId: turnIdOf("0"), signal };
  return {
    ...where,
    confined,
    async ask(subject) {
      const { request, decision } = desk.ask({ ...where, subject });
      tell({ type: "approvalRequested", request });
      const decided = await decision;
      tell({ type: "approvalDecided", id: request.id, decision: decided });
      return decided;
    },
  };
}

/** Runs one turn to its end and returns all its events. */
export async function playTurn(thread: EngineThread, asked: string | TurnInput, options: PlayOptions = {}): Promise<ThreadEvent[]> {
  const signal = options.signal ?? new AbortController().signal;
  const input = typeof asked === "string" ? { text: asked } : asked;
  const events: ThreadEvent[] = [];
  let index = 0;
  for await (const batch of thread.run(input, turnContext(signal))) {
    events.push(...batch);
    options.onBatch?.(batch, index++);
  }
  return events;
}

/** The history that a record of these events would have. */
export function historyOf(events: readonly ThreadEvent[], cwd: string): ThreadHistory {
  let items: RawItem[] = [];
  let usage: ThreadHistory["usage"] = null;
  for (const event of events) {
    if (event.type === "contextItem" || event.type === "rawItem" || event.type === "unseenItem") items.push(event.item);
    if (event.type === "historyCompacted") items = [...event.replacement];
    if (event.type === "tokenCount") usage = event.usage;
  }
  return { items, usage, settings: { cwd } };
}

export function typesOf(events: readonly ThreadEvent[]): string[] {
  return events.map(({ type }) => type);
}

/** The last message of a completed turn. */
export function lastMessageOf(events: readonly ThreadEvent[]): string | null | undefined {
  const end = events.at(-1);
  return end?.type === "turnCompleted" ? end.lastMessage : undefined;
}
