import { describe, expect, it } from "vitest";
import { type Entry, EventLog, type LogOptions } from "./eventLog.js";

const PATIENT: LogOptions<string> = { limit: 1_000, weigh: ({ length }) => length, condense: (kept) => [...kept] };

function entries(...values: string[]): Entry<string>[] {
  return values.map((value, index) => ({ seq: index + 1, value }));
}

async function readAll(log: EventLog<string>, options?: { after?: number; signal?: AbortSignal }): Promise<Entry<string>[]> {
  const read: Entry<string>[] = [];
  for await (const batch of log.read(options)) read.push(...batch);
  return read;
}

describe("readers", () => {
  it("each see everything, wherever they are when it is written", async () => {
    const log = new EventLog(PATIENT);
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
    const log = new EventLog(PATIENT);
    log.append(["a"]);
    log.append(["b"]);
    log.end();
    expect(await readAll(log)).toEqual(entries("a", "b"));
  });

  it("may begin behind a number they have seen", async () => {
    const log = new EventLog(PATIENT);
    log.append(["a", "b", "c"]);
    log.end();
    expect(await Promise.all([0, 1, 3, 99].map((after) => readAll(log, { after })))).toEqual([
      entries("a", "b", "c"),
      entries("a", "b", "c").slice(1),
      [],
      [],
    ]);
  });

  it("get a batch as it was written, without waiting for more", async () => {
    const log = new EventLog(PATIENT);
    const reader = log.read();
    const first = reader.next();
    log.append(["a", "b"]);
    expect(await first).toEqual({ done: false, value: entries("a", "b") });
  });

  it("stop when their signal aborts, waiting or not, and others go on", async () => {
    const log = new EventLog(PATIENT);
    const abort = new AbortController();
    const waiting = readAll(log, { signal: abort.signal });
    const other = readAll(log);
    abort.abort();
    expect(await waiting).toEqual([]);
    log.append(["a"]);
    log.end();
    expect([await readAll(log, { signal: abort.signal }), await other]).toEqual([[], entries("a")]);
  });

  it("that leave early are forgotten", async () => {
    const standing: number[][] = [];
    const log = new EventLog<string>({
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
  it("numbers entries from 1 without gaps and knows how many there were", () => {
    const log = new EventLog(PATIENT);
    expect(log.size).toBe(0);
    log.append(["a"]);
    log.append([]);
    log.append(["b", "c"]);
    expect(log.size).toBe(3);
  });

  it("cannot add after the end", async () => {
    const log = new EventLog(PATIENT);
    log.append(["a"]);
    log.end();
    log.end();
    log.append(["late"]);
    expect([await readAll(log), log.size]).toEqual([entries("a"), 1]);
  });
});

describe("a log past its limit", () => {
  it("keeps the shorter story, numbers with gaps, and readers find their place in it", async () => {
    const log = new EventLog<string>({
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
    const log = new EventLog<string>({
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
