import { expect, it } from "vitest";
import { HANDSHAKE_REVISIONS, hasBatches, hasStructuredContent, negotiate } from "./revisions.js";

it("a revision we speak is taken as asked for", () => {
  const spoken = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
  expect([HANDSHAKE_REVISIONS, spoken.map(negotiate)]).toEqual([spoken, spoken]);
});

it.for(["1999-01-01", "2026-07-28", "", "newest"])("for %j our newest is offered", (asked) => {
  expect(negotiate(asked)).toBe("2025-11-25");
});

it("each revision allows what it says", () => {
  expect(HANDSHAKE_REVISIONS.map((revision) => [revision, hasBatches(revision), hasStructuredContent(revision)])).toEqual([
    ["2024-11-05", false, false],
    ["2025-03-26", true, false],
    ["2025-06-18", false, true],
    ["2025-11-25", false, true],
  ]);
});
