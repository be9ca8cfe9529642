import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findCodexHome } from "./codexHome.js";
import { CodexHomeMissing } from "./errors.js";

describe("findCodexHome", () => {
  it("is .codex in the user's home, even before it exists", () => {
    expect(findCodexHome({ HOME: "/nowhere/me" })).toBe("/nowhere/me/.codex");
  });

  it("treats an empty CODEX_HOME as not set", () => {
    expect(findCodexHome({ HOME: "/nowhere/me", CODEX_HOME: "" })).toBe("/nowhere/me/.codex");
  });

  it("is the real folder behind CODEX_HOME", () => {
    const folder = tempFolder();
    fs.mkdirSync(path.join(folder, "real"));
    fs.symlinkSync("real", path.join(folder, "link"));
    expect(findCodexHome({ HOME: "/nowhere/me", CODEX_HOME: path.join(folder, "link") })).toBe(path.join(folder, "real"));
  });

  it("refuses a CODEX_HOME that does not exist, naming it and the remedy", () => {
    const gone = path.join(tempFolder(), "gone");
    expect(() => findCodexHome({ CODEX_HOME: gone })).toThrow(CodexHomeMissing);
    expect(() => findCodexHome({ CODEX_HOME: gone })).toThrow(
      /^CODEX_HOME is set to .*gone, .*ENOENT.* Create that folder, or unset CODEX_HOME/,
    );
  });

  it("refuses a CODEX_HOME that is a file", () => {
    const file = path.join(tempFolder(), "file");
    fs.writeFileSync(file, "");
    expect(() => findCodexHome({ CODEX_HOME: file })).toThrow(
      new CodexHomeMissing(`CODEX_HOME is set to ${file}, which is not a folder. Name a folder, or unset CODEX_HOME to use ~/.codex.`),
    );
  });
});

function tempFolder(): string {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "codex-home-")));
  onTestFinished(() => fs.rmSync(folder, { recursive: true }));
  return folder;
}
