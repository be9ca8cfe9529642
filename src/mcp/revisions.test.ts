import { expect, it } from "vitest";
import { batchObjection, HANDSHAKE_REVISIONS, hasStructuredContent, negotiate, primesStreams } from "./revisions.js";

it("a supported revision is accepted as requested", () => {
  const spoken = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
  expect([HANDSHAKE_REVISIONS, spoken.map(negotiate)]).toEqual([spoken, spoken]);
});

it.for(["1999-01-01", "2026-07-28", "", "newest"])("for %j our newest revision is offered", (asked) => {
  expect(negotiate(asked)).toBe("2025-11-25");
});

it("each revision allows its own features", () => {
  const abilities = HANDSHAKE_REVISIONS.map((revision) => ({
    revision,
    batches: batchObjection(revision) === undefined,
    structuredContent: hasStructuredContent(revision),
    primes: primesStreams(revision),
  }));
  expect(abilities).toEqual([
    { revision: "2024-11-05", batches: false, structuredContent: false, primes: false },
    { revision: "2025-03-26", batches: true, structuredContent: false, primes: false },
    { revision: "2025-06-18", batches: false, structuredContent: true, primes: false },
    { revision: "2025-11-25", batches: false, structuredContent: true, primes: true },
  ]);
  expect([batchObjection(undefined), primesStreams(undefined)]).toEqual(["batches exist only in protocol version 2025-03-26", false]);
});
