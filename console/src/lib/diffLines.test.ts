import { expect, it } from "vitest";
import { diffLines } from "./diffLines.js";

it("numbers the lines on both sides", () => {
  const lines = diffLines("@@ -10,3 +20,3 @@ function\n same\n-old\n+new\n\\ No newline at end of file\n");
  expect(lines.map(({ kind, before, after, text }) => [kind, before, after, text])).toEqual([
    ["hunk", undefined, undefined, "@@ -10,3 +20,3 @@ function"],
    ["same", 10, 20, "same"],
    ["removed", 11, undefined, "old"],
    ["added", undefined, 21, "new"],
    ["note", undefined, undefined, "\\ No newline at end of file"],
  ]);
});

it("treats lines inside a hunk that look like headers as content", () => {
  const lines = diffLines("@@ -1 +1 @@\n--- a/x\n+++ b/x");
  expect(lines.map(({ kind, text }) => [kind, text])).toEqual([
    ["hunk", "@@ -1 +1 @@"],
    ["removed", "-- a/x"],
    ["added", "++ b/x"],
  ]);
});

it("reads an empty line as a context line, and accepts hunks without numbers", () => {
  expect(diffLines("@@\n\n+a").map(({ kind }) => kind)).toEqual(["hunk", "same", "added"]);
  expect(diffLines("")).toEqual([]);
});
