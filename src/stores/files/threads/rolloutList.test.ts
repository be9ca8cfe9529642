import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { asked, keepThread, line, USED_AT } from "../../../../test/support/threads/keptThreads.js";
import { tempHome } from "../../../../test/support/threads/rollouts.js";
import { newThreadId, type ThreadId } from "../../../lib/ids.js";
import type { ThreadQuery, ThreadSummary } from "../../../threads/store.js";
import { RolloutCatalog } from "./rolloutCatalog.js";
import { RolloutList } from "./rolloutList.js";
import { ShelfPacks } from "./shelfPacks.js";
import { ThreadTitles } from "./threadTitles.js";

/** Days of two months; the first has more than one chunk of the index. */
const DAYS = { "2026-01-30": 70, "2026-01-31": 5, "2026-02-01": 5, "2026-02-02": 5 };
/** Limits so small that a search skips most files. */
const LIMITS = { leastIndexed: 20, mostChecked: 3 };
const LONG = `begins ${"and goes on ".repeat(2_000)}until the end`;

let home: string;
let clock: () => number;
let warnings: string[];
let catalog: RolloutCatalog;
let ids: ThreadId[];
beforeEach(async () => {
  const folder = tempHome();
  home = folder.path;
  warnings = [];
  // The index does not trust files for two seconds after a write.
  clock = () => Date.now() + 60_000;
  catalog = open();
  ids = Object.entries(DAYS).flatMap(([day, length]) => Array.from({ length }, (_, at) => keepThread(home, kept(day, at))));
  for (let at = 0; at < 5; at++) keepThread(home, { stamp: `2026-01-01T00-00-0${at}`, words: `archived ${at}`, archived: true });
  await catalog.refreshIndex();
  return () => folder[Symbol.dispose]();
});

function open(): RolloutCatalog {
  return new RolloutCatalog({
    codexHome: home,
    version: "1.2.3",
    env: {},
    index: { ...LIMITS, now: () => clock() },
    warn: (text) => warnings.push(text),
  });
}

function kept(day: string, at: number) {
  const time = [Math.floor(at / 60), at % 60].map((part) => String(part).padStart(2, "0")).join("-");
  return { stamp: `${day}T00-${time}`, words: `Thread ${at} of ${day}`, cwd: `/repo/${at % 3}` };
}

/** The result of a list without an index. */
async function walked(query: Partial<ThreadQuery> = {}): Promise<readonly ThreadSummary[]> {
  const nowhere = path.join(home, "no-index");
  const list = new RolloutList({ codexHome: home, packs: new ShelfPacks(nowhere), titles: new ThreadTitles(home) });
  return (await list.page({ limit: 500, ...query })).threads;
}

async function listed(query: Partial<ThreadQuery> = {}): Promise<readonly ThreadSummary[]> {
  return (await catalog.list({ limit: 500, ...query })).threads;
}

/** The number of files that had to be opened. */
async function looked(query: Partial<ThreadQuery> = {}): Promise<number> {
  const list = new RolloutList({
    codexHome: home,
    packs: new ShelfPacks(home),
    mostChecked: LIMITS.mostChecked,
    titles: new ThreadTitles(home),
  });
  return (await list.page({ limit: 500, ...query })).looked;
}

const QUERIES: readonly Partial<ThreadQuery>[] = [
  {},
  { search: "thread 7" },
  { search: "THREAD 4 OF 2026-02-02" },
  { search: "of" },
  { search: "7" },
  { search: "nobody said this" },
  { search: "" },
  { cwd: "/repo/1" },
  { cwd: "/repo/1/../2", search: "of 2026-01-31" },
  { cwd: "/nowhere" },
  { archived: true },
  { archived: true, search: "archived 3" },
];

async function expectAllAsWalked(): Promise<void> {
  for (const query of QUERIES) expect([query, await listed(query)]).toEqual([query, await walked(query)]);
}

function fileOf(id: ThreadId): string {
  const name = readdirSync(home, { recursive: true, encoding: "utf8" }).find((entry) => entry.endsWith(`${id}.jsonl`));
  return path.join(home, name ?? "");
}

function packs(): string[] {
  return readdirSync(path.join(home, "mcp-server/index"))
    .sort()
    .map((name) => path.join(home, "mcp-server/index", name));
}

describe("with an index", () => {
  it("lists, searches and pages as without one, and opens no file", async () => {
    await expectAllAsWalked();
    for (const query of QUERIES) expect([query, await looked(query)]).toEqual([query, 0]);
    expect((await listed()).map(({ id }) => id)).toEqual(ids.toReversed());
  });

  it("pages continue in another process and after the index is lost", async () => {
    const seen: ThreadId[] = [];
    let cursor: string | undefined;
    for (let page = 0; page === 0 || cursor !== undefined; page++) {
      if (page === 3) rmSync(path.join(home, "mcp-server"), { recursive: true });
      const { threads, nextCursor } = await (page % 2 === 0 ? catalog : open()).list({ limit: 9, cursor });
      seen.push(...threads.map(({ id }) => id));
      cursor = nextCursor;
    }
    expect(seen).toEqual(ids.toReversed());
  });

  it("lists certain threads, and opens no other files even without an index", async () => {
    const [first, middle, last] = [ids[2], ids[40], ids.at(-1)] as ThreadId[];
    const few = new Set([first, middle, last] as ThreadId[]);
    const many = new Set(ids.slice(3, 76));
    expect((await listed({ among: few })).map(({ id }) => id)).toEqual([last, middle, first]);
    expect((await listed({ among: many })).map(({ id }) => id)).toEqual(ids.slice(3, 76).toReversed());
    for (const query of [
      { among: few },
      { among: many, cwd: "/repo/1" },
      { among: many, search: "thread 7" },
      { among: new Set<ThreadId>() },
    ])
      expect([query, await listed(query)]).toEqual([query, await walked(query)]);
    expect((await catalog.list({ limit: 2, among: few })).nextCursor).toBeDefined();
    expect(await looked({ among: few })).toBe(0);
    rmSync(path.join(home, "mcp-server"), { recursive: true });
    expect(await looked({ among: few })).toBe(few.size);
  });

  it.each([true, false])("continues after a page that found none of the wanted threads (with an index: %s)", async (indexed) => {
    const codexHome = indexed ? home : path.join(home, "no-index");
    const list = new RolloutList({ codexHome: home, packs: new ShelfPacks(codexHome), mostPassed: 20, titles: new ThreadTitles(home) });
    // The filters of chunks are not used for so many wanted threads.
    const among = new Set([...ids.slice(0, 2), ...Array.from({ length: 70 }, () => newThreadId())]);
    const pages: ThreadId[][] = [];
    let cursor: string | undefined;
    do {
      const page = await list.page({ limit: 5, cursor, among });
      pages.push(page.threads.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(pages.length).toBeGreaterThan(1);
    expect(pages.flat()).toEqual([ids[1], ids[0]]);
  });

  it("is private to the user, a file for each month and one for the archive", () => {
    expect(packs().map((file) => [path.basename(file), statSync(file).mode & 0o777])).toEqual([
      ["archived.pack", 0o600],
      ["sessions-2026-01.pack", 0o600],
      ["sessions-2026-02.pack", 0o600],
    ]);
    expect(statSync(path.join(home, "mcp-server/index")).mode & 0o777).toBe(0o700);
  });

  it("is not written again while nothing has changed", async () => {
    const before = packs().map((file) => statSync(file).ino);
    await open().refreshIndex();
    expect(packs().map((file) => statSync(file).ino)).toEqual(before);
  });

  it("finds titles, including those of threads that it would skip, and after a change", async () => {
    await catalog.rename(ids[3] as ThreadId, "Zebra crossing");
    expect((await listed({ search: "zebra" })).map(({ id, name }) => [id, name])).toEqual([[ids[3], "Zebra crossing"]]);
    await catalog.rename(ids[3] as ThreadId, "Okapi");
    expect([await listed({ search: "zebra" }), (await listed({ search: "okapi" })).length]).toEqual([[], 1]);
  });

  it("finds a word beyond the indexed part of a long message", async () => {
    const id = keepThread(home, { stamp: "2026-01-15T00-00-00", words: LONG });
    await catalog.refreshIndex();
    expect((await listed({ search: "until the END" })).map((thread) => thread.id)).toEqual([id]);
    expect(await looked({ search: "until the end" })).toBe(1);
    expect(await looked({ search: "nobody" })).toBe(1);
    expect(await looked()).toBe(0);
  });

  it("finds quotes, line breaks, other scripts and incomplete characters as without an index", async () => {
    const words = 'Says "ok\\no" \n\tÜBUNG İstanbul 日本語 🙂🙃';
    keepThread(home, { stamp: "2026-01-15T00-00-00", words });
    await catalog.refreshIndex();
    for (const search of ['"OK', "\\no", "\n\t", "übung", "İSTANBUL", "本", "🙂", "\ud83d", 'k\\no" \n', "no"])
      expect([search, await listed({ search })]).toEqual([search, await walked({ search })]);
    expect((await listed({ search: "本語 🙂" })).length).toBe(1);
  });
});

describe("changes by another program are seen at once:", () => {
  const oldest = () => ids[0] as ThreadId;
  it.for<[string, () => void]>([
    ["a thread on an old day", () => keepThread(home, { stamp: "2026-01-30T23-00-00", words: "thread 7 late" })],
    ["a new day", () => keepThread(home, { stamp: "2026-02-03T00-00-00", words: "thread 7 new" })],
    ["a new year", () => keepThread(home, { stamp: "2027-01-01T00-00-00", words: "thread 7 new" })],
    ["a day before all", () => keepThread(home, { stamp: "2025-12-31T00-00-00", words: "thread 7 old" })],
    ["a thread that is gone", () => unlinkSync(fileOf(oldest()))],
    ["a day that is gone", () => rmSync(path.join(home, "sessions/2026/01/31"), { recursive: true })],
    ["a month that is gone", () => rmSync(path.join(home, "sessions/2026/01"), { recursive: true })],
    ["all of them gone", () => rmSync(path.join(home, "sessions"), { recursive: true })],
    ["one archived", () => renameSync(fileOf(oldest()), path.join(home, "archived_sessions", path.basename(fileOf(oldest()))))],
    ["one gone on with", () => appendFileSync(fileOf(oldest()), line("event_msg", { type: "token_count" }))],
    ["one used again", () => utimesSync(fileOf(oldest()), new Date(), new Date())],
    ["one rewritten in its place", () => rewrite(ids.at(-1) as ThreadId, "thread 7, rewritten")],
    ["one emptied", () => truncateSync(fileOf(ids.at(-1) as ThreadId), 0)],
    [
      "one replaced, with the time of the old one",
      () => {
        const file = fileOf(oldest());
        const lines = readFileSync(file, "utf8").replaceAll("Thread 0", "Thread 7");
        writeFileSync(`${file}.new`, lines);
        utimesSync(`${file}.new`, USED_AT, USED_AT);
        renameSync(`${file}.new`, file);
      },
    ],
    [
      "one that is a link now",
      () => {
        const file = fileOf(oldest());
        const target = path.join(home, "elsewhere.jsonl");
        renameSync(file, target);
        symlinkSync(target, file);
      },
    ],
    [
      "one behind a link",
      () => {
        const file = fileOf(ids.at(-1) as ThreadId);
        const target = path.join(home, "elsewhere.jsonl");
        renameSync(file, target);
        symlinkSync(target, file);
        writeFileSync(target, readFileSync(target, "utf8").replaceAll("Thread 4", "Thread 7x"));
      },
    ],
    ["files that are no threads", () => writeFileSync(path.join(home, "sessions/2026/02/02/notes.txt"), "thread 7")],
    [
      "a file of another thread's name",
      () => renameSync(fileOf(oldest()), fileOf(oldest()).replace(/.{12}\.jsonl$/, "000000000000.jsonl")),
    ],
  ])("%s", async ([, change]) => {
    change();
    await expectAllAsWalked();
    await catalog.refreshIndex();
    await expectAllAsWalked();
    expect([await looked(), warnings]).toEqual([0, []]);
  });

  function rewrite(id: ThreadId, words: string): void {
    const [meta = ""] = readFileSync(fileOf(id), "utf8").split("\n");
    writeFileSync(fileOf(id), [`${meta}\n`, ...asked(words)].join(""));
  }

  it("an old one rewritten in place is shown in its current state, and found by its new words once the index is updated", async () => {
    rewrite(oldest(), "quite another beginning");
    expect((await listed()).at(-1)).toMatchObject({ preview: "quite another beginning" });
    await catalog.refreshIndex();
    expect((await listed({ search: "quite another" })).map(({ id }) => id)).toEqual([oldest()]);
  });

  it("a second file with the same thread id: each file keeps its own entry", async () => {
    keepThread(home, { id: oldest(), stamp: "2026-02-02T12-00-00", words: "thread 7, so it says" });
    await expectAllAsWalked();
  });

  it("a user's first words in a file that had none", async () => {
    const id = keepThread(home, { stamp: "2026-01-30T12-00-00", lines: [] });
    await catalog.refreshIndex();
    expect(await listed({ search: "at last" })).toEqual([]);
    appendFileSync(fileOf(id), asked("at last").join(""));
    expect((await listed({ search: "at last" })).map((thread) => thread.id)).toEqual([id]);
  });

  it("a fork's past that changes", async () => {
    const history_base = { thread_id: oldest(), end_ordinal_exclusive: 9, end_byte_offset: readFileSync(fileOf(oldest())).length };
    keepThread(home, { stamp: "2026-02-02T13-00-00", words: "fork", meta: { forked_from_id: oldest(), history_base } });
    await catalog.refreshIndex();
    const file = fileOf(oldest());
    writeFileSync(file, readFileSync(file, "utf8").replaceAll("Thread 0", "Xhread 0"));
    expect((await listed())[0]).toMatchObject({ preview: "Xhread 0 of 2026-01-30" });
  });
});

describe("an invalid index is ignored and rebuilt:", () => {
  const cut = (share: number) => (file: string) => truncateSync(file, Math.floor(statSync(file).size * share));
  const turnedAt = (share: number) => (file: string) => {
    const bytes = readFileSync(file);
    const at = Math.min(Math.floor(bytes.length * share), bytes.length - 1);
    bytes[at] = (bytes[at] ?? 0) ^ 0x04;
    writeFileSync(file, bytes);
  };
  it.for<[string, (file: string) => void]>([
    ["lost", (file) => unlinkSync(file)],
    ["empty", cut(0)],
    ["torn in the middle", cut(0.5)],
    ["torn at the end", (file) => truncateSync(file, statSync(file).size - 1)],
    ["grown", (file) => appendFileSync(file, "x")],
    ["damaged at the beginning", turnedAt(0)],
    ["damaged in its entries", turnedAt(0.3)],
    ["damaged in its bits", (file) => turnedAt(0.9)(file)],
    ["damaged in its footer", turnedAt(1)],
    ["something else", (file) => writeFileSync(file, "no pack\n".repeat(1_000))],
    ["a folder", (file) => [unlinkSync(file), mkdirSync(file)]],
    ["a link to itself", (file) => [unlinkSync(file), symlinkSync(file, file)]],
    ["another month's", (file) => file.includes("02") && writeFileSync(file, readFileSync(file.replace("-02.", "-01.")))],
  ])("%s", async ([how, spoil]) => {
    for (const file of packs()) spoil(file);
    await expectAllAsWalked();
    await catalog.refreshIndex();
    await expectAllAsWalked();
    if (how === "a folder") return;
    expect([await looked(), warnings]).toEqual([0, []]);
  });

  it("an incomplete index of a killed process is removed later", async () => {
    const [young, old] = ["young", "old"].map((name) => path.join(home, "mcp-server/index", `sessions-2026-01.pack.${name}.new`));
    for (const file of [young, old]) writeFileSync(file as string, "half of");
    utimesSync(old as string, USED_AT, USED_AT);
    await catalog.refreshIndex();
    expect([existsSync(young as string), existsSync(old as string)]).toEqual([true, false]);
  });

  it("a folder that cannot be written is reported once, and lists are right", async () => {
    rmSync(path.join(home, "mcp-server/index"), { recursive: true });
    writeFileSync(path.join(home, "mcp-server/index"), "in the way");
    await catalog.refreshIndex();
    await expectAllAsWalked();
    expect(warnings).toEqual([expect.stringMatching(/^the index of threads cannot be written, so searching stays slow: /)]);
  });

  it("a removed home is not created again", async () => {
    rmSync(home, { recursive: true });
    await catalog.refreshIndex();
    expect([existsSync(home), await listed()]).toEqual([false, []]);
  });
});

describe("the index", () => {
  it("forgets what was said on a removed thread at once", async () => {
    await catalog.remove(ids[0] as ThreadId);
    await catalog.remove(ids.at(-1) as ThreadId);
    expect(packs().filter((file) => readFileSync(file, "latin1").includes("Thread 4 of 2026-02-02"))).toEqual([]);
    await expectAllAsWalked();
  });

  it("has no entries of removed months", async () => {
    rmSync(path.join(home, "sessions/2026/01"), { recursive: true });
    for (let at = 0; at < 30; at++) keepThread(home, { stamp: "2026-02-03T00-00-00" });
    await catalog.refreshIndex();
    expect(packs().map((file) => path.basename(file))).toEqual(["archived.pack", "sessions-2026-02.pack"]);
  });

  it("does not trust files that changed a moment ago, or have a time in the future", async () => {
    for (const shift of [0, -3_600_000]) {
      clock = () => Date.now() + shift;
      rmSync(path.join(home, "mcp-server"), { recursive: true });
      const file = fileOf(keepThread(home, { stamp: "2026-02-02T14-00-00" }));
      await catalog.refreshIndex();
      expect(await looked({ limit: 10 })).toBeGreaterThan(0);
      chmodSync(file, 0o600);
      await expectAllAsWalked();
    }
  });

  it("is not kept for a home with few threads", async () => {
    using few = tempHome();
    keepThread(few.path);
    const small = new RolloutCatalog({ codexHome: few.path, version: "1.2.3", env: {}, warn: () => {} });
    await small.refreshIndex();
    expect(readdirSync(few.path)).toEqual(["sessions"]);
  });

  it("is valid if two processes write it at the same time", async () => {
    rmSync(path.join(home, "mcp-server"), { recursive: true });
    await Promise.all([catalog.refreshIndex(), open().refreshIndex(), open().refreshIndex()]);
    await expectAllAsWalked();
    expect([await looked(), packs().length]).toEqual([0, 3]);
  });
});
