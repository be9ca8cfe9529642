import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { tempHome } from "../../../test/support/threads/rollouts.js";
import { ownRun } from "../../platform/processes.js";
import { newTaskId, type StoredTask, TASK_TTL_MS } from "../../tasks/taskStore.js";
import { StorageFailed } from "../../threads/errors.js";
import { TaskFiles } from "./tasks.js";

const NOW = Date.UTC(2026, 10, 15);

function newTask(changes: Partial<StoredTask> = {}): StoredTask {
  return { id: newTaskId(NOW), owner: "ada", createdAt: NOW, lastUpdatedAt: NOW, ifLost: { isError: true }, ...changes };
}

function folderIn(codexHome: string): string {
  return path.join(codexHome, "mcp-server", "tasks");
}

/** Writes the file that an earlier process left. */
function leaveBehind(codexHome: string, task: StoredTask, run: object): string {
  mkdirSync(folderIn(codexHome), { recursive: true });
  const file = path.join(folderIn(codexHome), `${task.id}.json`);
  writeFileSync(file, JSON.stringify({ ...task, run }));
  return file;
}

describe("a task", () => {
  it("that has ended is known to every process that shares the folder, and to those that come later", async () => {
    using home = tempHome();
    const task = newTask({ end: { status: "completed", result: { content: [] } } });
    await new TaskFiles(home.path, () => NOW).keep(task);
    expect(await new TaskFiles(home.path, () => NOW).find(task.id)).toEqual({ task, lost: false });
  });

  it("can be read by its user only, and leaves no draft behind", async () => {
    using home = tempHome();
    const task = newTask();
    const files = new TaskFiles(home.path, () => NOW);
    await files.keep(task);
    await files.keep({ ...task, end: { status: "cancelled" } });
    expect(readdirSync(folderIn(home.path))).toEqual([`${task.id}.json`]);
    const modes = [folderIn(home.path), path.join(folderIn(home.path), `${task.id}.json`)].map((file) => statSync(file).mode & 0o777);
    expect(modes).toEqual([0o700, 0o600]);
  });

  it("that runs in a living process is not lost", async () => {
    using home = tempHome();
    const task = newTask();
    const files = new TaskFiles(home.path, () => NOW);
    await files.keep(task);
    expect(await new TaskFiles(home.path, () => NOW).find(task.id)).toEqual({ task, lost: false });
    await files.drop(task.id);
    expect(await files.find(task.id)).toBeUndefined();
  });

  it("that ran in a dead process is lost", async () => {
    using home = tempHome();
    const task = newTask();
    leaveBehind(home.path, task, { ...ownRun(), startTime: "1" });
    expect(await new TaskFiles(home.path, () => NOW).find(task.id)).toEqual({ task, lost: true });
  });

  it("of another machine is lost if it was not refreshed for long", async () => {
    using home = tempHome();
    const task = newTask();
    const file = leaveBehind(home.path, task, { ...ownRun(), place: "elsewhere" });
    const files = new TaskFiles(home.path, () => NOW);
    expect(await files.find(task.id)).toMatchObject({ lost: false });
    utimesSync(file, new Date(0), new Date(0));
    expect(await files.find(task.id)).toMatchObject({ lost: true });
  });

  it("is forgotten when it has expired, and its file is removed with the next task", async () => {
    using home = tempHome();
    const old = newTask({ end: { status: "cancelled" } });
    await new TaskFiles(home.path, () => NOW).keep(old);
    const later = NOW + TASK_TTL_MS + 1;
    const files = new TaskFiles(home.path, () => later);
    expect(await files.find(old.id)).toBeUndefined();
    const next = newTask({ id: newTaskId(later), end: { status: "cancelled" } });
    await files.keep(next);
    expect(readdirSync(folderIn(home.path))).toEqual([`${next.id}.json`]);
  });

  it("is not pushed out by the tasks of another principal: the oldest of the one that has most are removed", async () => {
    using home = tempHome();
    const leave = (owner: string | null, ageMs: number): string => {
      const task = newTask({ id: newTaskId(NOW - ageMs), owner, end: { status: "completed", result: { content: [] } } });
      leaveBehind(home.path, task, ownRun());
      return task.id;
    };
    const others = ["bob", 'a "quoted" name', null].map((owner, at) => leave(owner, 50_000 + at));
    const [oldest = "", second = "", third = "", ...rest] = Array.from({ length: 10_000 }, (_, at) => leave("ada", 20_000 - at));
    const files = new TaskFiles(home.path, () => NOW);
    const running = newTask({ owner: "bob" });
    await files.keep(running);
    expect(await Promise.all([oldest, second, third].map((id) => files.find(id)))).toEqual([undefined, undefined, undefined]);
    const kept = [...others, rest[0] ?? "", rest.at(-1) ?? "", running.id];
    expect(await Promise.all(kept.map(async (id) => (await files.find(id))?.task.id))).toEqual(kept);
    await files.drop(running.id);
  });

  it("that still runs at its expiry is kept", async () => {
    using home = tempHome();
    let now = NOW;
    const files = new TaskFiles(home.path, () => now);
    const task = newTask();
    await files.keep(task);
    now += TASK_TTL_MS + 1;
    expect(await files.find(task.id)).toEqual({ task, lost: false });
    await files.drop(task.id);
  });

  it.each(["", "../../auth", "..", "no-such-task", `${"0".repeat(9)}-${"z".repeat(32)}`, newTaskId(NOW)])(
    "with an invalid id is not found: %j",
    async (id) => {
      using home = tempHome();
      writeFileSync(path.join(home.path, "auth.json"), '{"id":"x","run":{}}');
      expect(await new TaskFiles(home.path, () => NOW).find(id)).toBeUndefined();
    },
  );

  it.each(["", "{", "[]", '{"id":5}'])("whose file is damaged is an error: %j", async (text) => {
    using home = tempHome();
    const task = newTask();
    writeFileSync(leaveBehind(home.path, task, ownRun()), text);
    await expect(new TaskFiles(home.path, () => NOW).find(task.id)).rejects.toThrow(StorageFailed);
  });

  it("that cannot be kept is an error with the reason", async () => {
    using home = tempHome();
    writeFileSync(path.join(home.path, "mcp-server"), "in the way");
    await expect(new TaskFiles(home.path, () => NOW).keep(newTask())).rejects.toThrow(StorageFailed);
  });
});
