import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { tempHome } from "../../../../test/support/threads/rollouts.js";
import { newThreadId, threadIdOf } from "../../../lib/ids.js";
import { newRolloutPath } from "./rolloutFile.js";
import { findRollout } from "./rolloutPaths.js";

const ID = threadIdOf("019bff00-0000-7000-8000-000000000001");
const OLD_ID = threadIdOf("5973b6c0-94b8-487b-a530-2aeb6098ae0e");

function put(home: string, file: string): string {
  const full = path.join(home, file);
  mkdirSync(path.dirname(full), { recursive: true });
  writeFileSync(full, "");
  return full;
}

it("a new rollout is named by local time, with two digits each", () => {
  expect(newRolloutPath("/home", ID, new Date(2026, 0, 7, 3, 4, 5))).toBe(
    path.join("/home/sessions/2026/01/07", `rollout-2026-01-07T03-04-05-${ID}.jsonl`),
  );
});

it("a thread is found where it was put", async () => {
  using home = tempHome();
  const id = newThreadId();
  const file = put(home.path, path.relative(home.path, newRolloutPath(home.path, id, new Date())));
  put(home.path, path.relative(home.path, newRolloutPath(home.path, newThreadId(), new Date())));
  expect(await findRollout(home.path, id)).toBe(file);
});

it("a thread is first searched for in the folders of its age", async () => {
  using home = tempHome();
  put(home.path, `sessions/2099/01/01/rollout-2099-01-01T00-00-00-${ID}.jsonl`);
  put(home.path, `archived_sessions/rollout-2026-01-27T10-32-31-${ID}.jsonl`);
  const file = put(home.path, `sessions/2026/01/27/rollout-2026-01-27T10-32-31-${ID}.jsonl`);
  expect(await findRollout(home.path, ID)).toBe(file);
});

it.each([
  ["the day before, by another time zone's clock", ID, "sessions/2026/01/26/rollout-2026-01-26T23-59-59-ID.jsonl"],
  ["a folder of quite another date", ID, "sessions/2024/12/31/rollout-2024-12-31T00-00-00-ID.jsonl"],
  ["folders without leading zeros", ID, "sessions/2025/1/5/rollout-2025-01-05T00-00-00-ID.jsonl"],
  ["no folders at all", ID, "sessions/rollout-2025-01-05T00-00-00-ID.jsonl"],
  ["the archive", ID, "archived_sessions/rollout-2026-01-27T10-32-31-ID.jsonl"],
  ["any folder, when the id does not tell its age", OLD_ID, "sessions/2025/09/30/rollout-2025-09-30T10-00-00-ID.jsonl"],
])("a thread is found in %s", async (_, id, name) => {
  using home = tempHome();
  put(home.path, "sessions/2026/01/27/rollout-2026-01-27T10-32-31-019bff00-0000-7000-8000-000000000002.jsonl");
  put(home.path, "sessions/notes.txt");
  const file = put(home.path, name.replace("ID", id));
  expect(await findRollout(home.path, id)).toBe(file);
});

it("a file is a thread's only by its whole name", async () => {
  using home = tempHome();
  put(home.path, `sessions/2026/01/27/rollout-2026-01-27T10-32-31-${ID}.jsonl.bak`);
  put(home.path, `sessions/2026/01/27/copy-of-${ID}.jsonl`);
  expect(await findRollout(home.path, ID)).toBeUndefined();
});

it("nothing is found in a home that does not exist, or whose `sessions` is a file", async () => {
  using home = tempHome();
  expect(await findRollout(path.join(home.path, "missing"), ID)).toBeUndefined();
  writeFileSync(path.join(home.path, "sessions"), "");
  expect(await findRollout(home.path, ID)).toBeUndefined();
});
