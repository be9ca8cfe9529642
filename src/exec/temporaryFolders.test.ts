import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ownRun } from "../platform/processes.js";
import { TemporaryFolders } from "./temporaryFolders.js";

const HOUR_MS = 3_600_000;

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(path.join(tmpdir(), "temporary-")));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

/** A folder of another server, last touched some time ago, with a file in it. */
function left(owner: string, { ageMs = 0 } = {}): string {
  const folder = path.join(home, "mcp-server/tmp", `tmp.${owner}.0badcafe`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "file"), "");
  const then = new Date(Date.now() - ageMs);
  utimesSync(folder, then, then);
  return folder;
}

it("a folder exists until it is removed, and only its user may open it", async () => {
  const folders = new TemporaryFolders(home);
  const folder = folders.make();
  expect([existsSync(folder), path.dirname(folder)]).toEqual([true, path.join(home, "mcp-server/tmp")]);
  folders.remove(folder);
  await expect.poll(() => readdirSync(path.dirname(folder))).toEqual([]);
});

it("the first one that is made sweeps those of servers that are over", async () => {
  const dead = left(`${ownRun().place}.4194304-1`);
  const lapsed = left("another-container-1.7-1", { ageMs: 25 * HOUR_MS });
  const sleeping = left("another-container-1.8-1", { ageMs: HOUR_MS });
  const living = left(`${ownRun().place}.${ownRun().pid}-${ownRun().startTime}`, { ageMs: 25 * HOUR_MS });
  const folders = new TemporaryFolders(home);
  folders.remove(folders.make());
  await expect.poll(() => [dead, lapsed].filter(existsSync)).toEqual([]);
  expect([sleeping, living].filter((folder) => !existsSync(path.join(folder, "file")))).toEqual([]);
});
