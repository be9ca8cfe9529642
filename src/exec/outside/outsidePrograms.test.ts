import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { leadsToTrusted, OutsidePrograms, WritablePlaces } from "./outsidePrograms.js";

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(path.join(tmpdir(), "outside-")));
  mkdirSync(path.join(home, "work"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function program(...steps: string[]): string {
  const file = path.join(home, ...steps);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, "", { mode: 0o755 });
  return file;
}

function programs(folders: readonly string[], env: Record<string, string> = {}): OutsidePrograms {
  const PATH = folders.map((folder) => (folder.startsWith("~/") ? path.join(home, folder.slice(2)) : folder)).join(":");
  return new OutsidePrograms({ env: { ...env, PATH }, writable: new WritablePlaces([path.join(home, "work")]) });
}

it("a program that a command may have planted is skipped, however PATH leads to it", () => {
  const honest = program("bin/tool");
  program("work/node_modules/.bin/tool");
  program("work/sub/tool");
  program("elsewhere/node_modules/.bin/tool");
  symlinkSync(path.join(home, "work/sub"), path.join(home, "linked"));
  mkdirSync(path.join(home, "links"));
  symlinkSync(path.join(home, "work/sub/tool"), path.join(home, "links/tool"));
  const traps = ["~/work/node_modules/.bin", "~/work/sub/", "~/elsewhere/node_modules/.bin", "~/linked", "~/links", "work/sub", ".", ""];
  const found = programs([...traps, "~/bin"]);
  expect([found.find("tool"), found.all("tool"), programs(traps).find("tool")]).toEqual([honest, [honest], undefined]);
});

it("rejected programs can be reported", () => {
  const planted = program("work/node_modules/.bin/tool");
  expect(programs(["~/work/node_modules/.bin"]).distrusted("tool")).toEqual([planted]);
});

it("programs of packages that were installed for the whole machine or under nvm count", () => {
  const target = program(".nvm/versions/node/v22/lib/node_modules/@openai/codex/bin/codex.js");
  mkdirSync(path.join(home, ".nvm/versions/node/v22/bin"), { recursive: true });
  const launcher = path.join(home, ".nvm/versions/node/v22/bin/codex");
  symlinkSync(target, launcher);
  expect(programs(["~/work/node_modules/.bin", "~/.nvm/versions/node/v22/bin"]).find("codex")).toBe(launcher);
});

it("folders of the system count even where a thread has opened everything", () => {
  const everything = new OutsidePrograms({ env: { PATH: `${home}/bin:/usr/bin` }, writable: new WritablePlaces(["/"]) });
  program("bin/env");
  expect([everything.find("env"), everything.searchPath]).toEqual(["/usr/bin/env", "/usr/bin"]);
});

it("a folder that a later thread opens counts from then on", () => {
  program("late/tool");
  const writable = new WritablePlaces([]);
  const found = new OutsidePrograms({ env: { PATH: path.join(home, "late") }, writable });
  const before = found.find("tool");
  writable.open(path.join(home, "late"));
  expect([before, found.find("tool")]).toEqual([path.join(home, "late/tool"), undefined]);
});

it("helper programs get a search path without planted folders, and nothing that makes them load code", () => {
  const env = { HOME: "/home/u", NODE_OPTIONS: "--require ./x.js", LD_PRELOAD: "/x.so", LANG: "C" };
  expect(programs(["~/work/node_modules/.bin", "/usr/bin", "~/bin"], env).environment()).toEqual({
    HOME: "/home/u",
    LANG: "C",
    PATH: `/usr/bin:${home}/bin`,
  });
});

describe("the program that a command would get", () => {
  beforeEach(() => {
    for (const file of ["work/bin/look", "repo/tools/look", "bin/look"]) program(file);
    mkdirSync(path.join(home, "links"));
    symlinkSync(path.join(home, "repo/tools/look"), path.join(home, "links/look"));
  });

  it.each([
    ["~/bin", true],
    ["~/nowhere:~/bin:~/work/bin", true],
    ["~/work/bin:~/bin", false],
    ["tools:~/bin", false],
    [":~/bin", true],
    ["~/repo/tools:~/bin", false],
    ["~/links:~/bin", false],
    ["~/nowhere", false],
  ])("with PATH=%s the name leads to a program that cannot have been planted: %s", (written, trusted) => {
    const searchPath = written.replaceAll("~", home);
    const outside = new OutsidePrograms({ env: { PATH: searchPath }, writable: new WritablePlaces([path.join(home, "work")]) });
    const workspace = path.join(home, "repo");
    expect(leadsToTrusted("look", { searchPath, cwd: workspace, workspace }, outside)).toBe(trusted);
  });
});
