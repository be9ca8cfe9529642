import { execFileSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ConfigFile } from "./configFile.js";
import { UserConfig } from "./userConfig.js";

let codexHome: string;
const file = () => path.join(codexHome, "config.toml");
beforeEach(() => {
  codexHome = mkdtempSync(path.join(tmpdir(), "user-config-"));
});
afterEach(() => rmSync(codexHome, { recursive: true, force: true }));

it("keeps comments, and leaves nothing else behind", async () => {
  writeFileSync(file(), '# mine\nmodel = "old" # why\n[t]\n');
  chmodSync(file(), 0o640);
  await new UserConfig({ codexHome }).setDefaultModel({ model: "gpt-5", effort: "high" });
  expect(readFileSync(file(), "utf8")).toBe('# mine\nmodel = "gpt-5" # why\nmodel_reasoning_effort = "high"\n[t]\n');
  expect(statSync(file()).mode & 0o777).toBe(0o640);
  expect(readdirSync(codexHome)).toEqual(["config.toml"]);
  await new UserConfig({ codexHome }).setDefaultModel({ model: undefined, effort: undefined });
  expect(readFileSync(file(), "utf8")).toBe("# mine\n[t]\n");
});

it("creates no file without content, and otherwise a file for its user alone", async () => {
  const config = new UserConfig({ codexHome });
  await config.setDefaultModel({ model: undefined, effort: undefined });
  expect(readdirSync(codexHome)).toEqual([]);
  await config.setDefaultModel({ model: "gpt-5", effort: undefined });
  expect(readFileSync(file(), "utf8")).toBe('model = "gpt-5"\n');
  expect(statSync(file()).mode & 0o777).toBe(0o600);
});

it("writes to where the active profile is read from: its table, or its file", async () => {
  writeFileSync(file(), 'profile = "fast"\n');
  await new UserConfig({ codexHome }).setDefaultModel({ model: "a", effort: undefined });
  expect(readFileSync(file(), "utf8")).toBe('profile = "fast"\n\n[profiles.fast]\nmodel = "a"\n');
  writeFileSync(path.join(codexHome, "slow.config.toml"), 'model = "x" # its own\n');
  await new UserConfig({ codexHome, profile: "slow" }).setDefaultModel({ model: "b", effort: undefined });
  expect(readFileSync(path.join(codexHome, "slow.config.toml"), "utf8")).toBe('model = "b" # its own\n');
});

it("loses no edit that is made meanwhile", async () => {
  writeFileSync(file(), "a = 1\n");
  const config = new UserConfig({ codexHome });
  const edits = Array.from({ length: 20 }, async (_, at) => {
    await config.setDefaultModel({ model: `m${at}`, effort: undefined });
  });
  // An editor saves between the reading and the writing of one of them.
  const other = new UserConfig({ codexHome }).setDefaultModel({ model: "other", effort: "low" });
  await Promise.all([...edits, other]);
  const text = readFileSync(file(), "utf8");
  expect(text).toContain("a = 1\n");
  expect(text.match(/^model = /gm)).toHaveLength(1);
});

it("loses no edit of an editor that keeps saving", async () => {
  writeFileSync(file(), 'model = "first" # mine\n');
  const saves = 300;
  const editor = (async () => {
    for (let save = 0; save < saves; save++) {
      writeFileSync(`${file()}.edited`, `${readFileSync(file(), "utf8")}# save ${save}\n`);
      renameSync(`${file()}.edited`, file());
      for (let ticks = save % 40; ticks >= 0; ticks--) await setImmediate();
    }
  })();
  const config = new UserConfig({ codexHome });
  const changed = (model: string) => config.setDefaultModel({ model, effort: undefined });
  for (let at = 0; at < 50; at++)
    await changed(`m${at}`).catch((error: unknown) =>
      expect(error).toMatchObject({ code: "config_not_saved", message: expect.stringContaining("keeps being changed") }),
    );
  await editor;
  await changed("last");
  expect(readFileSync(file(), "utf8").trimEnd().split("\n")).toEqual([
    'model = "last" # mine',
    ...Array.from({ length: saves }, (_, save) => `# save ${save}`),
  ]);
});

it("changes the target of a link and keeps the link", async () => {
  mkdirSync(path.join(codexHome, "dotfiles"));
  const real = path.join(codexHome, "dotfiles", "codex.toml");
  writeFileSync(real, "");
  symlinkSync(real, file());
  await new UserConfig({ codexHome }).setDefaultModel({ model: "m", effort: undefined });
  expect(readFileSync(real, "utf8")).toBe('model = "m"\n');
  expect(lstatSync(file()).isSymbolicLink()).toBe(true);
});

it("does not change a broken file", async () => {
  writeFileSync(file(), "model = \n");
  await expect(new UserConfig({ codexHome }).setDefaultModel({ model: "m", effort: undefined })).rejects.toThrow(/config\.toml:1/);
  expect(readFileSync(file(), "utf8")).toBe("model = \n");
});

it("does not wait for the writer of a pipe", async () => {
  execFileSync("mkfifo", [file()]);
  const config = new UserConfig({ codexHome });
  await expect(config.read()).rejects.toThrow("it is a pipe, not a file");
  await expect(config.setDefaultModel({ model: "m", effort: undefined })).rejects.toThrow("it is a pipe, not a file");
  expect(() => new ConfigFile(file(), { home: codexHome }).read()).toThrow("it is a pipe, not a file");
  rmSync(file());
  await config.setDefaultModel({ model: "m", effort: undefined });
  expect(readFileSync(file(), "utf8")).toBe('model = "m"\n');
});
