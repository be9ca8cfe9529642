import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { OutsidePrograms } from "./outsidePrograms.js";
import { leadsToTrusted } from "./searchPath.js";
import { WritablePlaces } from "./writablePlaces.js";

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(path.join(tmpdir(), "search-")));
  for (const folder of ["work/bin", "repo/tools", "bin", "links"]) {
    mkdirSync(path.join(home, folder), { recursive: true });
    if (folder !== "links") writeFileSync(path.join(home, folder, "look"), "", { mode: 0o755 });
  }
  symlinkSync(path.join(home, "repo/tools/look"), path.join(home, "links/look"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

it.each([
  ["~/bin", true],
  ["~/nowhere:~/bin:~/work/bin", true],
  ["~/work/bin:~/bin", false],
  ["tools:~/bin", false],
  [":~/bin", true],
  ["~/repo/tools:~/bin", false],
  ["~/links:~/bin", false],
  ["~/nowhere", false],
])("with PATH=%s the name leads to a program that nobody can have planted: %s", (written, trusted) => {
  const searchPath = written.replaceAll("~", home);
  const outside = new OutsidePrograms({ env: { PATH: searchPath }, writable: new WritablePlaces([path.join(home, "work")]) });
  const workspace = path.join(home, "repo");
  expect(leadsToTrusted("look", { searchPath, cwd: workspace, workspace }, outside)).toBe(trusted);
});
