import { describe, expect, it } from "vitest";
import { newThreadId, newTurnKey } from "../lib/ids.js";
import type { Entry, EventLog } from "./eventLog.js";
import type { ThreadEvent } from "./events.js";
import { condenseEvents, MemoryEventLog, MemoryEventLogs, type MemoryLogOptions, TURN_LOG, weighEvent } from "./memoryEventLog.js";

const PATIENT: MemoryLogOptions<string> = { limit: 1_000, weigh: ({ length }) => length, condense: (kept) => [...kept] };

function entries(...values: string[]): Entry<string>[] {
  return values.map((value, index) => ({ seq: index + 1, value }));
}

async function readAll(log: MemoryEventLog<string>, options?: { after?: number; signal?: AbortSignal }): Promise<Entry<string>[]> {
  const read: Entry<string>[] = [];
  for await (const batch of log.read(options)) read.push(...batch);
  return read;
}

describe("readers", () => {
  it("each see everything, wherever they are when it is written", async () => {
    const log = new MemoryEventLog(PATIENT);
    const early = readAll(log);
    log.append(["a", "b"]);
    const slow = log.read();
    expect(await slow.next()).toEqual({ done: false, value: entries("a", "b") });
    log.append(["c"]);
    const late = readAll(log);
    log.append(["d"]);
    log.end();
    const rest = await slow.next();
    expect([rest, await slow.next()]).toEqual([
      { done: false, value: entries("a", "b", "c", "d").slice(2) },
      { done: true, value: undefined },
    ]);
    expect([await early, await late]).toEqual([entries("a", "b", "c", "d"), entries("a", "b", "c", "d")]);
  });

  it("that come after the end see everything too", async () => {
    const log = new MemoryEventLog(PATIENT);
    log.append(["a"]);
    log.append(["b"]);
    log.end();
    expect(await readAll(log)).toEqual(entries("a", "b"));
  });

  it("may begin after a number that they have seen", async () => {
    const log = new MemoryEventLog(PATIENT);
    log.append(["a", "b", "c"]);
    log.end();
    expect(await Promise.all([0, 1, 3, 99].map((after) => readAll(log, { after })))).toEqual([
      entries("a", "b", "c"),
      entries("a", "b", "c").slice(1),
      [],
      [],
    ]);
  });

  it("get a batch as it was written, without delay", async () => {
    const log = new MemoryEventLog(PATIENT);
    const reader = log.read();
    const first = reader.next();
    log.append(["a", "b"]);
    expect(await first).toEqual({ done: false, value: entries("a", "b") });
  });

  it("stop when their signal aborts, waiting or not, while others continue", async () => {
    const log = new MemoryEventLog(PATIENT);
    const abort = new AbortController();
    const waiting = readAll(log, { signal: abort.signal });
    const other = readAll(log);
    abort.abort();
    expect(await waiting).toEqual([]);
    log.append(["a"]);
    log.end();
    expect([await readAll(log, { signal: abort.signal }), await other]).toEqual([[], entries("a")]);
  });

  it("that stop early are forgotten", async () => {
    const standing: number[][] = [];
    const log = new MemoryEventLog<string>({
      ...PATIENT,
      limit: 0,
      condense: (kept, cursors) => {
        standing.push([...cursors]);
        return [...kept];
      },
    });
    log.append(["a"]);
    const [stays, leaves] = [log.read(), log.read()];
    await Promise.all([stays.next(), leaves.next()]);
    await leaves.return(undefined);
    log.append(["b", "c", "d", "e"]);
    expect(standing).toEqual([[], [1]]);
  });
});

describe("the writer", () => {
  it("numbers entries from 1 without gaps, and knows their count", () => {
    const log = new MemoryEventLog(PATIENT);
    expect(log.size).toBe(0);
    log.append(["a"]);
    log.append([]);
    log.append(["b", "c"]);
    expect(log.size).toBe(3);
  });

  it("cannot add after the end", async () => {
    const log = new MemoryEventLog(PATIENT);
    log.append(["a"]);
    log.end();
    log.end();
    log.append(["late"]);
    expect([await readAll(log), log.size]).toEqual([entries("a"), 1]);
  });
});

describe("a log past its limit", () => {
  it("keeps fewer entries with their numbers, and readers find their place", async () => {
    const log = new MemoryEventLog<string>({
      ...PATIENT,
      limit: 4,
      condense: (kept) => kept.filter(({ value }) => value !== "x"),
    });
    log.append(["a", "x", "b", "x"]);
    log.append(["x", "c"]);
    log.end();
    const condensed = [
      { seq: 1, value: "a" },
      { seq: 3, value: "b" },
      { seq: 6, value: "c" },
    ];
    expect(await Promise.all([0, 1, 2, 3, 5, 6].map((after) => readAll(log, { after })))).toEqual([
      condensed,
      condensed.slice(1),
      condensed.slice(1),
      condensed.slice(2),
      condensed.slice(2),
      [],
    ]);
  });

  it("that cannot be shortened is not tried again before it has doubled", () => {
    let attempts = 0;
    const log = new MemoryEventLog<string>({
      ...PATIENT,
      limit: 10,
      condense: (kept) => {
        attempts++;
        return [...kept];
      },
    });
    for (let count = 0; count < 1_000; count++) log.append(["x"]);
    expect(attempts).toBe(7);
  });
});

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
      { seq: 3, since: 1, value: delta("a", "one two three") },
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

  it("does not join deltas of different items, kinds or parts", () => {
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
      { seq: 2, since: 1, value: { type: "reasoningDelta", itemId: "a", summaryIndex: 1, delta: "45" } },
      { seq: 4, since: 3, value: { type: "rawReasoningDelta", itemId: "a", contentIndex: 2, delta: "67" } },
    ]);
  });

  it("never joins deltas across a reader's place", () => {
    const events = numbered(delta("a", "1"), delta("a", "2"), delta("a", "3"), delta("a", "4"));
    expect(condenseEvents(events, [2])).toEqual([
      { seq: 2, since: 1, value: delta("a", "12") },
      { seq: 4, since: 3, value: delta("a", "34") },
    ]);
    expect(condenseEvents(events, [0, 4, 99])).toEqual([{ seq: 4, since: 1, value: delta("a", "1234") }]);
  });
});

it("the size of an entry is about that of its text", () => {
  expect(weighEvent(delta("a", "x".repeat(1_000)))).toBe(1_100);
  expect(weighEvent({ type: "itemCompleted", item: { kind: "userMessage", id: "u", text: "x".repeat(1_000) } })).toBe(1_200);
  expect(weighEvent({ type: "turnStarted", contextWindow: null })).toBe(500);
});

/** The same numbers in every run, so that a failure can be reproduced. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** A log that is condensed at almost every step, with a reader that may fall behind. */
class Reader {
  readonly seen: Entry<ThreadEvent>[] = [];
  readonly #batches: AsyncGenerator<readonly Entry<ThreadEvent>[]>;

  constructor(log: EventLog<ThreadEvent>) {
    this.#batches = log.read();
  }

  /** False if there is nothing more to read. */
  async readOn(): Promise<boolean> {
    const { value, done } = await this.#batches.next();
    if (!done) this.seen.push(...value);
    return !done;
  }
}

/** The parts that must be equal for every reader: all text of incomplete items, and every other event, in order. */
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

it("each reader gets everything once, whatever is written and however far it falls behind", async () => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = randomNumbers(seed);
    const log = new MemoryEventLog<ThreadEvent>({ limit: 0, weigh: () => (random(3) === 0 ? 1 : 1_000_000), condense: condenseEvents });
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
      // A reader that has seen everything would wait for more.
      if (reader && (reader.seen.at(-1)?.seq ?? 0) < written.length) await reader.readOn();
    }
    log.end();
    for (const reader of readers) while (await reader.readOn());
    const numbers = readers.map(({ seen }) => seen.map(({ seq }) => seq));
    expect(numbers, `seed ${seed}`).toEqual(numbers.map((seqs) => [...new Set(seqs)].sort((a, b) => a - b)));
    for (const { seen } of readers) expect(storyOf(seen.map(({ value }) => value)), `seed ${seed}`).toEqual(storyOf(written));
  }
});

it("a reader that left in the middle of joined deltas gets all of them, with the number of the first", async () => {
  const log = new MemoryEventLog<ThreadEvent>({ ...TURN_LOG, limit: 0 });
  log.append([delta("a", "one ")]);
  log.append([delta("a", "two "), delta("a", "three")]);
  log.end();
  const joined = [{ seq: 3, since: 1, value: delta("a", "one two three") }];
  for (const after of [0, 1, 2]) {
    const batches = [];
    for await (const batch of log.read({ after })) batches.push(batch);
    expect(batches).toEqual([joined]);
  }
});

describe("the logs of a node", () => {
  const threadId = newThreadId();
  const warning = (message: string): ThreadEvent => ({ type: "warning", message });

  it("are forgotten when 64 newer turns have ended, but never while their turn runs", async () => {
    const logs = new MemoryEventLogs(TURN_LOG);
    const turns = Array.from({ length: 66 }, () => ({ threadId, turn: newTurnKey() }));
    const [, ...ended] = turns.map((turn) => logs.create(turn));
    for (const log of ended) log.end();
    logs.create({ threadId, turn: newTurnKey() });
    const found = await Promise.all(turns.map((turn) => logs.find(turn)));
    expect(found.map((log) => log !== undefined)).toEqual(turns.map((_, at) => at !== 1));
  });

  it("are forgotten when they take too much memory, the oldest first", async () => {
    const logs = new MemoryEventLogs<ThreadEvent>({ ...TURN_LOG, weigh: () => 7 * 1024 * 1024 });
    const turns = ["a", "b", "c"].map((message) => {
      const turn = { threadId, turn: newTurnKey() };
      const log = logs.create(turn);
      log.append([warning(message)]);
      log.end();
      return turn;
    });
    logs.create({ threadId, turn: newTurnKey() });
    const found = await Promise.all(turns.map((turn) => logs.find(turn)));
    expect(found.map((log) => log !== undefined)).toEqual([false, true, true]);
  });
});
