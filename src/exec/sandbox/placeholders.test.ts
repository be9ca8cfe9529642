import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ownRun } from "../../platform/processes.js";
import { Placeholders } from "./placeholders.js";

let parent: string;
let folder: string;
let opened: number;
beforeEach(() => {
  parent = mkdtempSync(path.join(tmpdir(), "placeholders-"));
  opened = openSync(parent, "r");
  folder = path.join(parent, ".git");
});
afterEach(() => {
  vi.useRealTimers();
  closeSync(opened);
  rmSync(parent, { recursive: true, force: true });
});

const place = () => ({ folder: opened, name: ".git" });

it("what is missing is there while it is held", () => {
  const release = new Placeholders().hold(place());
  const held = existsSync(folder);
  release?.();
  expect([held, existsSync(folder)]).toEqual([true, false]);
});

it("the last of several users removes it", () => {
  const [one, other] = [new Placeholders(), new Placeholders()];
  const releases = [one.hold(place()), one.hold(place()), other.hold(place())];
  const seen = releases.map((release) => {
    release?.();
    return existsSync(folder);
  });
  expect(seen).toEqual([true, true, false]);
});

it.each(["an empty folder", "a folder with files", "a file"])("%s of the user is left alone", (kind) => {
  if (kind === "a file") writeFileSync(folder, "gitdir: elsewhere");
  else mkdirSync(folder);
  if (kind === "a folder with files") writeFileSync(path.join(folder, "HEAD"), "");
  expect([new Placeholders().hold(place()), existsSync(folder)]).toEqual([undefined, true]);
});

it("what the user puts there meanwhile stays", () => {
  const release = new Placeholders().hold(place());
  writeFileSync(path.join(folder, "HEAD"), "");
  release?.();
  expect(readdirSync(folder)).toEqual(["HEAD"]);
});

it("it is made and removed in the folder that is open, wherever that was moved", () => {
  const moved = `${parent}-moved`;
  renameSync(parent, moved);
  const release = new Placeholders().hold(place());
  renameSync(moved, parent);
  const held = existsSync(folder);
  release?.();
  expect([held, existsSync(folder)]).toEqual([true, false]);
});

it("one that lingers is there for the next user, until its time is over or the end comes", () => {
  vi.useFakeTimers();
  const placeholders = new Placeholders();
  const seen: boolean[] = [];
  for (const waitMs of [999, 999, 1_000]) {
    placeholders.hold(place(), { lingerMs: 1_000 })?.();
    vi.advanceTimersByTime(waitMs);
    seen.push(existsSync(folder));
  }
  placeholders.hold(place(), { lingerMs: 1_000 })?.();
  placeholders.close();
  expect([...seen, existsSync(folder)]).toEqual([true, true, false, false]);
});

it("one that somebody removed is made again for the next user", () => {
  const placeholders = new Placeholders();
  const first = placeholders.hold(place());
  rmSync(folder, { recursive: true });
  const second = placeholders.hold(place());
  const held = existsSync(folder);
  for (const release of [first, second]) release?.();
  expect([held, existsSync(folder)]).toEqual([true, false]);
});

it("the end leaves what is still in use", () => {
  const placeholders = new Placeholders();
  const release = placeholders.hold(place());
  placeholders.close();
  const held = existsSync(folder);
  release?.();
  expect([held, existsSync(folder)]).toEqual([true, false]);
});

it("what a killed server left is taken over and removed", () => {
  mkdirSync(folder);
  writeFileSync(path.join(folder, `.in-use-by-${ownRun().place}.4194304-1.0badcafe`), "");
  new Placeholders().hold(place())?.();
  expect(existsSync(folder)).toBe(false);
});

it("where nothing can be made, nothing needs to be held", () => {
  const system = openSync("/sys", "r");
  expect(new Placeholders().hold({ folder: system, name: ".git" })).toBeUndefined();
  closeSync(system);
});
