import { describe, expect, it } from "vitest";
import { newThreadId, type ThreadId } from "../../src/lib/ids.js";
import { InvalidCursor, StorageFailed, ThreadBusyElsewhere, ThreadInUse, ThreadNotFound } from "../../src/threads/errors.js";
import type { ThreadEvent } from "../../src/threads/events.js";
import type { ThreadQuery, ThreadRecord, ThreadStore } from "../../src/threads/store.js";
import { message, settingsIn } from "../support/threads/rollouts.js";

/** A store, and the store of another node with the same threads. */
export interface StoresUnderTest extends AsyncDisposable {
  readonly here: ThreadStore;
  readonly elsewhere: ThreadStore;
}

/** The contract of every implementation of `ThreadStore`. */
export function threadStoreContract(name: string, open: () => Promise<StoresUnderTest>): void {
  describe(`a thread in ${name}`, () => {
    it("does not exist before its first write", async () => {
      await using stores = await open();
      const { id } = create(stores.here);
      expect([await stores.here.find(id), await stores.elsewhere.find(id), await idsOf(stores.here)]).toEqual([undefined, undefined, []]);
    });

    it("is found on every node with its messages and folder", async () => {
      await using stores = await open();
      const id = await written(stores.here, "first");
      for (const store of [stores.here, stores.elsewhere]) {
        const { items, settings } = (await store.find(id))?.history ?? {};
        expect([items, settings?.cwd]).toEqual([[message("user", "first"), message("assistant", "re: first")], CWD]);
      }
    });

    it("has one writer at a time, and the next one learns that it has changed", async () => {
      await using stores = await open();
      const { id, record } = create(stores.here);
      const first = await record.lease();
      first.append(said("first"));
      const other = await recordIn(stores.elsewhere, id);
      await expect(other.lease()).rejects.toThrow(ThreadBusyElsewhere);
      await expect(stores.elsewhere.checkIdle(id)).rejects.toThrow(ThreadBusyElsewhere);
      first.append(said("second"));
      first.release();
      await stores.elsewhere.checkIdle(id);
      const second = await other.lease();
      second.append(said("third"));
      second.release();
      const third = await record.lease();
      third.release();
      const fourth = await record.lease();
      fourth.release();
      expect([first, second, third, fourth].map(({ changedElsewhere }) => changedElsewhere)).toEqual([false, true, true, false]);
      expect(await textsIn(stores.here, id)).toEqual(["first", "re: first", "second", "re: second", "third", "re: third"]);
    });

    it("cannot be written with a lease that has ended", async () => {
      await using stores = await open();
      const { id, record } = create(stores.here);
      const lease = await record.lease();
      lease.append(said("first"));
      await lease.sync();
      lease.release();
      lease.release();
      expect(() => lease.append(said("late"))).toThrow(StorageFailed);
      expect(await textsIn(stores.elsewhere, id)).toEqual(["first", "re: first"]);
    });

    it("that does not exist is not found, and cannot be changed", async () => {
      await using stores = await open();
      const id = newThreadId();
      expect(await stores.here.find(id)).toBeUndefined();
      for (const action of ["fork", "archive", "unarchive", "remove"] as const)
        await expect(stores.here[action](id)).rejects.toThrow(ThreadNotFound);
      await expect(stores.here.rename(id, "a title")).rejects.toThrow(ThreadNotFound);
    });
  });

  describe(`the list of threads in ${name}`, () => {
    it("has each thread once, newest first, in pages that continue on any node", async () => {
      await using stores = await open();
      const ids: ThreadId[] = [];
      for (let at = 0; at < 7; at++) ids.push(await written(at % 2 === 0 ? stores.here : stores.elsewhere, `thread ${at}`));
      const listed: ThreadId[] = [];
      let cursor: string | undefined;
      for (let page = 0; page === 0 || cursor !== undefined; page++) {
        const { threads, nextCursor } = await (page % 2 === 0 ? stores.here : stores.elsewhere).list({ limit: 3, cursor });
        listed.push(...threads.map(({ id }) => id));
        cursor = nextCursor;
      }
      expect(listed).toEqual(ids.reverse());
    });

    it("shows the first message and the folder of each", async () => {
      await using stores = await open();
      const id = await written(stores.here, "Fix the test");
      const { threads } = await stores.elsewhere.list({ limit: 10 });
      expect(threads).toEqual([expect.objectContaining({ id, preview: "Fix the test", cwd: CWD })]);
    });

    it("can be limited to a folder and to first messages with some words", async () => {
      await using stores = await open();
      const [apple, pear] = [await written(stores.here, "an apple"), await written(stores.here, "a pear")];
      expect(await idsOf(stores.here, { search: "APPLE" })).toEqual([apple]);
      expect(await idsOf(stores.here, { cwd: CWD })).toEqual([pear, apple]);
      expect(await idsOf(stores.here, { cwd: "/elsewhere" })).toEqual([]);
    });

    it("does not accept an invalid cursor", async () => {
      await using stores = await open();
      await expect(stores.here.list({ limit: 5, cursor: "no such place" })).rejects.toThrow(InvalidCursor);
    });
  });

  describe(`what is done to threads in ${name}`, () => {
    it("a fork has the same history under an id of its own, and then continues separately", async () => {
      await using stores = await open();
      const source = await written(stores.here, "first");
      const fork = await stores.elsewhere.fork(source);
      await write(await recordIn(stores.here, fork), "second");
      expect(fork).not.toBe(source);
      expect(await textsIn(stores.elsewhere, fork)).toEqual(["first", "re: first", "second", "re: second"]);
      expect(await textsIn(stores.elsewhere, source)).toEqual(["first", "re: first"]);
      expect((await idsOf(stores.here)).sort()).toEqual([source, fork].sort());
    });

    it("an archived thread leaves the list on every node and returns; it stays usable", async () => {
      await using stores = await open();
      const [kept, archived] = [await written(stores.here, "kept"), await written(stores.here, "archived")];
      await stores.here.archive(archived);
      await stores.here.archive(archived);
      expect([await idsOf(stores.elsewhere), await idsOf(stores.elsewhere, { archived: true })]).toEqual([[kept], [archived]]);
      await write(await recordIn(stores.elsewhere, archived), "second");
      await stores.elsewhere.unarchive(archived);
      expect([await idsOf(stores.here), await idsOf(stores.here, { archived: true })]).toEqual([[archived, kept], []]);
      expect(await textsIn(stores.here, archived)).toEqual(["archived", "re: archived", "second", "re: second"]);
    });

    it("the newest title is shown and found on every node, even while the thread is written", async () => {
      await using stores = await open();
      const [titled, plain] = [await written(stores.here, "first"), await written(stores.here, "second")];
      const lease = await (await recordIn(stores.elsewhere, titled)).lease();
      await stores.here.rename(titled, "A name");
      await stores.elsewhere.rename(titled, 'Übung "3"');
      lease.release();
      for (const store of [stores.here, stores.elsewhere]) {
        const { threads } = await store.list({ limit: 10 });
        expect(threads.map((thread) => [thread.id, thread.name, thread.preview])).toEqual([
          [plain, undefined, "second"],
          [titled, 'Übung "3"', "first"],
        ]);
        expect([await idsOf(store, { search: 'übung "' }), await idsOf(store, { search: "first" })]).toEqual([[titled], [titled]]);
        expect(await idsOf(store, { search: "a name" })).toEqual([]);
      }
    });

    it("a removed thread is gone from every node, archived or not, and the others stay", async () => {
      await using stores = await open();
      const [kept, removed, archived] = [
        await written(stores.here, "kept"),
        await written(stores.here, "removed"),
        await written(stores.here, "archived"),
      ];
      await stores.here.archive(archived);
      for (const id of [kept, removed]) await stores.here.rename(id, `title of ${id}`);
      for (const id of [removed, archived]) await stores.elsewhere.remove(id);
      expect([await idsOf(stores.here), await idsOf(stores.here, { archived: true })]).toEqual([[kept], []]);
      expect([await stores.here.find(removed), await stores.here.find(archived)]).toEqual([undefined, undefined]);
      expect((await stores.here.list({ limit: 1 })).threads).toMatchObject([{ name: `title of ${kept}` }]);
      await expect(stores.here.remove(removed)).rejects.toThrow(ThreadNotFound);
    });

    it("nothing is changed while the thread is written", async () => {
      await using stores = await open();
      const { id, record } = create(stores.here);
      const lease = await record.lease();
      lease.append(said("first"));
      const isBusy = (error: unknown) => error instanceof ThreadInUse || error instanceof ThreadBusyElsewhere;
      for (const store of [stores.here, stores.elsewhere])
        for (const action of ["archive", "remove"] as const) expect(await store[action](id).catch(isBusy)).toBe(true);
      lease.release();
      await stores.elsewhere.archive(id);
    });
  });
}

const CWD = "/project";

function create(store: ThreadStore): { readonly id: ThreadId; readonly record: ThreadRecord } {
  const id = newThreadId();
  return { id, record: store.create({ id, settings: settingsIn(CWD), engine: "native" }) };
}

/** A thread with one completed exchange. */
async function written(store: ThreadStore, text: string): Promise<ThreadId> {
  const { id, record } = create(store);
  await write(record, text);
  await store.settle();
  return id;
}

async function write(record: ThreadRecord, text: string): Promise<void> {
  const lease = await record.lease();
  lease.append(said(text));
  lease.release();
}

function said(text: string): ThreadEvent[] {
  return [
    { type: "rawItem", item: message("user", text) },
    { type: "itemCompleted", item: { kind: "userMessage", id: "1", text } },
    { type: "rawItem", item: message("assistant", `re: ${text}`) },
  ];
}

async function recordIn(store: ThreadStore, id: ThreadId): Promise<ThreadRecord> {
  const stored = await store.find(id);
  if (!stored) throw new Error("the thread is not found");
  return stored.record;
}

async function textsIn(store: ThreadStore, id: ThreadId): Promise<string[]> {
  const { items = [] } = (await store.find(id))?.history ?? {};
  return items.map((item) => JSON.stringify(item)).map((item) => /"text":"([^"]*)"/.exec(item)?.[1] ?? "");
}

async function idsOf(store: ThreadStore, query: Partial<ThreadQuery> = {}): Promise<ThreadId[]> {
  return (await store.list({ limit: 100, ...query })).threads.map(({ id }) => id);
}
