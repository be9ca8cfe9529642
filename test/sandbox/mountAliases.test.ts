import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { withMountAliases } from "../../src/exec/sandbox/mountAliases.js";

let root: string;
beforeEach(() => {
  root = realpathSync.native(mkdtempSync(path.join(tmpdir(), "mounts-")));
});
afterEach(() => {
  for (const place of mounted.splice(0)) execFileSync("/bin/umount", [place]);
  rmSync(root, { recursive: true, force: true });
});

const mounted: string[] = [];
const mayMount = canMount();

function canMount(): boolean {
  const place = mkdtempSync(path.join(tmpdir(), "mounts-"));
  try {
    execFileSync("/bin/mount", ["--bind", place, place], { stdio: "ignore" });
    execFileSync("/bin/umount", [place]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

function bind(from: string, to: string): string {
  mkdirSync(path.join(root, to), { recursive: true });
  execFileSync("/bin/mount", ["--bind", path.join(root, from), path.join(root, to)]);
  mounted.unshift(path.join(root, to));
  return path.join(root, to);
}

describe.skipIf(!mayMount)("a hidden place that is mounted a second time", () => {
  const aliases = () => {
    const home = { folder: path.join(root, "a/home"), sealedBut: ["worktrees"] };
    return withMountAliases([home]).map(({ folder }) => path.relative(root, folder));
  };

  beforeEach(() => {
    for (const folder of ["a/home/sessions", "a/home/worktrees/one"]) mkdirSync(path.join(root, folder), { recursive: true });
    writeFileSync(path.join(root, "a/home/auth.json"), "{}");
  });

  it("is hidden there too: itself, a folder around it, a part of it", () => {
    expect(aliases()).toEqual(["a/home"]);
    for (const [from, to] of [
      ["a/home", "itself"],
      ["a", "around it"],
      ["a/home/sessions", "part"],
    ] as const)
      bind(from, to);
    expect(aliases().sort()).toEqual(["a/home", "around it/home", "itself", "part"]);
  });

  it("but not a part in which threads may work, nor a part under another mount", () => {
    bind("a/home/worktrees/one", "work");
    bind("a/home", "covered");
    mkdirSync(path.join(root, "other"));
    bind("other", "covered");
    expect(aliases()).toEqual(["a/home"]);
  });
});
