import { expect, it } from "vitest";
import { findingsIn } from "./reviewFindings.js";

it("the findings of our reviewer, with priority, place, body and confidence", () => {
  const text = `The change must not stay as it is: dates are off by one.

- [P0] Dates are read in local time — src/date.ts:14-18 (confidence 0.9)
  Every parse before noon is a day early.

  Parse as UTC.
- [P3] A test is skipped — \`test/date.test.ts:7\`
  Nothing checks it then.

I did not look at the console.
  Not even at its tests.`;
  expect(findingsIn(text)).toEqual([
    {
      priority: 0,
      title: "Dates are read in local time",
      file: "src/date.ts",
      lines: [14, 18],
      body: "Every parse before noon is a day early.\n\nParse as UTC.",
      confidence: 0.9,
    },
    {
      priority: 3,
      title: "A test is skipped",
      file: "test/date.test.ts",
      lines: [7, 7],
      body: "Nothing checks it then.",
      confidence: null,
    },
  ]);
});

it("the findings of Codex, as it shows them", () => {
  const text = "Breaks the build.\n\nFull review comments:\n\n- [P1] Import the module — /repo/a b.py:3-3\n  It is used in `main`.";
  expect(findingsIn(text)).toEqual([
    { priority: 1, title: "Import the module", file: "/repo/a b.py", lines: [3, 3], body: "It is used in `main`.", confidence: null },
  ]);
});

it.for([
  ["nothing to report", []],
  ["- one thing — and another", []],
  ["- [P2] Whole file — src/old.ts", [{ file: "src/old.ts", lines: null, priority: 2 }]],
  ["- Without a word of priority — src/old.ts:5", [{ file: "src/old.ts", lines: [5, 5], priority: null }]],
  ["- [P9] No such priority — src/old.ts", []],
  ["- [P1] Sure — a.ts:1 (confidence 7)", [{ file: "a.ts:1 (confidence 7)" }]],
  ["", []],
] as const)("%j", ([text, found]) => {
  expect(findingsIn(text)).toEqual(found.map((finding) => expect.objectContaining(finding)));
});

it("an endless text of findings is cut in linear time", () => {
  expect(findingsIn("- [P1] x — a:1\n".repeat(100_000))).toHaveLength(200);
});
