import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ConfigFile, understoodPart } from "./configFile.js";
import { ConfigInvalid } from "./errors.js";

describe("ConfigFile", () => {
  it("has no settings if there is no file", () => {
    expect(configFile().file.read()).toEqual({});
  });

  it("returns the settings with absolute paths", () => {
    const { file, folder, write } = configFile();
    write('\uFEFFmodel = "m"\nmodel_instructions_file = "base.md"\n[sandbox_workspace_write]\nwritable_roots = ["~/cache"]\n');
    expect(file.read()).toEqual({
      model: "m",
      model_instructions_file: path.join(folder, "base.md"),
      sandbox_workspace_write: { writable_roots: ["/home/me/cache"] },
    });
  });

  it("parses once, until the file changes", () => {
    const { file, write } = configFile();
    write('model = "first"');
    const first = file.read();
    expect(file.read()).toBe(first);
    write('model = "second"');
    expect(file.read()).toEqual({ model: "second" });
  });

  it("sees a change that keeps size and time, as an editor makes by replacing the file", () => {
    const { file, filePath, write } = configFile();
    write('model = "one"');
    fs.utimesSync(filePath, 1, 1);
    expect(file.read()).toEqual({ model: "one" });
    fs.writeFileSync(`${filePath}.new`, 'model = "two"');
    fs.utimesSync(`${filePath}.new`, 1, 1);
    fs.renameSync(`${filePath}.new`, filePath);
    expect(file.read()).toEqual({ model: "two" });
  });

  it("forgets the settings of a file that was removed", () => {
    const { file, filePath, write } = configFile();
    write('model = "m"');
    file.read();
    fs.rmSync(filePath);
    expect(file.read()).toEqual({});
  });

  it("says on one line where TOML is invalid, and recovers when it is fixed", () => {
    const { file, filePath, write } = configFile();
    write('model = "m"\n\nthis is not toml\n');
    expect(complaintOf(file)).toBe(`error loading config: ${filePath}:3:6: illegal character in key`);
    write('model = "m"');
    expect(file.read()).toEqual({ model: "m" });
  });

  it("does not show the broken line, which may hold a secret", () => {
    const { file, write } = configFile();
    write('experimental_bearer_token = "sk-secret\n');
    expect(complaintOf(file)).not.toContain("sk-secret");
  });

  it("names the file and the key of a value of the wrong type, on one line", () => {
    const { file, filePath, write } = configFile();
    write("[history]\nmax_bytes = -1\n");
    expect(complaintOf(file)).toBe(
      `error loading config: ${filePath}: invalid value: integer \`-1\`, expected usize in \`history.max_bytes\``,
    );
  });

  it("says when the file cannot be read", () => {
    const { file, filePath } = configFile();
    fs.mkdirSync(filePath);
    expect(complaintOf(file)).toBe(`error loading config: ${filePath} cannot be read (EISDIR)`);
  });

  it("accepts a limit beyond what a number holds exactly", () => {
    const { file, write } = configFile();
    write("model_auto_compact_token_limit = 9223372036854775807");
    expect(file.read()).toEqual({ model_auto_compact_token_limit: 9223372036854775807n });
  });
});

function configFile() {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "config-file-")));
  onTestFinished(() => fs.rmSync(folder, { recursive: true }));
  const filePath = path.join(folder, "config.toml");
  const file = new ConfigFile(filePath, { home: "/home/me" });
  return { file, folder, filePath, write: (content: string) => fs.writeFileSync(filePath, content) };
}

function complaintOf(file: ConfigFile): string {
  try {
    file.read();
  } catch (error) {
    if (error instanceof ConfigInvalid) return error.message;
    throw error;
  }
  throw new Error("nothing was wrong");
}

it("valid values are kept unchanged, unknown keys too", () => {
  const tree = { model: "m", new_thing: { a: 1 }, model_providers: { own: { name: "own" } } };
  expect(understoodPart(tree)).toEqual({ tree, passedOver: [] });
});

it("values that only a newer Codex can read are skipped one by one", () => {
  const tree = {
    model: "m",
    approval_policy: { granular: { rules: true } },
    model_verbosity: "ultra",
    model_providers: { own: { name: "own", wire_api: "telepathy" } },
    project_doc_max_bytes: "many",
  };
  expect(understoodPart(tree)).toEqual({
    tree: { model: "m", model_providers: { own: { name: "own" } } },
    passedOver: ["approval_policy", "model_verbosity", "model_providers.own.wire_api", "project_doc_max_bytes"],
  });
});
