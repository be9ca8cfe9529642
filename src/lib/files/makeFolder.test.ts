import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeFolder, makeFolderSync } from "./makeFolder.js";

let home: string;
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), "make-folder-"));
});
afterEach(() => rmSync(home, { recursive: true }));

describe.each([
  ["at once", async (folder: string) => makeFolderSync(folder)],
  ["later", makeFolder],
])("making a folder %s", (_, make) => {
  it("makes those around it too, private to the user, and accepts what exists", async () => {
    await Promise.all(["a/b/c", "a/b/d", "a"].map((name) => make(path.join(home, name))));
    await make(path.join(home, "a/b/c"));
    expect(["a", "a/b", "a/b/c", "a/b/d"].map((name) => statSync(path.join(home, name)).mode & 0o777)).toEqual([
      0o700, 0o700, 0o700, 0o700,
    ]);
  });

  it("makes the same folders as others do at the same moment", async () => {
    const names = Array.from({ length: 200 }, (_each, at) => path.join(home, `x${Math.floor(at / 4)}/y/z`, String(at)));
    await Promise.all(names.map((name) => make(name)));
    expect(names.filter((name) => !statSync(name).isDirectory())).toEqual([]);
  });

  it("fails where a file is in the way, and leaves the file alone", async () => {
    const file = path.join(home, "file");
    writeFileSync(file, "mine");
    await expect(make(file)).rejects.toThrow("EEXIST");
    await expect(make(path.join(file, "folder/deeper"))).rejects.toThrow("ENOTDIR");
    expect(readFileSync(file, "utf8")).toBe("mine");
  });

  it.skipIf(process.platform !== "linux")("fails where the kernel allows none", async () => {
    await expect(make("/proc/.codex/sessions")).rejects.toThrow("ENOENT: no such file or directory, mkdir '/proc/.codex'");
  });
});
