import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { enableCompileCache } from "./compileCache.js";

const home = mkdtempSync(path.join(tmpdir(), "compile-cache-"));
const ours = path.join(home, "mcp-server");
const folder = path.join(ours, "compiled");

afterEach(() => rmSync(ours, { recursive: true, force: true }));
afterAll(() => rmSync(home, { recursive: true, force: true }));

function enabledFor(codexHome: () => string): string[] {
  const folders: string[] = [];
  enableCompileCache(codexHome, (name) => folders.push(name));
  return folders;
}

describe("the compile cache", () => {
  it("is in a folder that only this user can open", () => {
    expect(enabledFor(() => home)).toEqual([folder]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(enabledFor(() => home)).toEqual([folder]);
  });

  it.runIf(process.getuid)("is not used if others could write or read there", () => {
    for (const mode of [0o777, 0o770, 0o755]) {
      mkdirSync(folder, { recursive: true });
      chmodSync(folder, mode);
      expect(enabledFor(() => home)).toEqual([]);
    }
  });

  it("is not used through a link", () => {
    mkdirSync(path.join(ours, "elsewhere"), { recursive: true, mode: 0o700 });
    symlinkSync("elsewhere", folder);
    expect(enabledFor(() => home)).toEqual([]);
  });

  it("creates no home, and reports no error about it", () => {
    const missing = path.join(home, "missing");
    expect(enabledFor(() => missing)).toEqual([]);
    expect(existsSync(missing)).toBe(false);
    const fail = () => {
      throw new Error("no home");
    };
    expect(enabledFor(fail)).toEqual([]);
  });
});
