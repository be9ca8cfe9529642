import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeAll, expect, it, vi } from "vitest";
import { bundledProgram } from "../../../../test/support/processes/bundledProgram.js";
import { tempHome } from "../../../../test/support/threads/rollouts.js";
import { WriterProcess } from "../../../../test/support/threads/rolloutWriter.js";
import { newThreadId } from "../../../lib/ids.js";
import { ownRun } from "../../../platform/processes.js";
import { ThreadBusyElsewhere } from "../../../threads/errors.js";
import { WriterLocks } from "./writerLock.js";

let program: string;
beforeAll(async () => {
  const built = await bundledProgram("rolloutWriter");
  program = built.file;
  return () => built[Symbol.dispose]();
});

afterEach(() => {
  vi.useRealTimers();
});

const ONE_MINUTE_MS = 60_000;

function filesIn(codexHome: string): string[] {
  return readdirSync(path.join(codexHome, "mcp-server/locks"));
}

/** Without the files that claims are links to. */
function locksIn(codexHome: string): string[] {
  return filesIn(codexHome).filter((name) => !isLinked(name));
}

function linkedFilesIn(codexHome: string): string[] {
  return filesIn(codexHome).filter(isLinked);
}

function isLinked(name: string): boolean {
  return name.startsWith("linked.");
}

/** Writes a claim as another process would. */
function claim(codexHome: string, name: string, options: { ageMs?: number } = {}): string {
  const file = path.join(codexHome, "mcp-server/locks", name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, "");
  const time = new Date(Date.now() - (options.ageMs ?? 0));
  utimesSync(file, time, time);
  return file;
}

it("a lock is one file while it is held, and none afterwards", async () => {
  using home = tempHome();
  const id = newThreadId();
  const lock = await new WriterLocks(home.path).acquire(id);
  expect(locksIn(home.path)).toEqual([expect.stringMatching(new RegExp(`^${id}\\.[^.]+\\.${process.pid}-\\d+\\.[0-9a-f]{8}$`))]);
  lock.release();
  expect(locksIn(home.path)).toEqual([]);
});

it("locks are links to one file, which is created again when it was removed", async () => {
  using home = tempHome();
  const locks = new WriterLocks(home.path);
  const folder = path.join(home.path, "mcp-server/locks");
  const inodes = () => filesIn(home.path).map((name) => statSync(path.join(folder, name)).ino);
  const lock = await locks.acquire(newThreadId());
  expect([inodes().length, new Set(inodes()).size]).toEqual([2, 1]);
  lock.release();

  rmSync(path.join(folder, linkedFilesIn(home.path)[0] ?? ""));
  const next = await locks.acquire(newThreadId());
  expect([locksIn(home.path).length, linkedFilesIn(home.path).length]).toEqual([1, 0]);
  next.release();
  (await locks.acquire(newThreadId())).release();
  expect([locksIn(home.path).length, linkedFilesIn(home.path).length]).toEqual([0, 1]);
});

it("where no link can be made, a lock is a file of its own", async () => {
  using home = tempHome();
  const id = newThreadId();
  const locks = new WriterLocks(home.path);
  (await locks.acquire(newThreadId())).release();
  const linked = path.join(home.path, "mcp-server/locks", linkedFilesIn(home.path)[0] ?? "");
  rmSync(linked);
  // A folder has no links.
  mkdirSync(linked);
  for (const _ of [1, 2]) {
    const lock = await locks.acquire(id);
    expect(locksIn(home.path)).toHaveLength(1);
    await expect(locks.acquire(id)).rejects.toBeInstanceOf(ThreadBusyElsewhere);
    lock.release();
    expect(locksIn(home.path)).toEqual([]);
  }
});

it("a new lock is as fresh as a new file, however old the linked file is", async () => {
  using home = tempHome();
  vi.useFakeTimers({ toFake: ["Date"] });
  const id = newThreadId();
  const locks = new WriterLocks(home.path);
  (await locks.acquire(id)).release();
  vi.setSystemTime(Date.now() + 10 * ONE_MINUTE_MS);
  const lock = await locks.acquire(id);
  const [name = ""] = locksIn(home.path);
  expect(statSync(path.join(home.path, "mcp-server/locks", name)).mtimeMs).toBeCloseTo(Date.now(), -3);
  lock.release();
});

it("threads do not get in each other's way", async () => {
  using home = tempHome();
  const locks = new WriterLocks(home.path);
  const held = await Promise.all([
    locks.acquire(newThreadId()),
    locks.acquire(newThreadId()),
    new WriterLocks(home.path).acquire(newThreadId()),
  ]);
  expect(locksIn(home.path)).toHaveLength(3);
  for (const lock of held) lock.release();
});

it("a thread has one writer, even among stores of one process, until it is released", async () => {
  using home = tempHome();
  const id = newThreadId();
  const [one, other] = [new WriterLocks(home.path), new WriterLocks(home.path)];
  const lock = await one.acquire(id);
  const busy = new ThreadBusyElsewhere(id, `process ${process.pid}`);
  await expect(other.acquire(id)).rejects.toEqual(busy);
  await expect(one.acquire(id)).rejects.toEqual(busy);
  expect(locksIn(home.path)).toHaveLength(1);
  lock.release();
  (await other.acquire(id)).release();
});

it("a writer in this process is not reported as another process", async () => {
  using home = tempHome();
  const id = newThreadId();
  const lock = await new WriterLocks(home.path).acquire(id);
  const why = `Thread ${id} is in use by another call of this server. Wait until that has ended, then send this one again.`;
  await expect(new WriterLocks(home.path).acquire(id)).rejects.toThrow(why);
  lock.release();
});

it("exactly one of several simultaneous contenders gets the thread", async () => {
  using home = tempHome();
  const id = newThreadId();
  for (let round = 0; round < 5; round++) {
    const attempts = await Promise.allSettled([1, 2, 3].map(() => new WriterLocks(home.path).acquire(id)));
    const won = attempts.flatMap((attempt) => (attempt.status === "fulfilled" ? [attempt.value] : []));
    const lost = attempts.flatMap((attempt) => (attempt.status === "rejected" ? [attempt.reason] : []));
    expect(won).toHaveLength(1);
    expect(lost).toEqual([expect.any(ThreadBusyElsewhere), expect.any(ThreadBusyElsewhere)]);
    for (const lock of won) lock.release();
  }
  expect(locksIn(home.path)).toEqual([]);
});

it("of two contenders that see each other the first by name stays, and the other withdraws at once", async () => {
  using home = tempHome();
  const id = newThreadId();
  const first = claim(home.path, `${id}.!far.77-1.00000000`);
  const refused = new WriterLocks(home.path).acquire(id);
  rmSync(first);
  await expect(refused).rejects.toEqual(new ThreadBusyElsewhere(id, "process 77"));

  const second = claim(home.path, `${id}.~far.77-1.00000000`);
  const granted = new WriterLocks(home.path).acquire(id);
  rmSync(second);
  (await granted).release();
  expect(locksIn(home.path)).toEqual([]);
});

it("exactly one of two simultaneous processes gets the thread, again and again", async () => {
  using home = tempHome();
  const start = { program, codexHome: home.path, threadId: newThreadId() };
  await using one = new WriterProcess(start);
  await using other = new WriterProcess(start);
  for (let round = 0; round < 20; round++) {
    const answers = await Promise.all([one.tell("lease"), other.tell("lease")]);
    const outcome = answers.map((answer) => (Object.hasOwn(Object(answer), "error") ? "refused" : "leased"));
    expect(outcome.toSorted()).toEqual(["leased", "refused"]);
    await (outcome[0] === "leased" ? one : other).tell("release");
  }
});

it("a process that holds the thread is named, and when it is killed the thread is free at once", async () => {
  using home = tempHome();
  const threadId = newThreadId();
  await using holder = new WriterProcess({ program, codexHome: home.path, threadId });
  await holder.tell("lease");
  const locks = new WriterLocks(home.path);
  await expect(locks.acquire(threadId)).rejects.toEqual(new ThreadBusyElsewhere(threadId, `process ${holder.pid}`));
  await holder.kill();
  const lock = await locks.acquire(threadId);
  expect(locksIn(home.path)).toHaveLength(1);
  lock.release();
  // The first look of another store.
  (await new WriterLocks(home.path).acquire(threadId)).release();
  expect(linkedFilesIn(home.path).filter((name) => name.includes(`.${holder.pid}-`))).toEqual([]);
});

it("a process that ends leaves nothing", async () => {
  using home = tempHome();
  const threadId = newThreadId();
  await using holder = new WriterProcess({ program, codexHome: home.path, threadId });
  await holder.tell("lease");
  const before = filesIn(home.path).length;
  await holder.tell("release");
  await holder.end();
  expect([before, filesIn(home.path)]).toEqual([2, []]);
});

it.runIf(process.platform === "linux")("a killed process counts as gone before its parent has noticed", async () => {
  using home = tempHome();
  const id = newThreadId();
  const parent = spawn("bash", ["-c", "sleep 60 & echo $!; exec sleep 60"], { stdio: ["ignore", "pipe", "ignore"] });
  try {
    const [line] = await once(parent.stdout, "data");
    const pid = Number(String(line));
    const stat = () => readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]?.split(" ") ?? [];
    claim(home.path, `${id}.${ownRun().place}.${pid}-${stat()[19]}.00000000`);
    await expect(new WriterLocks(home.path).acquire(id)).rejects.toEqual(new ThreadBusyElsewhere(id, `process ${pid}`));
    process.kill(pid, "SIGKILL");
    await expect.poll(() => stat()[0]).toBe("Z");
    (await new WriterLocks(home.path).acquire(id)).release();
  } finally {
    parent.kill("SIGKILL");
  }
});

it.runIf(process.platform === "linux")("a reused pid does not hold the thread", async () => {
  using home = tempHome();
  const id = newThreadId();
  const { place, pid, startTime } = ownRun();
  claim(home.path, `${id}.${place}.${pid}-${Number(startTime) - 1}.00000000`);
  (await new WriterLocks(home.path).acquire(id)).release();
  expect(locksIn(home.path)).toEqual([]);
});

it("a holder on another machine counts as long as it refreshes its lock", async () => {
  using home = tempHome();
  const id = newThreadId();
  const file = claim(home.path, `${id}.far-away-1.77-1.00000000`, { ageMs: ONE_MINUTE_MS });
  await expect(new WriterLocks(home.path).acquire(id)).rejects.toEqual(new ThreadBusyElsewhere(id, "process 77"));
  const longAgo = new Date(Date.now() - 3 * ONE_MINUTE_MS);
  utimesSync(file, longAgo, longAgo);
  (await new WriterLocks(home.path).acquire(id)).release();
  expect(locksIn(home.path)).toEqual([]);
});

it("a held lock is refreshed, a released one is not", async () => {
  using home = tempHome();
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  // Test files share modules, and one timer serves a whole process. A claim of another test file would keep this timer on the real clock.
  vi.resetModules();
  const fresh = await import("./writerLock.js");
  const id = newThreadId();
  const lock = await new fresh.WriterLocks(home.path).acquire(id);
  const file = path.join(home.path, "mcp-server/locks", locksIn(home.path)[0] ?? "");
  utimesSync(file, 0, 0);
  vi.advanceTimersByTime(ONE_MINUTE_MS);
  expect(Date.now() - statSync(file).mtimeMs).toBeLessThan(ONE_MINUTE_MS);
  lock.release();
  expect(vi.getTimerCount()).toBe(0);
});

it("the first lock removes the claims of killed processes on other threads", async () => {
  using home = tempHome();
  const [own, other] = [newThreadId(), newThreadId()];
  claim(home.path, `${other}.far-away-1.77-1.00000000`, { ageMs: 3 * ONE_MINUTE_MS });
  claim(home.path, "not a lock at all");
  const lock = await new WriterLocks(home.path).acquire(own);
  expect(locksIn(home.path).filter((name) => !name.startsWith(own))).toEqual(["not a lock at all"]);
  lock.release();
});

it("an error names a home in which no lock can be created, and the remedy", async () => {
  using home = tempHome();
  writeFileSync(path.join(home.path, "mcp-server"), "a file where a folder must be");
  await expect(new WriterLocks(home.path).acquire(newThreadId())).rejects.toMatchObject({
    code: "storage_failed",
    message: expect.stringMatching(
      /^Cannot lock the thread with .*mcp-server\/locks\/.*: not a directory\. Something that is not a folder is in the way: move it, or set CODEX_HOME to another folder\.$/,
    ),
  });
});
