import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { systemProgram, WritablePlaces } from "../outside/outsidePrograms.js";
import { bubblewrapCandidates, probeSandbox } from "./probe.js";

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(path.join(tmpdir(), "find-")));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function program(...steps: string[]): string {
  const file = path.join(home, ...steps);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, "", { mode: 0o755 });
  return file;
}

const SYSTEM = systemProgram("bwrap");

/** The candidates that do not depend on this machine. */
function candidates(folders: readonly string[], options: { bin?: string; codexBin?: string } = {}): string[] {
  return allCandidates(folders, options).filter((file) => file !== SYSTEM);
}

function allCandidates(folders: readonly string[], options: { bin?: string; codexBin?: string } = {}): string[] {
  return bubblewrapCandidates({ env: { PATH: folders.join(":") }, writable: new WritablePlaces([path.join(home, "work")]), ...options });
}

it.skipIf(SYSTEM === undefined)(
  "the system's own is found without PATH; it follows those on PATH and precedes the one in Codex's package",
  () => {
    const onPath = program("bin/bwrap");
    const launcher = program("lib/node_modules/@openai/codex/bin/codex.js");
    const bundled = program("lib/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/codex-resources/bwrap");
    expect(allCandidates([])).toEqual([SYSTEM]);
    expect(allCandidates([path.dirname(onPath)], { codexBin: launcher })).toEqual([onPath, SYSTEM, bundled]);
  },
);

it("a named program is the only one", () => {
  const onPath = program("bin/bwrap");
  expect(candidates([path.dirname(onPath)], { bin: "/opt/bwrap" })).toEqual(["/opt/bwrap"]);
});

it("programs on PATH keep its order; those that cannot be run are left out", () => {
  const [first, second] = [program("a/bwrap"), program("b/bwrap")];
  writeFileSync(path.join(home, "bwrap"), "");
  expect(candidates([home, path.join(home, "a"), path.join(home, "b")])).toEqual([first, second]);
});

it("a program that is reached by two names is tried once", () => {
  const first = program("usr/bin/bwrap");
  symlinkSync(path.join(home, "usr/bin"), path.join(home, "bin"));
  expect(candidates([path.dirname(first), path.join(home, "bin")])).toEqual([first]);
});

it("a folder that commands or package runners may fill is not trusted", () => {
  program("work/bin/bwrap");
  program("x/node_modules/.bin/bwrap");
  expect(candidates([path.join(home, "work/bin"), path.join(home, "x/node_modules/.bin"), "relative", ""])).toEqual([]);
});

it("the one in Codex's package comes last", () => {
  const onPath = program("bin/bwrap");
  const launcher = program("lib/node_modules/@openai/codex/bin/codex.js");
  const bundled = program("lib/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/codex-resources/bwrap");
  symlinkSync(launcher, path.join(home, "bin/codex"));
  expect([candidates([path.dirname(onPath)]), candidates([], { codexBin: launcher })]).toEqual([[onPath, bundled], [bundled]]);
});

it("a Codex that is not in a package has none", () => {
  expect(candidates([], { codexBin: program("opt/codex") })).toEqual([]);
});

it.skipIf(SYSTEM === undefined)("a sandbox whose first start does not end is tried once more", async () => {
  const started = path.join(home, "started");
  const bin = program("bwrap");
  writeFileSync(bin, `#!/bin/sh\n[ -e "${started}" ] && exec ${SYSTEM} "$@"\n: > "${started}"\nexec sleep 60\n`);
  const writable = new WritablePlaces([path.join(home, "work")]);
  expect(await probeSandbox({ bin, env: {}, writable })).toMatchObject({ backend: "bubblewrap", candidates: [bin] });
});
