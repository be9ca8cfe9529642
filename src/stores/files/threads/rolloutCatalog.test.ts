import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { bundledProgram } from "../../../../test/support/processes/bundledProgram.js";
import { asked, keepThread, line, USED_AT } from "../../../../test/support/threads/keptThreads.js";
import { linesIn, message, saying, storeIn, tempHome } from "../../../../test/support/threads/rollouts.js";
import { WriterProcess } from "../../../../test/support/threads/rolloutWriter.js";
import { newThreadId, type ThreadId, threadIdOf } from "../../../lib/ids.js";
import { InvalidCursor, ThreadInUse, ThreadNotFound } from "../../../threads/errors.js";
import type { ThreadQuery } from "../../../threads/store.js";
import { RolloutCatalog } from "./rolloutCatalog.js";
import { MOST_LOOKED_AT } from "./rolloutList.js";
import { findRollout } from "./rolloutPaths.js";

const REFERENCE = { thread_id: "019bff00-0000-7000-8000-00000000000f", end_ordinal_exclusive: 9, end_byte_offset: 100_000 };

let home: string;
let catalog: RolloutCatalog;
let warnings: string[];
beforeEach(() => {
  const folder = tempHome();
  home = folder.path;
  warnings = [];
  catalog = new RolloutCatalog({ codexHome: home, version: "1.2.3", env: {}, warn: (text) => warnings.push(text) });
  return () => folder[Symbol.dispose]();
});

async function idsOf(query: Partial<ThreadQuery> = {}): Promise<ThreadId[]> {
  return (await catalog.list({ limit: 100, ...query })).threads.map(({ id }) => id);
}

/** The threads on each page. */
async function pages(limit: number, query: Partial<ThreadQuery> = {}): Promise<ThreadId[][]> {
  const all: ThreadId[][] = [];
  let cursor: string | undefined;
  do {
    const { threads, nextCursor } = await catalog.list({ ...query, limit, cursor });
    all.push(threads.map(({ id }) => id));
    cursor = nextCursor;
  } while (cursor !== undefined);
  return all;
}

function fileOf(id: ThreadId): string {
  const name = readdirSync(home, { recursive: true, encoding: "utf8" }).find((entry) => entry.endsWith(`${id}.jsonl`));
  return path.join(home, name ?? "");
}

describe("the list", () => {
  it("shows a thread's first message, folder and last use", async () => {
    const id = keepThread(home, { words: "Fix the\n  flaky test", cwd: "/repo/a" });
    expect(await catalog.list({ limit: 10 })).toEqual({
      threads: [
        {
          id,
          preview: "Fix the flaky test",
          cwd: "/repo/a",
          path: expect.stringMatching(`sessions/2026/01/27/rollout-.*-${id}.jsonl$`),
          startedAt: "2026-01-27T10:32:31.100Z",
          lastUsedAt: USED_AT.toISOString(),
        },
      ],
    });
  });

  it("is empty for a home without threads", async () => {
    expect(await catalog.list({ limit: 10 })).toEqual({ threads: [] });
  });

  it("has the newest first, across days, months and years", async () => {
    const stamps = ["2025-12-31T23-59-59", "2026-01-01T00-00-00", "2026-01-31T10-00-00", "2026-02-01T09-00-00", "2026-02-01T10-00-00"];
    const ids = stamps.map((stamp) => keepThread(home, { stamp }));
    expect(await idsOf()).toEqual(ids.reverse());
  });

  it("has each thread once in pages of any size, however many threads began in one second", async () => {
    const ids = Array.from({ length: 24 }, (_, at) => keepThread(home, { stamp: `2026-01-${at < 20 ? "27" : "28"}T10-32-31` }));
    const newestFirst = [...ids.slice(20).reverse(), ...ids.slice(0, 20).reverse()];
    for (const limit of [1, 5, 7, 23, 24, 25]) expect((await pages(limit)).flat()).toEqual(newestFirst);
    expect((await pages(8)).map(({ length }) => length)).toEqual([8, 8, 8]);
  });

  it("continues after a page although threads are added and removed meanwhile", async () => {
    const [oldest, , newer] = ["01", "02", "03"].map((day) => keepThread(home, { stamp: `2026-01-${day}T00-00-00` }));
    const first = await catalog.list({ limit: 2 });
    await catalog.archive(newer as ThreadId);
    keepThread(home, { stamp: "2026-01-04T00-00-00" });
    expect(await idsOf({ cursor: first.nextCursor })).toEqual([oldest]);
  });

  it("a last page has no cursor, even when other files follow it", async () => {
    keepThread(home, { stamp: "2026-01-02T00-00-00" });
    keepThread(home, { stamp: "2026-01-01T00-00-00", lines: [] });
    expect(await catalog.list({ limit: 1 })).not.toHaveProperty("nextCursor");
  });

  it("reads a limited number of files for one page, and the next page continues from there", async () => {
    for (let at = 0; at < MOST_LOOKED_AT; at++) keepThread(home, { stamp: "2026-01-02T00-00-00", lines: [] });
    const id = keepThread(home, { stamp: "2026-01-01T00-00-00" });
    expect(await pages(10)).toEqual([[], [id]]);
  });

  it.for(["", "x", "2026/01/27", "../../../etc/passwd", "2026/01/27/rollout-2026-01-27T10-32-31.jsonl"])(
    "refuses %j as a cursor",
    async (cursor) => {
      await expect(catalog.list({ limit: 1, cursor })).rejects.toEqual(new InvalidCursor());
    },
  );

  it("refuses a cursor of the archived threads for the others", async () => {
    for (const archived of [true, true, false, false]) keepThread(home, { archived });
    for (const archived of [true, false]) {
      const { nextCursor: cursor } = await catalog.list({ limit: 1, archived });
      await expect(catalog.list({ limit: 1, archived: !archived, cursor })).rejects.toEqual(new InvalidCursor());
    }
  });

  it("has the archived threads only on request", async () => {
    const [there, away] = [keepThread(home), keepThread(home, { archived: true })];
    expect([await idsOf(), await idsOf({ archived: true })]).toEqual([[there], [away]]);
  });

  it("can be limited to a folder and to first messages with some words", async () => {
    const here = keepThread(home, { cwd: "/repo/a", words: "Fix the Flaky test" });
    const there = keepThread(home, { cwd: "/repo/b", words: "Count flakes" });
    expect(await idsOf({ cwd: "/repo/a/" })).toEqual([here]);
    expect(await idsOf({ search: "FLAK" })).toEqual([there, here]);
    expect(await idsOf({ search: "flak", cwd: "/repo/b" })).toEqual([there]);
    expect(await idsOf({ search: "nobody said this" })).toEqual([]);
  });

  it("finds the user's messages in files of newer versions of Codex", async () => {
    const item = { type: "UserMessage", content: [{ type: "text", text: "Count to 6" }] };
    keepThread(home, { lines: [line("event_msg", { type: "item_completed", item })] });
    expect((await catalog.list({ limit: 1 })).threads).toMatchObject([{ preview: "Count to 6" }]);
  });

  it.for([
    ["as Codex 0.92.0 and this server write it", (words: string) => asked(words)],
    [
      "as newer versions of Codex write it",
      (words: string) => {
        const item = { type: "UserMessage", id: "1", content: [{ type: "text", text: words, text_elements: [] }] };
        return [line("response_item", message("user", words)), line("event_msg", { type: "item_completed", item })];
      },
    ],
  ] as const)("lists a thread whose first message has more than 8 MiB, and finds it by the beginning: %s", async ([, lines]) => {
    // Some characters are longer in JSON.
    const words = `Summarise "this" log:\n${"line \\ with\tescapes\n".repeat(700_000)}`;
    const id = keepThread(home, { lines: lines(words) });
    const preview = `${words.slice(0, 1_000).replace(/\s+/g, " ").slice(0, 159)}…`;
    expect((await catalog.list({ limit: 10 })).threads).toEqual([expect.objectContaining({ id, preview })]);
    expect(await idsOf({ search: 'summarise "this" LOG' })).toEqual([id]);
    expect(await idsOf({ search: "something else" })).toEqual([]);
  });

  it("shows a fork that only refers to its history with that history", async () => {
    const past = keepThread(home, { stamp: "2026-01-01T00-00-00", words: "Begin" });
    const history_base = { thread_id: past, end_ordinal_exclusive: 9, end_byte_offset: readFileSync(fileOf(past)).length };
    keepThread(home, { words: "Go on", meta: { forked_from_id: past, history_base } });
    expect((await catalog.list({ limit: 1 })).threads).toMatchObject([{ preview: "Begin" }]);
  });
});

describe("files that are not threads of a user are skipped:", () => {
  const instead = (file: string, make: (file: string) => void) => {
    rmSync(file);
    make(file);
  };
  it.for<[string, (file: string, id: ThreadId) => void]>([
    ["one without a word of the user", (_, id) => keepThread(home, { id, lines: [] })],
    ["one of a thread's own helpers", (_, id) => keepThread(home, { id, meta: { source: { subagent: "review" } } })],
    ["one whose name is of another thread", (file, id) => renameSync(file, file.replace(id, newThreadId()))],
    ["an empty one", (file) => writeFileSync(file, "")],
    ["a torn one", (file) => writeFileSync(file, readFileSync(file).subarray(0, 40))],
    ["one that is no JSON", (file) => writeFileSync(file, "no JSON\n".repeat(300))],
    ["one that refers to a past that is gone", (_, id) => keepThread(home, { id, meta: { history_base: REFERENCE } })],
    ["one that refers to itself", (_, id) => keepThread(home, { id, meta: { history_base: { ...REFERENCE, thread_id: id } }, lines: [] })],
    ["a folder of that name", (file) => instead(file, mkdirSync)],
    ["a pipe of that name", (file) => instead(file, () => execFileSync("mkfifo", [file]))],
    ["what lies beside them", (file) => renameSync(file, `${file}.new`)],
    ["those in folders of other names", (file) => renameSync(path.dirname(file), path.join(home, "sessions/2026/01/later"))],
  ])("%s", async ([, spoil]) => {
    const good = keepThread(home, { stamp: "2026-01-26T00-00-00" });
    const id = keepThread(home);
    spoil(fileOf(id), id);
    expect(await idsOf()).toEqual([good]);
  });

  it("an unreadable file, and a day that is not a folder", async () => {
    const good = keepThread(home);
    const circular = fileOf(keepThread(home));
    rmSync(circular);
    symlinkSync(circular, circular);
    const day = path.dirname(fileOf(keepThread(home, { stamp: "2026-01-28T00-00-00" })));
    rmSync(day, { recursive: true });
    symlinkSync(day, day);
    expect(await idsOf()).toEqual([good]);
  });
});

describe("a fork", () => {
  it("has the whole history under an id of its own, and names its origin", async () => {
    const id = keepThread(home, { words: "Begin", meta: { base_instructions: { text: "Be brief." }, git: { branch: "main" } } });
    const before = readFileSync(fileOf(id), "utf8");
    const forked = await catalog.fork(id);
    const [meta, ...rest] = linesIn(fileOf(forked));
    expect(meta).toEqual({
      timestamp: expect.any(String),
      type: "session_meta",
      payload: {
        id: forked,
        forked_from_id: id,
        timestamp: expect.any(String),
        cwd: "/repo",
        originator: "codex_cli_rs",
        cli_version: "1.2.3",
        source: "mcp",
        model_provider: "openai",
        base_instructions: { text: "Be brief." },
        git: { branch: "main" },
      },
    });
    expect(rest).toEqual(linesIn(fileOf(id)));
    expect(readFileSync(fileOf(id), "utf8")).toBe(before);
    expect(await findRollout(home, forked)).toBe(fileOf(forked));
  });

  it("continues independently", async () => {
    const id = keepThread(home, { words: "Begin" });
    const forked = await catalog.fork(id);
    for (const [thread, words] of [
      [id, "there"],
      [forked, "here"],
    ] as const) {
      const lease = await (await storeIn(home).find(thread))?.record.lease();
      lease?.append([saying(words)]);
      lease?.release();
    }
    const saidOn = async (thread: ThreadId) => (await storeIn(home).find(thread))?.history.items.slice(1);
    expect([await saidOn(id), await saidOn(forked)]).toEqual([
      [message("user", "Begin"), message("assistant", "there")],
      [message("user", "Begin"), message("assistant", "here")],
    ]);
    expect((await catalog.list({ limit: 5 })).threads.map(({ preview }) => preview)).toEqual(["Begin", "Begin"]);
  });

  it("of a fork that only refers to its history contains that too", async () => {
    const past = keepThread(home, { words: "Begin" });
    const history_base = { thread_id: past, end_ordinal_exclusive: 9, end_byte_offset: readFileSync(fileOf(past)).length };
    appendFileSync(fileOf(past), asked("Never heard here").join(""));
    const id = keepThread(home, { words: "Go on", meta: { forked_from_id: past, history_base } });
    const forked = await catalog.fork(id);
    const said = (await storeIn(home).find(forked))?.history.items.filter(
      ({ content }) => !JSON.stringify(content).includes("<environment"),
    );
    expect(said).toEqual([message("user", "Begin"), message("user", "Go on")]);
  });

  it("of a file without a thread id leaves nothing behind", async () => {
    const id = keepThread(home);
    writeFileSync(fileOf(id), "no JSON\n");
    await expect(catalog.fork(id)).rejects.toMatchObject({ code: "storage_failed", message: expect.stringContaining(fileOf(id)) });
    const left = readdirSync(home, { recursive: true, encoding: "utf8" }).filter((name) => name.includes("rollout-"));
    expect(left.map((name) => path.basename(name))).toEqual([path.basename(fileOf(id))]);
  });
});

describe("an archived thread", () => {
  it("is moved out of the list as Codex moves it, and back", async () => {
    const id = keepThread(home);
    const [place, name] = [fileOf(id), path.basename(fileOf(id))];
    await catalog.archive(id);
    expect([fileOf(id), await idsOf(), await idsOf({ archived: true })]).toEqual([path.join(home, "archived_sessions", name), [], [id]]);
    await catalog.unarchive(id);
    expect([fileOf(id), await idsOf(), await idsOf({ archived: true })]).toEqual([place, [id], []]);
  });

  it("is not changed if it is in the right place", async () => {
    const id = keepThread(home);
    await catalog.unarchive(id);
    expect(await idsOf()).toEqual([id]);
    await catalog.archive(id);
    await catalog.archive(id);
    expect(await idsOf({ archived: true })).toEqual([id]);
  });

  it("does not take the place of another file", async () => {
    const id = keepThread(home, { id: threadIdOf("019bff00-0000-7000-8000-000000000001") });
    keepThread(home, { id, archived: true, words: "another" });
    await expect(catalog.archive(id)).rejects.toMatchObject({ code: "storage_failed" });
    expect([await idsOf(), await idsOf({ archived: true })]).toEqual([[id], [id]]);
  });
});

describe.each(["fork", "archive", "unarchive"] as const)("to %s", (action) => {
  it("an unknown thread is refused", async () => {
    const id = newThreadId();
    await expect(catalog[action](id)).rejects.toEqual(new ThreadNotFound(id));
    expect(readdirSync(path.join(home, "mcp-server/locks")).filter((name) => name.startsWith(id))).toEqual([]);
  });

  it("a thread whose turn runs in this process is refused", async () => {
    const id = keepThread(home);
    const lease = await (await storeIn(home).find(id))?.record.lease();
    await expect(catalog[action](id)).rejects.toEqual(new ThreadInUse(id));
    lease?.release();
    await catalog[action](id);
  });
});

describe("another process that runs a turn", () => {
  let program: string;
  beforeAll(async () => {
    const built = await bundledProgram("rolloutWriter");
    program = built.file;
    return () => built[Symbol.dispose]();
  });

  it("is not interrupted: its thread is archived afterwards", async () => {
    const id = keepThread(home);
    await using writer = new WriterProcess({ program, codexHome: home, threadId: id });
    await writer.tell("lease");
    await expect(catalog.archive(id)).rejects.toMatchObject({ code: "thread_busy_elsewhere" });
    await writer.tell("append still here");
    await writer.tell("release");
    await catalog.archive(id);
    expect(readFileSync(fileOf(id), "utf8")).toContain("still here");
    expect(await idsOf({ archived: true })).toEqual([id]);
  });
});
