import type { Entry } from "./eventLog.js";
import type { ThreadEvent } from "./events.js";

type Delta = Extract<ThreadEvent, { type: "messageDelta" | "reasoningDelta" | "rawReasoningDelta" }>;

/** About what an entry costs to keep. */
export function weighEvent(event: ThreadEvent): number {
  if (isDelta(event)) return 100 + event.delta.length;
  if (event.type === "commandOutput") return 100 + event.bytes.length;
  if (event.type === "commandEnded") return 500 + 2 * event.aggregatedOutput.length;
  if (event.type === "itemCompleted" && event.item.kind === "userMessage") return 200 + event.item.text.length;
  return 500;
}

/** Drops deltas of items that are complete, and joins the deltas of an item still being written. No text is lost. */
export function condenseEvents(entries: readonly Entry<ThreadEvent>[], cursors: readonly number[]): Entry<ThreadEvent>[] {
  const complete = new Set<string>();
  for (const { value } of entries) {
    if (value.type === "itemCompleted") complete.add(value.item.id);
    if (value.type === "commandEnded") complete.add(value.callId);
  }
  const kept: Entry<ThreadEvent>[] = [];
  for (const entry of entries) {
    if (entry.value.type === "commandOutput" && complete.has(entry.value.callId)) continue;
    if (!isDelta(entry.value)) {
      kept.push(entry);
      continue;
    }
    if (complete.has(entry.value.itemId)) continue;
    const previous = kept.at(-1);
    const apart = previous === undefined || cursors.some((cursor) => previous.seq <= cursor && cursor < entry.seq);
    const joined = apart ? undefined : joinDeltas(previous.value, entry.value);
    // The joined entry takes the later number, so that a reader who got it goes on behind its last part.
    if (joined) kept[kept.length - 1] = { seq: entry.seq, value: joined };
    else kept.push(entry);
  }
  return kept;
}

function isDelta(event: ThreadEvent): event is Delta {
  return event.type === "messageDelta" || event.type === "reasoningDelta" || event.type === "rawReasoningDelta";
}

function joinDeltas(first: ThreadEvent, second: Delta): Delta | undefined {
  if (!isDelta(first) || first.type !== second.type || first.itemId !== second.itemId) return undefined;
  if (first.type === "reasoningDelta" && second.type === "reasoningDelta" && first.summaryIndex !== second.summaryIndex) return undefined;
  if (first.type === "rawReasoningDelta" && second.type === "rawReasoningDelta" && first.contentIndex !== second.contentIndex)
    return undefined;
  return { ...first, delta: first.delta + second.delta };
}
