import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { findings } from "../scripts/architecture/findings.js";
import {
  barrels,
  fileReaders,
  hiddenFileImports,
  importCycles,
  longFiles,
  lostTimeouts,
  mutualFolders,
  namesExportedTwice,
  scraps,
  unknownImports,
  upwardImports,
} from "../scripts/architecture/rules.js";
import { readSources, sourcesOf } from "../scripts/architecture/sources.js";

const sources = readSources(fileURLToPath(new URL("../src", import.meta.url)));

describe("the sources", () => {
  it.each(findings(sources).map(({ rule, broken }) => ({ rule, broken })))("$rule", ({ broken }) => {
    expect(broken).toEqual([]);
  });

  it("are read completely", () => {
    expect(sources.get("main.ts")?.imports).toContain("server/serveStdio.ts");
    expect(sources.get("server/serveStdio.ts")?.imports).toEqual(
      expect.arrayContaining(["mcp/sessions/session.ts", "server/openAgent.ts"]),
    );
    expect(sources.get("lib/errors.ts")?.exports).toEqual(["AppError", "UsageError", "describe", "errorCode"]);
  });
});

describe("a rule finds", () => {
  it("imports of every kind", () => {
    const text = [
      'import { a,\n  b } from "./one.js";',
      'import type { C } from "../two.js";',
      'import "./three.js";',
      'export type { D } from "./four.js";',
      'const five = () => import("./five.js");',
      'import x from "node:fs";',
    ].join("\n");
    expect(sourcesOf({ "a/file.ts": text }).get("a/file.ts")?.imports).toEqual([
      "a/one.ts",
      "two.ts",
      "a/three.ts",
      "a/four.ts",
      "a/five.ts",
    ]);
  });

  it("exports of every kind, a value and its type once", () => {
    const text = [
      "export const Shape = 1;",
      "export type Shape = number;",
      "export async function* walk() {}",
      "export abstract class Base {}",
      "export interface Plan {}",
      'export { one, two as second, type Third } from "./x.js";',
      "const hidden = 1;",
    ].join("\n");
    expect(sourcesOf({ "file.ts": text }).get("file.ts")?.exports).toEqual(["Shape", "walk", "Base", "Plan", "one", "second", "Third"]);
  });

  it("imports that lead nowhere, up, or in a cycle", () => {
    const tree = sourcesOf({
      "top/a.ts": 'import "../low/b.js";\nimport "./missing.js";',
      "low/b.ts": 'import type { A } from "../top/a.js";',
    });
    expect(unknownImports(tree)).toEqual(["top/a.ts imports top/missing.ts"]);
    expect(upwardImports(tree, { top: ["low"], low: [] })).toEqual(["low/b.ts imports top/a.ts"]);
    expect(upwardImports(tree, { top: ["low"] })).toEqual(["low/b.ts imports top/a.ts"]);
    expect(importCycles(tree)).toEqual(["top/a.ts → low/b.ts → top/a.ts"]);
  });

  it("folders that import each other, a folder and its parent too", () => {
    const tree = sourcesOf({
      "room/a.ts": 'import "./corner/b.js";',
      "room/c.ts": "",
      "room/corner/b.ts": 'import "../c.js";',
      "room/other/d.ts": 'import "../c.js";',
    });
    expect(mutualFolders(tree)).toEqual(["room ⇄ room/corner"]);
  });

  it("names with two owners", () => {
    const tree = sourcesOf({ "a.ts": "export type Place = 1;", "b.ts": "export const Place = 2;", "c.ts": "const Place = 3;" });
    expect([...namesExportedTwice(tree)]).toEqual([["Place", ["a.ts", "b.ts"]]]);
  });

  it("files of less than a screen with a single importer", () => {
    const lines = (count: number) => "x;\n".repeat(count);
    const tree = sourcesOf({
      "main.ts": 'import "./small.js";\nimport "./large.js";\nimport "./shared.js";',
      "small.ts": lines(44),
      "large.ts": `${lines(44)}import "./shared.js";\n`,
      "shared.ts": "",
    });
    expect([...scraps(tree)]).toEqual([["small.ts", "main.ts"]]);
  });

  it("long files without a reason", () => {
    const long = "x;\n".repeat(301);
    expect(longFiles(sourcesOf({ "a.ts": long, "b.ts": `/** Long because it is a table. */\n${long}`, "c.ts": long.slice(3) }))).toEqual([
      "a.ts",
    ]);
  });

  it("files that only re-export others", () => {
    const tree = sourcesOf({
      "a/index.ts": "",
      "b.ts": 'export * from "./c.js";',
      "c.ts": "export default 1;",
      "d.ts": "export const d = 1;",
    });
    expect(barrels(tree)).toEqual(["a/index.ts", "b.ts", "c.ts"]);
  });

  it("files that can read files", () => {
    const imports = {
      named: 'import { existsSync, readFileSync as read, type Stats } from "node:fs";',
      whole: 'import fs from "fs";',
      star: 'import * as fs from "node:fs/promises";',
      promises: 'import { promises } from "node:fs";',
      handle: 'import type { FileHandle } from "node:fs/promises";',
      others: 'import { realpath, statSync, readlink } from "node:fs";',
    };
    expect(fileReaders(sourcesOf(imports))).toEqual(["named", "whole", "star", "promises"]);
    const hidden = {
      dynamic: 'await import("node:fs");',
      required: 'require("fs")',
      builtin: 'process.getBuiltinModule("fs")',
      no: "fs(1)",
    };
    expect(hiddenFileImports(sourcesOf(hidden))).toEqual(["dynamic", "required", "builtin"]);
  });

  it("a time limit that may be collected early", () => {
    const limits = { lost: "AbortSignal.any([signal, AbortSignal.timeout(10)])", held: "AbortSignal.any([signal, timeoutSignal(10)])" };
    expect(lostTimeouts(sourcesOf(limits))).toEqual(["lost"]);
  });
});
