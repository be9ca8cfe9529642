import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { bundledProgram } from "../../../../test/support/processes/bundledProgram.js";
import { linesIn, message, saying, settingsIn, storeIn, tempHome } from "../../../../test/support/threads/rollouts.js";
import { WriterProcess } from "../../../../test/support/threads/rolloutWriter.js";
import { newThreadId, type ThreadId } from "../../../lib/ids.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { ThreadRecord } from "../../../threads/store.js";
import type { RateLimits } from "../../../threads/usage.js";
import { RolloutStore } from "./rolloutStore.js";

let program: string;
beforeAll(async () => {
  const built = await bundledProgram("rolloutWriter");
  program = built.file;
  return () => built[Symbol.dispose]();
});

const TOKENS = { input_tokens: 5, cached_input_tokens: 0, output_tokens: 1, reasoning_output_tokens: 0, total_tokens: 6 };
const USAGE = { total_token_usage: TOKENS, last_token_usage: TOKENS, model_context_window: 1000 };
const NO_LIMITS: RateLimits = { primary: null, secondary: null, credits: null, plan_type: null };

/** Writes these events under one lease. */
async function write(record: ThreadRecord, ...events: ThreadEvent[]): Promise<void> {
  const lease = await record.lease();
  try {
    lease.append(events);
  } finally {
    lease.release();
  }
}

async function threadWith(store: RolloutStore, cwd: string, ...events: ThreadEvent[]): Promise<{ id: ThreadId; record: ThreadRecord }> {
  const id = newThreadId();
  const record = store.create({ id, settings: settingsIn(cwd), engine: "native" });
  await write(record, ...events);
  return { id, record };
}

async function saidIn(store: RolloutStore, id: ThreadId): Promise<unknown[] | undefined> {
  const stored = await store.find(id);
  return stored?.history.items.map((item) => (item["content"] as { text: string }[])[0]?.text);
}

const metaLine = expect.objectContaining({ type: "session_meta" });

describe("keeping a thread", () => {
  it("a thread is read by another process as it was written", async () => {
    using home = tempHome();
    const id = newThreadId();
    const settings = settingsIn("/repo", {
      reasoningEffort: "low",
      baseInstructions: "Be brief.",
      developerInstructions: "In rhyme.",
      sandboxPolicy: {
        type: "workspace-write",
        writable_roots: ["/x"],
        network_access: true,
        exclude_tmpdir_env_var: false,
        exclude_slash_tmp: true,
      },
    });
    const store = storeIn(home.path);
    const record = store.create({ id, settings, engine: "native" });
    const lease = await record.lease();
    lease.append([{ type: "contextItem", item: message("developer", "rules") }]);
    lease.append([
      { type: "rawItem", item: message("user", "hi") },
      { type: "itemCompleted", item: { kind: "userMessage", id: "1", text: "hi" } },
      { type: "turnContext", settings },
    ]);
    lease.append([{ type: "messageDelta", itemId: "m", delta: "hel" }]);
    lease.append([saying("hello"), { type: "tokenCount", usage: USAGE, rateLimits: NO_LIMITS }]);
    lease.release();
    await store.settle();

    const stored = await storeIn(home.path).find(id);
    expect(stored?.record.path).toBe(record.path);
    expect(stored?.history).toEqual({
      items: [message("developer", "rules"), message("user", "hi"), message("assistant", "hello")],
      usage: USAGE,
      settings: {
        cwd: "/repo",
        providerId: "openai",
        baseInstructions: "Be brief.",
        model: "gpt-6.1-sol",
        approvalPolicy: "on-request",
        sandboxPolicy: settings.sandboxPolicy,
        reasoningEffort: "low",
        developerInstructions: "In rhyme.",
      },
    });
  });

  it("the first line says which thread it is and who began it", async () => {
    using home = tempHome();
    mkdirSync(path.join(home.path, ".git"));
    writeFileSync(path.join(home.path, ".git/HEAD"), "a".repeat(40));
    const { id, record } = await threadWith(storeIn(home.path), home.path, saying("one"));
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(linesIn(record.path)[0]).toEqual({
      timestamp: time,
      type: "session_meta",
      payload: {
        id,
        timestamp: time,
        cwd: home.path,
        originator: "codex_cli_rs",
        cli_version: "1.2.3",
        source: "mcp",
        model_provider: "openai",
        base_instructions: null,
        git: { commit_hash: "a".repeat(40) },
      },
    });
  });

  it("another originator may be named by the environment", async () => {
    using home = tempHome();
    const { record } = await threadWith(storeIn(home.path, { CODEX_INTERNAL_ORIGINATOR_OVERRIDE: "my_ide" }), "/", saying("one"));
    expect(linesIn(record.path)[0]).toMatchObject({ payload: { originator: "my_ide" } });
  });

  it("no file exists before there is something to store, and the file is for its owner only", async () => {
    using home = tempHome();
    const store = storeIn(home.path);
    const { id, record } = await threadWith(store, "/", { type: "turnStarted", contextWindow: null });
    expect(await store.find(id)).toBeUndefined();
    await write(record, saying("one"));
    expect(statSync(record.path).mode & 0o777).toBe(0o600);
    expect(linesIn(record.path)).toEqual([metaLine, expect.objectContaining({ type: "response_item" })]);
  });

  it("a thread is continued in its own file, by any store", async () => {
    using home = tempHome();
    const { id, record } = await threadWith(storeIn(home.path), "/", saying("one"));
    const later = await storeIn(home.path).find(id);
    if (!later) throw new Error("the thread is gone");
    await write(later.record, saying("two"));
    await write(later.record, saying("three"));
    expect(later.record.path).toBe(record.path);
    expect(await saidIn(storeIn(home.path), id)).toEqual(["one", "two", "three"]);
    expect(linesIn(record.path).map((line) => line["type"])).toEqual(["session_meta", "response_item", "response_item", "response_item"]);
  });

  it("a thread that was archived meanwhile is continued in the archive", async () => {
    using home = tempHome();
    const { id, record } = await threadWith(storeIn(home.path), "/", saying("one"));
    const archived = path.join(home.path, "archived_sessions", path.basename(record.path));
    mkdirSync(path.dirname(archived));
    renameSync(record.path, archived);
    await write(record, saying("two"));
    expect(record.path).toBe(archived);
    expect(await saidIn(storeIn(home.path), id)).toEqual(["one", "two"]);
  });

  it("an unknown thread is not found", async () => {
    using home = tempHome();
    expect(await storeIn(home.path).find(newThreadId())).toBeUndefined();
  });
});

describe("one writer at a time", () => {
  it("a writer learns that another one wrote since its last lease", async () => {
    using home = tempHome();
    const { id, record } = await threadWith(storeIn(home.path), "/", saying("one"));
    const other = await storeIn(home.path).find(id);
    if (!other) throw new Error("the thread is gone");
    const changes: boolean[] = [];
    for (const writer of [record, other.record, other.record, record, record]) {
      const lease = await writer.lease();
      changes.push(lease.changedElsewhere);
      lease.append([saying("more")]);
      lease.release();
    }
    expect(changes).toEqual([false, true, false, true, false]);
  });

  it("a writer learns that a program without locks wrote while it held the thread", async () => {
    using home = tempHome();
    const { record } = await threadWith(storeIn(home.path), "/", saying("one"));
    const lease = await record.lease();
    lease.append([saying("two")]);
    appendFileSync(record.path, '{"from":"somebody"}\n');
    lease.append([saying("three")]);
    lease.release();
    const next = await record.lease();
    expect(next.changedElsewhere).toBe(true);
    next.release();
  });

  it("a writer learns that the file was replaced by another of the same length", async () => {
    using home = tempHome();
    const { record } = await threadWith(storeIn(home.path), "/", saying("one"));
    const content = readFileSync(record.path);
    writeFileSync(`${record.path}.new`, content);
    renameSync(`${record.path}.new`, record.path);
    const lease = await record.lease();
    expect(lease.changedElsewhere).toBe(true);
    lease.release();
  });

  it("while one process writes, another is refused; afterwards it reads what was written and continues", async () => {
    using home = tempHome();
    const { id, record } = await threadWith(storeIn(home.path), "/", saying("one"));
    await using other = new WriterProcess({ program, codexHome: home.path, threadId: id });
    expect(await other.tell("lease")).toEqual({ changedElsewhere: false });
    await other.tell("append two");
    await expect(record.lease()).rejects.toMatchObject({ code: "thread_busy_elsewhere", holder: `process ${other.pid}` });
    await other.tell("release");
    const lease = await record.lease();
    expect(lease.changedElsewhere).toBe(true);
    lease.append([saying("three")]);
    expect(await other.tell("lease")).toMatchObject({ error: "thread_busy_elsewhere" });
    lease.release();
    expect(await saidIn(storeIn(home.path), id)).toEqual(["one", "two", "three"]);
  });

  it("a released thread cannot be written, and releasing it again has no effect", async () => {
    using home = tempHome();
    const { id, record } = await threadWith(storeIn(home.path), "/", saying("one"));
    const late = await record.lease();
    late.release();
    const current = await record.lease();
    late.release();
    await expect(
      storeIn(home.path)
        .find(id)
        .then((found) => found?.record.lease()),
    ).rejects.toMatchObject({ code: "thread_busy_elsewhere" });
    expect(() => late.append([saying("too late")])).toThrow(`Thread ${id} is no longer written to: its turn was ended.`);
    current.append([saying("two")]);
    current.release();
    expect(await saidIn(storeIn(home.path), id)).toEqual(["one", "two"]);
  });
});

describe("when a writer dies or the disk fails", () => {
  it("a process killed in the middle of writing loses at most the event it was writing", async () => {
    using home = tempHome();
    const id = newThreadId();
    await using writer = new WriterProcess({ program, codexHome: home.path, threadId: id });
    await writer.tell("lease");
    expect(await writer.tell("flood")).toEqual({ written: 20 });
    await writer.kill();

    const store = storeIn(home.path);
    const said = (await saidIn(store, id))?.map((text) => String(text).split(" ")[0]);
    expect(said?.length).toBeGreaterThan(20);
    expect(said).toEqual(said?.map((_, number) => String(number)));
    const found = await store.find(id);
    if (!found) throw new Error("the thread is gone");
    await write(found.record, saying("after the crash"));
    expect(linesIn(found.record.path)).toHaveLength((said?.length ?? 0) + 2);
    expect((await saidIn(store, id))?.at(-1)).toBe("after the crash");
  });

  it.each([
    ["short", "x".repeat(10)],
    ["longer than what is looked at in one go", "x".repeat(200_000)],
    ["exactly as long as what is looked at in one go", "x".repeat(64 * 1024)],
  ])("a torn last line, %s, is cut off before the next one is written", async (_, torn) => {
    using home = tempHome();
    const store = storeIn(home.path);
    const { id, record } = await threadWith(store, "/", saying("one"));
    appendFileSync(record.path, torn);
    const found = await store.find(id);
    const lease = await found?.record.lease();
    expect(lease?.changedElsewhere).toBe(false);
    lease?.append([saying("two")]);
    lease?.release();
    expect(linesIn(record.path).map((line) => line["type"])).toEqual(["session_meta", "response_item", "response_item"]);
    expect(await saidIn(store, id)).toEqual(["one", "two"]);
  });

  it("a first line that was torn is written again", async () => {
    using home = tempHome();
    const store = storeIn(home.path);
    const { id, record } = await threadWith(store, "/", saying("one"));
    truncateSync(record.path, 50);
    await write(record, saying("two"));
    expect(linesIn(record.path)).toEqual([metaLine, expect.objectContaining({ type: "response_item" })]);
    expect(await saidIn(store, id)).toEqual(["two"]);
  });

  it("a batch that fits only in part is removed completely, and the thread continues when there is space", async () => {
    using home = tempHome();
    const id = newThreadId();
    await using writer = new WriterProcess({ program, codexHome: home.path, threadId: id, fileLimitKiB: 8 });
    await writer.tell("lease");
    await writer.tell("append one");
    expect(await writer.tell(`append ${"x".repeat(20_000)}`)).toEqual({
      error: "storage_failed",
      message: expect.stringMatching(
        /^Cannot write the thread's file .*\.jsonl: file too large\. Raise the limit of a file's size \(ulimit -f\), or start a new thread\.$/,
      ),
    });
    const store = storeIn(home.path);
    const found = await store.find(id);
    expect(linesIn(found?.record.path ?? "")).toHaveLength(2);
    expect(await writer.tell("append two")).toEqual({});
    await writer.tell("release");
    expect(await saidIn(store, id)).toEqual(["one", "two"]);
  });

  it.runIf(process.platform === "linux")("a full disk is reported with path, reason and remedy, and the lock is given back", async () => {
    using home = tempHome();
    const record = storeIn(home.path).create({ id: newThreadId(), settings: settingsIn("/"), engine: "native" });
    mkdirSync(path.dirname(record.path), { recursive: true });
    symlinkSync("/dev/full", record.path);
    await expect(write(record, saying("one"))).rejects.toMatchObject({
      code: "storage_failed",
      message: `Cannot write the thread's file ${record.path}: no space left on device. Free some space, then try again.`,
    });
    rmSync(record.path);
    await write(record, saying("one"));
    expect(linesIn(record.path)).toHaveLength(2);
  });

  it("a home that cannot hold threads is reported with path, reason and remedy", async () => {
    using home = tempHome();
    writeFileSync(path.join(home.path, "sessions"), "a file where a folder must be");
    const record = storeIn(home.path).create({ id: newThreadId(), settings: settingsIn("/"), engine: "native" });
    await expect(write(record, saying("one"))).rejects.toMatchObject({
      code: "storage_failed",
      message: `Cannot create the thread's file ${record.path}: not a directory. Something that is not a folder is in the way: move it, or set CODEX_HOME to another folder.`,
    });
  });

  it("a missing home is created", async () => {
    using home = tempHome();
    const store = storeIn(path.join(home.path, "not/yet"));
    const { id } = await threadWith(store, "/", saying("one"));
    expect(await saidIn(store, id)).toEqual(["one"]);
  });

  it("a thread whose file was deleted reports that, and the next lease is not affected", async () => {
    using home = tempHome();
    const { record } = await threadWith(storeIn(home.path), "/", saying("one"));
    const content = readFileSync(record.path);
    rmSync(record.path);
    await expect(record.lease()).rejects.toMatchObject({
      code: "storage_failed",
      message: `The thread's file ${record.path} is gone. Put it back, or start a new thread.`,
    });
    writeFileSync(record.path, content);
    await write(record, saying("two"));
    expect(linesIn(record.path)).toHaveLength(3);
  });

  it("a found thread whose file was emptied is not continued without its beginning", async () => {
    using home = tempHome();
    const store = storeIn(home.path);
    const { id, record } = await threadWith(store, "/", saying("one"));
    const found = await store.find(id);
    if (!found) throw new Error("the thread is gone");
    truncateSync(record.path, 0);
    await expect(write(found.record, saying("two"))).rejects.toMatchObject({
      code: "storage_failed",
      message: `The thread's file ${record.path} was emptied. Restore it, or start a new thread.`,
    });
  });

  it("a file under the name of another thread is refused", async () => {
    using home = tempHome();
    const store = storeIn(home.path);
    const { id, record } = await threadWith(store, "/", saying("one"));
    const stranger = newThreadId();
    const copy = record.path.replace(id, stranger);
    writeFileSync(copy, readFileSync(record.path));
    await expect(store.find(stranger)).rejects.toMatchObject({
      code: "storage_failed",
      message: `The file ${copy} holds thread ${id}, not ${stranger}. Give it the name of its thread.`,
    });
  });

  it.each<[string, (store: RolloutStore, id: ThreadId) => Promise<unknown>]>([
    ["opened", (store, id) => store.find(id)],
    ["shown", (store, id) => store.shownOn(id)],
    ["forked", (store, id) => store.fork(id)],
    ["told", async (store, id) => (await store.story(id))?.moments[Symbol.asyncIterator]().next()],
  ])("a pipe in place of the file is refused, and never waited for: %s", async (_, use) => {
    using home = tempHome();
    const store = storeIn(home.path);
    const { id, record } = await threadWith(store, "/", saying("one"));
    await store.settle();
    rmSync(record.path);
    execFileSync("mkfifo", [record.path]);
    await expect(use(storeIn(home.path), id)).rejects.toMatchObject({
      code: "storage_failed",
      message: `Cannot read the thread's file ${record.path}: it is not a regular file. Move it away, or start a new thread.`,
    });
  });

  it.runIf(process.platform === "linux")("a failed flush after a turn is reported", async () => {
    using home = tempHome();
    const warnings: string[] = [];
    const store = new RolloutStore({ codexHome: home.path, version: "1.2.3", env: {}, warn: (line) => warnings.push(line) });
    const record = store.create({ id: newThreadId(), settings: settingsIn("/"), engine: "native" });
    mkdirSync(path.dirname(record.path), { recursive: true });
    symlinkSync("/dev/null", record.path);
    await write(record, saying("into the void"));
    await store.settle();
    expect(warnings).toEqual([`Cannot flush the thread's file ${record.path}: invalid argument.`]);
  });
});
