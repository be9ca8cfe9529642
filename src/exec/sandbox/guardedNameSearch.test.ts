import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setImmediate as loopTurn } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { GuardedNameSearch } from "./guardedNameSearch.js";

/** Deeper than a short search reaches. */
const DEEP = "1/2/3/4/5/6/7/8/9/.vscode";

let home: string;
let project: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(path.join(tmpdir(), "guarded-names-")));
  project = path.join(home, "project");
  mkdirSync(path.join(project, DEEP), { recursive: true });
});
afterEach(() => rmSync(home, { recursive: true }));

it("the first search in a project is thorough, even if it was a further folder of another thread before", async () => {
  const search = new GuardedNameSearch();
  expect((await search.find(path.join(home, "elsewhere"), { further: [project] })).names).toEqual([]);
  expect(await search.find(project)).toMatchObject({ names: [path.join(project, DEEP)], isComplete: true });
});

it("what a thorough search found stays known if a short one in the same folder ends after it", async () => {
  for (let at = 0; at < 120; at++) mkdirSync(path.join(project, `folder${at}`));
  const search = new GuardedNameSearch();
  const thorough = search.find(project);
  await loopTurn();
  const short = search.find(path.join(home, "elsewhere"), { further: [project] });
  const ended: string[] = [];
  await Promise.all([thorough.then(() => ended.push("thorough")), short.then(() => ended.push("short"))]);
  expect(ended).toEqual(["thorough", "short"]);
  expect((await search.find(project)).names).toEqual([path.join(project, DEEP)]);
});
