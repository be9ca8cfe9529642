import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { type LogFile, openLogFile } from "./logFile.js";

/** A folder with a log of at most `limitBytes`. */
class LogFolder implements AsyncDisposable {
  readonly folder = mkdtempSync(path.join(tmpdir(), "log-file-"));
  readonly file = path.join(this.folder, "x.log");
  readonly #open: LogFile[] = [];

  open(limitBytes: number): LogFile {
    const file = openLogFile(this.file, limitBytes);
    this.#open.push(file);
    return file;
  }

  /** Name → content. */
  files(): Record<string, string> {
    return Object.fromEntries(readdirSync(this.folder).map((name) => [name, readFileSync(path.join(this.folder, name), "utf8")]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const file of this.#open) await file.close();
    rmSync(this.folder, { recursive: true });
  }
}

it("is rotated when the next lines do not fit, and the oldest of five is removed", async () => {
  await using folder = new LogFolder();
  const log = folder.open(10);
  for (const name of ["one", "two", "three", "four", "five", "six"]) await log.append(`${name} 6789\n`);
  expect(folder.files()).toEqual({
    "x.log": "six 6789\n",
    "x.log.1": "five 6789\n",
    "x.log.2": "four 6789\n",
    "x.log.3": "three 6789\n",
    "x.log.4": "two 6789\n",
  });
});

it("keeps every line whole when several processes write it", async () => {
  await using folder = new LogFolder();
  const writers = ["a", "b", "c", "d"].map((name) => ({ name, log: folder.open(4_000) }));
  const linesOf = (name: string) => Array.from({ length: 40 }, (_, at) => `${name} ${at} ${"x".repeat(60)}`);
  await Promise.all(
    writers.map(async ({ name, log }) => {
      for (const line of linesOf(name)) await log.append(`${line}\n`);
    }),
  );
  const files = folder.files();
  expect(Object.keys(files).filter((name) => name.endsWith(".lock"))).toEqual([]);
  const found = Object.values(files).flatMap((text) => text.split("\n").slice(0, -1));
  expect(found.sort()).toEqual(["a", "b", "c", "d"].flatMap(linesOf).sort());
});

it("that another process has rotated is reopened by all", async () => {
  await using folder = new LogFolder();
  const [ours, theirs] = [folder.open(10), folder.open(10)];
  await ours.append("ours 1\n");
  await theirs.append("theirs 1\n");
  await ours.append("ours 2\n");
  expect(folder.files()).toEqual({ "x.log": "ours 2\n", "x.log.1": "theirs 1\n", "x.log.2": "ours 1\n" });
});

it("that another process is rotating is still written, up to a limit", async () => {
  await using folder = new LogFolder();
  const log = folder.open(10);
  writeFileSync(`${folder.file}.lock`, "");
  for (const line of ["12345678\n", "23456789\n", "34567890\n"]) await log.append(line);
  await expect(log.append("never\n")).rejects.toThrow("cannot be rotated");
  expect(statSync(folder.file).size).toBe(27);
});

it("whose lock was left behind by a dead process is rotated nevertheless", async () => {
  await using folder = new LogFolder();
  const log = folder.open(10);
  await log.append("12345678\n");
  writeFileSync(`${folder.file}.lock`, "");
  const longAgo = new Date(Date.now() - 60_000);
  utimesSync(`${folder.file}.lock`, longAgo, longAgo);
  await log.append("23456789\n");
  expect(folder.files()).toEqual({ "x.log": "23456789\n", "x.log.1": "12345678\n" });
});

it("is appended to", async () => {
  await using folder = new LogFolder();
  appendFileSync(folder.file, "before\n");
  await folder.open(1_000).append("after\n");
  expect(folder.files()).toEqual({ "x.log": "before\nafter\n" });
});
