import { expect, it } from "vitest";
import { ago, bytes, count, duration, folderName, money, pathFrom, plural, remaining, roughly, stepFrom } from "./formats.js";

it("formats durations", () => {
  expect([400, 12_900, 185_000, 7_800_000, -5].map(duration)).toEqual(["0.4 s", "12 s", "3 min 05 s", "2 h 10 min", "0.0 s"]);
});

it("formats how long ago something was, even if the clock was set back", () => {
  const now = Date.parse("2026-11-16T12:00:00Z");
  const times = ["2026-11-16T11:59:30Z", "2026-11-16T11:50:00Z", "2026-11-16T09:00:00Z", "2026-11-14T09:00:00Z", "2026-11-17T09:00:00Z"];
  expect(times.map((time) => ago(time, now))).toEqual(["now", "10 min", "3 h", "2 d", "now"]);
});

it("formats numbers", () => {
  expect([840, 1_234, 45_678, 4_100_000, 0.25].map(count)).toEqual(["840", "1.2k", "46k", "4.1M", "0.3"]);
  expect([bytes(2_048), bytes(200 * 1024 * 1024), money(0.0012), money(3.456)]).toEqual(["2 KiB", "200 MiB", "$0.0012", "$3.46"]);
  expect([plural(1, "file"), plural(2, "file")]).toEqual(["1 file", "2 files"]);
});

it("shortens paths inside of a folder, and no others", () => {
  expect([
    pathFrom("/a/b", "/a/b/c.txt"),
    pathFrom("/a/b/", "/a/b/c/d"),
    pathFrom("/a/b", "/a/bc"),
    pathFrom(null, "/x"),
    pathFrom("/a", "/a/"),
  ]).toEqual(["c.txt", "c/d", "/a/bc", "/x", "/a/"]);
});

it("shortens the beginning of the paths in a step", () => {
  expect([
    stepFrom("/app", "Running cat /srv/app/config.yml > /app/x"),
    stepFrom("/app/", "/app/a.txt and '/app/b.txt'"),
    stepFrom("/", "Running ls /x"),
  ]).toEqual(["Running cat /srv/app/config.yml > x", "a.txt and 'b.txt'", "Running ls /x"]);
});

it("shows the last part of a folder's path", () => {
  expect(["/a/b/", "/", ""].map(folderName)).toEqual(["b", "/", "no folder"]);
});

it("formats remaining and elapsed time with suitable precision", () => {
  expect([90_000, 119_999, 120_000, 1_770_000, 7_260_000].map(remaining)).toEqual([
    "1 min 30 s",
    "1 min 59 s",
    "2 min",
    "30 min",
    "2 h 01 min",
  ]);
  expect([-5, 900, 59_999, 60_000, 3_600_000].map(roughly)).toEqual(["0 s", "0 s", "59 s", "1 min", "1 h"]);
});
