import { describe, expect, it } from "vitest";
import { condenseEvents, weighEvent } from "./condense.js";
import { type Entry, EventLog } from "./eventLog.js";
import type { ThreadEvent } from "./events.js";

function delta(itemId: string, text: string): ThreadEvent {
  return { type: "messageDelta", itemId, delta: text };
}

function completed(id: string): ThreadEvent {
  return { type: "itemCompleted", item: { kind: "agentMessage", id, texts: [] } };
}

function numbered(...values: ThreadEvent[]): Entry<ThreadEvent>[] {
  return values.map((value, index) => ({ seq: index + 1, value }));
}

describe("condensing", () => {
  it("joins the deltas of an item still being written, under the last one's number", () => {
    expect(condenseEvents(numbered(delta("a", "one "), delta("a", "two "), delta("a", "three")), [])).toEqual([
      { seq: 3, value: delta("a", "one two three") },
    ]);
  });

  it("drops the deltas of a complete item, of every kind, and keeps the item", () => {
    const events: ThreadEvent[] = [
      delta("a", "text"),
      { type: "reasoningDelta", itemId: "a", summaryIndex: 0, delta: "why" },
      { type: "rawReasoningDelta", itemId: "a", contentIndex: 0, delta: "because" },
      completed("a"),
    ];
    expect(condenseEvents(numbered(...events), [])).toEqual([{ seq: 4, value: completed("a") }]);
  });

  it("keeps apart what belongs to different items, kinds or parts", () => {
    const events = numbered(
      delta("a", "1"),
      delta("b", "2"),
      delta("a", "3"),
      { type: "reasoningDelta", itemId: "a", summaryIndex: 0, delta: "4" },
      { type: "reasoningDelta", itemId: "a", summaryIndex: 1, delta: "5" },
      { type: "rawReasoningDelta", itemId: "a", contentIndex: 0, delta: "6" },
      { type: "rawReasoningDelta", itemId: "a", contentIndex: 1, delta: "7" },
      { type: "warning", message: "in between" },
      { type: "rawReasoningDelta", itemId: "a", contentIndex: 1, delta: "8" },
    );
    expect(condenseEvents(events, [])).toEqual(events);
  });

  it("joins the parts of one summary and of one raw text", () => {
    const events: ThreadEvent[] = [
      { type: "reasoningDelta", itemId: "a", summaryIndex: 1, delta: "4" },
      { type: "reasoningDelta", itemId: "a", summaryIndex: 1, delta: "5" },
      { type: "rawReasoningDelta", itemId: "a", contentIndex: 2, delta: "6" },
      { type: "rawReasoningDelta", itemId: "a", contentIndex: 2, delta: "7" },
    ];
    expect(condenseEvents(numbered(...events), [])).toEqual([
      { seq: 2, value: { type: "reasoningDelta", itemId: "a", summaryIndex: 1, delta: "45" } },
      { seq: 4, value: { type: "rawReasoningDelta", itemId: "a", contentIndex: 2, delta: "67" } },
    ]);
  });

  it("never joins across the place where a reader stands", () => {
    const events = numbered(delta("a", "1"), delta("a", "2"), delta("a", "3"), delta("a", "4"));
    expect(condenseEvents(events, [2])).toEqual([
      { seq: 2, value: delta("a", "12") },
      { seq: 4, value: delta("a", "34") },
    ]);
    expect(condenseEvents(events, [0, 4, 99])).toEqual([{ seq: 4, value: delta("a", "1234") }]);
  });
});

it("an entry weighs about what its text does", () => {
  expect(weighEvent(delta("a", "x".repeat(1_000)))).toBe(1_100);
  expect(weighEvent({ type: "itemCompleted", item: { kind: "userMessage", id: "u", text: "x".repeat(1_000) } })).toBe(1_200);
  expect(weighEvent({ type: "turnStarted", contextWindow: null })).toBe(500);
});

/** The same numbers in every run, so that a failure can be looked at again. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** A log that is condensed at almost every step, and a reader of it that may fall behind. */
class Reader {
  readonly seen: Entry<ThreadEvent>[] = [];
  readonly #batches: AsyncGenerator<readonly Entry<ThreadEvent>[]>;

  constructor(log: EventLog<ThreadEvent>) {
    this.#batches = log.read();
  }

  /** False when there is nothing more. */
  async readOn(): Promise<boolean> {
    const { value, done } = await this.#batches.next();
    if (!done) this.seen.push(...value);
    return !done;
  }
}

/** What must be the same for every reader: all text of items never completed, and everything that is no delta, in order. */
function storyOf(events: readonly ThreadEvent[]): unknown {
  const complete = new Set(events.flatMap((event) => (event.type === "itemCompleted" ? [event.item.id] : [])));
  const texts: Record<string, string> = {};
  const others: ThreadEvent[] = [];
  for (const event of events) {
    if (event.type !== "messageDelta") others.push(event);
    else if (!complete.has(event.itemId)) texts[event.itemId] = (texts[event.itemId] ?? "") + event.delta;
  }
  return { texts, others };
}

it("whatever is written and however readers fall behind, each is told the whole story once", async () => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = randomNumbers(seed);
    const log = new EventLog<ThreadEvent>({ limit: 0, weigh: () => (random(3) === 0 ? 1 : 1_000_000), condense: condenseEvents });
    const written: ThreadEvent[] = [];
    const readers: Reader[] = [new Reader(log)];
    let item = 0;
    for (let step = 0; step < 80; step++) {
      const event = [
        () => delta(`item ${item}`, `${step} `),
        () => delta(`item ${item + 1}`, `${step} `),
        (): ThreadEvent => ({ type: "warning", message: String(step) }),
        () => completed(`item ${item++}`),
      ][Math.max(0, random(8) - 4)];
      if (!event) throw new Error("no event");
      const batch = Array.from({ length: 1 + random(3) }, event);
      written.push(...batch);
      log.append(batch);
      if (random(20) === 0) readers.push(new Reader(log));
      const reader = readers[random(readers.length)];
      // Somebody who has seen everything would wait for more.
      if (reader && (reader.seen.at(-1)?.seq ?? 0) < written.length) await reader.readOn();
    }
    log.end();
    for (const reader of readers) while (await reader.readOn());
    const numbers = readers.map(({ seen }) => seen.map(({ seq }) => seq));
    expect(numbers, `seed ${seed}`).toEqual(numbers.map((seqs) => [...new Set(seqs)].sort((a, b) => a - b)));
    for (const { seen } of readers) expect(storyOf(seen.map(({ value }) => value)), `seed ${seed}`).toEqual(storyOf(written));
  }
});
