import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WritablePlaces } from "../../../exec/outside/outsidePrograms.js";
import { CodexMissing, CodexUnusable } from "./errors.js";
import { codexProgram, packagedVersion } from "./findBinary.js";
import { findCodex, passedOver } from "./locate.js";

const LINUX = { platform: "linux", arch: "x64" };
const ELF_X64 = Buffer.concat([Buffer.from("7f454c4602010100", "hex"), Buffer.alloc(8), Buffer.from("02003e00", "hex")]);
const MACH_O = Buffer.from("cffaedfe0c00000100000000", "hex");

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), "find-codex-")));
});
afterEach(() => rmSync(folder, { recursive: true }));

function put(name: string, content: string | Buffer, mode = 0o755): string {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
  chmodSync(file, mode);
  return file;
}

describe("a Codex is found", () => {
  it("where --codex-bin says, then where CODEX_BIN says, then on PATH", () => {
    const onPath = put("bin/codex", ELF_X64);
    const env = { CODEX_BIN: "/elsewhere/codex", PATH: `${folder}/empty:${path.dirname(onPath)}` };
    expect(findCodex({ codexBin: "/named/codex", env })).toEqual({ path: "/named/codex", namedBy: "--codex-bin" });
    expect(findCodex({ env })).toEqual({ path: "/elsewhere/codex", namedBy: "CODEX_BIN" });
    expect(findCodex({ env: { ...env, CODEX_BIN: "" } })).toEqual({ path: onPath, namedBy: "PATH" });
  });

  it("on PATH only if it could be started: no folder, no plain file, nothing relative", () => {
    mkdirSync(path.join(folder, "a/codex"), { recursive: true });
    put("b/codex", "text", 0o644);
    expect(findCodex({ env: { PATH: `${folder}/a:${folder}/b:.:` } })).toBe(undefined);
    expect(findCodex({ env: {} })).toBe(undefined);
  });
});

describe("the program to start", () => {
  it("is the native one behind the launcher of the npm package, wherever the launcher is linked", () => {
    const modules = "lib/node_modules/@openai";
    const launcher = put(`${modules}/codex/bin/codex.js`, "#!/usr/bin/env node\n");
    put(`${modules}/codex-linux-x64/package.json`, "{}");
    const native = put(`${modules}/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex`, ELF_X64);
    mkdirSync(path.join(folder, "bin"));
    symlinkSync(launcher, path.join(folder, "bin/codex"));
    expect(codexProgram({ env: { PATH: path.join(folder, "bin") } }, LINUX)).toBe(native);
  });

  it("is the native one inside the package, as older packages hold it", () => {
    const launcher = put("codex/bin/codex.js", "#!/usr/bin/env node\n");
    const native = put("codex/vendor/x86_64-unknown-linux-musl/codex/codex", ELF_X64);
    expect(codexProgram({ codexBin: launcher, env: {} }, LINUX)).toBe(native);
  });

  it("is the file that was found, if it is a program or another script", () => {
    const [program, script] = [put("codex", ELF_X64), put("wrapper", "#!/bin/sh\nexec codex\n")];
    expect(codexProgram({ codexBin: program, env: {} }, LINUX)).toBe(program);
    expect(codexProgram({ codexBin: script, env: {} }, LINUX)).toBe(script);
  });
});

describe("a Codex that commands can write", () => {
  const places = () => new WritablePlaces([path.join(folder, "ws")]);

  it("is skipped on PATH, however PATH leads to it; an explicitly named one is used", () => {
    const planted = put("ws/node_modules/.bin/codex", ELF_X64);
    put("other/node_modules/.bin/codex", ELF_X64);
    const honest = put("bin/codex", ELF_X64);
    mkdirSync(path.join(folder, "links"));
    symlinkSync(planted, path.join(folder, "links/codex"));
    const PATH = ["ws/node_modules/.bin", "other/node_modules/.bin", "links", "bin"].map((name) => path.join(folder, name)).join(":");
    expect(findCodex({ env: { PATH }, writable: places() })).toEqual({ path: honest, namedBy: "PATH" });
    expect(passedOver({ env: { PATH }, writable: places() })).toBe(undefined);
    expect(codexProgram({ codexBin: planted, env: { PATH }, writable: places() }, LINUX)).toBe(planted);
  });

  it("is named if there is no other one", () => {
    const planted = put("ws/codex", ELF_X64);
    const search = { env: { PATH: path.join(folder, "ws") }, writable: places() };
    expect(findCodex(search)).toBe(undefined);
    expect(() => codexProgram(search, LINUX)).toThrow(`${planted} was skipped, because commands of threads may write the file`);
  });

  it("is not started through a launcher that they cannot write", () => {
    const launcher = put("lib/node_modules/@openai/codex/bin/codex.js", "#!/usr/bin/env node\n");
    put("ws/package.json", "{}");
    put("ws/vendor/x86_64-unknown-linux-musl/bin/codex", ELF_X64);
    mkdirSync(path.join(folder, "bin"));
    symlinkSync(launcher, path.join(folder, "bin/codex"));
    symlinkSync(path.join(folder, "ws"), path.join(folder, "lib/node_modules/@openai/codex-linux-x64"));
    const search = { env: { PATH: path.join(folder, "bin") }, writable: places() };
    expect(() => codexProgram(search, LINUX)).toThrow(/bin\/codex leads to .*\/ws\/vendor\/.*, which commands of threads may write/);
  });

  it("is not one that nvm or npm installed for the user", () => {
    const version = ".nvm/versions/node/v22.1.0";
    const launcher = put(`${version}/lib/node_modules/@openai/codex/bin/codex.js`, "#!/usr/bin/env node\n");
    put(`${version}/lib/node_modules/@openai/codex/node_modules/@openai/codex-linux-x64/package.json`, "{}");
    const native = put(
      `${version}/lib/node_modules/@openai/codex/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex`,
      ELF_X64,
    );
    mkdirSync(path.join(folder, version, "bin"));
    symlinkSync(launcher, path.join(folder, version, "bin/codex"));
    expect(codexProgram({ env: { PATH: path.join(folder, version, "bin") }, writable: places() }, LINUX)).toBe(native);
  });
});

describe("a program that cannot be started is refused with the remedy", () => {
  const refused = (codexBin: string | undefined, env: NodeJS.ProcessEnv = {}) => {
    try {
      return codexProgram({ ...(codexBin === undefined ? {} : { codexBin }), env }, LINUX);
    } catch (error) {
      return error;
    }
  };

  it.each<[string, () => unknown, new (message: string) => Error, RegExp]>([
    ["nothing on PATH", () => refused(undefined), CodexMissing, /npm install -g @openai\/codex.*--codex-bin.*--engine native/],
    ["no such file", () => refused("/nowhere/codex"), CodexMissing, /\/nowhere\/codex \(--codex-bin\) does not exist/],
    ["a file that CODEX_BIN misnames", () => refused(undefined, { CODEX_BIN: "/nowhere" }), CodexMissing, /Correct CODEX_BIN/],
    ["a folder", () => refused(folder), CodexUnusable, /is not a file/],
    ["a file that may not be executed", () => refused(put("codex", ELF_X64, 0o644)), CodexUnusable, /chmod \+x/],
    ["a program for another system", () => refused(put("codex", MACH_O)), CodexUnusable, /is not a program for linux x64/],
    ["a program for another processor", () => refused(put("codex", otherProcessor())), CodexUnusable, /is not a program for linux x64/],
    ["an empty text", () => refused(put("codex", "hello there, I am a text")), CodexUnusable, /is not a program/],
  ])("%s", (_what, refusal, kind, words) => {
    const error = refusal();
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ message: expect.stringMatching(words) });
  });
});

function otherProcessor(): Buffer {
  const bytes = Buffer.from(ELF_X64);
  bytes.writeUInt16LE(0xb7, 18);
  return bytes;
}

describe("the version of a program", () => {
  it("is read from the package that contains it, at any depth", () => {
    put("codex/package.json", JSON.stringify({ name: "@openai/codex", version: "0.166.0-linux-x64" }));
    expect(packagedVersion(put("codex/vendor/x86_64/bin/codex", ELF_X64))).toBe("0.166.0-linux-x64");
  });

  it("is asked of a launcher, which may lack the program that it starts", () => {
    put("codex/package.json", JSON.stringify({ name: "@openai/codex", version: "0.166.0" }));
    expect(packagedVersion(put("codex/bin/codex.js", "#!/usr/bin/env node"))).toBeUndefined();
  });

  it.each(['{"name":"other","version":"1.0.0"}', '{"name":"@openai/codex"}', "[]", "not JSON"])("is not known from %s", (manifest) => {
    put("codex/package.json", manifest);
    expect(packagedVersion(put("codex/bin/codex", ELF_X64))).toBeUndefined();
  });
});
