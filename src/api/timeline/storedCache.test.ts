import { expect, it } from "vitest";
import { newThreadId, newTurnKey, type TurnKey } from "../../lib/ids.js";
import type { StoredMoment, StoredStory } from "../../threads/store.js";
import { StoredCache } from "./storedCache.js";

const READING = { signal: new AbortController().signal };

/** A record that counts how often it is read. */
class CountedStory implements StoredStory {
  readonly isArchived = false;
  readonly record: NonNullable<StoredStory["record"]>;
  readings = 0;

  constructor(
    version: string,
    bytes: number,
    private readonly isRead: () => void,
  ) {
    this.record = { version, bytes };
  }

  get moments() {
    return this.#read();
  }

  async *#read(): AsyncGenerator<StoredMoment> {
    this.readings++;
    this.isRead();
    yield { type: "userSpoke", text: this.record.version, at: 0 };
  }
}

function story(version: string, { bytes = 10, isRead = () => {} } = {}): CountedStory {
  return new CountedStory(version, bytes, isRead);
}

it("a record that has not changed is read once, one that has is read again", async () => {
  const [cache, id] = [new StoredCache(), newThreadId()];
  const [first, second] = [story("1"), story("2")];
  const items = await cache.read(id, first, READING);
  expect(await cache.read(id, first, READING)).toBe(items);
  expect((await cache.read(id, second, READING)).preview).toBe("2");
  expect([first.readings, second.readings]).toEqual([1, 1]);
});

it("the least recently used thread is dropped first, when there are too many bytes or too many threads", async () => {
  const cache = new StoredCache({ mostBytes: 25, mostThreads: 3 });
  const threads = Array.from({ length: 3 }, (_, at) => ({ id: newThreadId(), story: story(String(at)) }));
  const read = async (at: number) => {
    const thread = threads[at];
    if (thread) await cache.read(thread.id, thread.story, READING);
    return thread?.story.readings;
  };
  expect([await read(0), await read(1), await read(0), await read(2)]).toEqual([1, 1, 1, 1]);
  expect(cache.bytes).toBe(20);
  expect([await read(0), await read(1)]).toEqual([1, 2]);
  const small = new StoredCache({ mostBytes: 25, mostThreads: 1 });
  const [one, other] = [newThreadId(), newThreadId()];
  await small.read(one, story("a", { bytes: 1 }), READING);
  await small.read(other, story("b", { bytes: 1 }), READING);
  expect(small.bytes).toBe(1);
});

it("a record that is too large or of unknown size is not cached", async () => {
  const [cache, id] = [new StoredCache({ mostBytes: 25, mostThreads: 3 }), newThreadId()];
  const large = story("1", { bytes: 26 });
  await cache.read(id, large, READING);
  await cache.read(id, large, READING);
  await cache.read(id, { isArchived: false, moments: story("1").moments }, READING);
  expect([large.readings, cache.bytes]).toEqual([2, 0]);
});

it("reading the record of a running turn takes at most a tenth of the time; it is read at once when another turn runs, or none", async () => {
  let now = 0;
  const isRead = () => {
    now += 100;
  };
  const [cache, id] = [new StoredCache({ now: () => now }), newThreadId()];
  const [one, other] = [newTurnKey(), newTurnKey()];
  const shown = async (version: string, turn: TurnKey | undefined) =>
    (await cache.read(id, story(version, { isRead }), { ...READING, turn })).preview;
  // The first reading did not contain the start of the turn.
  expect([await shown("1", undefined), await shown("2", one)]).toEqual(["1", "2"]);
  now += 999;
  expect(await shown("3", one)).toBe("2");
  expect([await shown("4", other), await shown("5", other), await shown("6", undefined)]).toEqual(["4", "4", "6"]);
  expect(await shown("7", one)).toBe("7");
  now += 1_000;
  expect(await shown("8", one)).toBe("8");
});
