import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { readSmallFile, smallFileIfAny } from "./smallFile.js";

let folder: string;

beforeEach(() => {
  folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "small-")));
  onTestFinished(() => fs.rmSync(folder, { recursive: true }));
});

const at = (name: string) => path.join(folder, name);

describe("a small file", () => {
  it("is read up to its limit and not a byte more", () => {
    fs.writeFileSync(at("f"), "12345");
    expect(readSmallFile(at("f"), { maxBytes: 5 })).toBe("12345");
    expect(() => readSmallFile(at("f"), { maxBytes: 4 })).toThrow("it is larger than 4 bytes");
    expect(smallFileIfAny(at("f"), { maxBytes: 4 })).toBeUndefined();
  });

  it("is read through links, and in several pieces", () => {
    const text = "é".repeat(40_000);
    fs.writeFileSync(at("f"), text);
    fs.symlinkSync("f", at("link"));
    expect(readSmallFile(at("link"), { maxBytes: 100_000 })).toBe(text);
  });

  it("is checked by its real path, if there is a check", () => {
    fs.writeFileSync(at("f"), "text");
    fs.symlinkSync("f", at("link"));
    const judged: string[] = [];
    const mayRead = (file: string) => judged.push(file) > 0;
    expect(readSmallFile(at("link"), { maxBytes: 4, mayRead })).toBe("text");
    expect(new Set(judged)).toEqual(new Set([at("f")]));
    expect(() => readSmallFile(at("link"), { maxBytes: 4, mayRead: (file) => file === at("link") })).toThrow("kept from this thread");
  });

  it.runIf(process.platform === "linux")("is checked again once it is open", () => {
    fs.writeFileSync(at("f"), "text");
    fs.writeFileSync(at("secret"), "more");
    const mayRead = (file: string) => {
      // Replaces the file as soon as it has been checked.
      if (file !== at("f")) return false;
      fs.rmSync(file);
      fs.symlinkSync("secret", file);
      return true;
    };
    expect(() => readSmallFile(at("f"), { maxBytes: 4, mayRead })).toThrow("kept from this thread");
  });

  it("that is missing or a folder fails with the system's error", () => {
    expect(() => readSmallFile(at("f"), { maxBytes: 4 })).toThrow(/^ENOENT/);
    expect(() => readSmallFile(folder, { maxBytes: 4 })).toThrow(/^EISDIR/);
  });

  it.runIf(process.platform === "linux").for([
    ["/proc/self/pagemap", "/proc, /sys or /dev"],
    ["/proc/self/environ", "/proc, /sys or /dev"],
    ["/sys/kernel/notes", "/proc, /sys or /dev"],
    ["/dev/zero", "not a regular file"],
    ["/proc/self/root/proc/self/environ", "/proc, /sys or /dev"],
  ] as const)("is never %s", ([target, why]) => {
    fs.symlinkSync(target, at("link"));
    expect(() => readSmallFile(at("link"), { maxBytes: 1000 })).toThrow(why);
  });

  it("is not a pipe, and does not block", () => {
    execFileSync("mkfifo", [at("pipe")]);
    expect(() => readSmallFile(at("pipe"), { maxBytes: 4 })).toThrow("it is not a regular file");
  });
});
