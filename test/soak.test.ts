// A short form of `npm run soak`, with few clients so that the other tests have enough resources.
import { expect, it } from "vitest";
import { complaints } from "../bench/soak/complaints.js";
import { soak } from "../bench/soak/soak.js";

/** In so short a run V8 still compiles code and its heap still grows. The run of ten minutes allows a growth of a tenth only. */
const MEMORY_MARGIN = 1.6;

it("clients that come, go, die and misbehave leave nothing behind, and the others get their answers", { timeout: 240_000 }, async () => {
  const report = await soak({ warmUpSeconds: 20, seconds: 40, size: 4, restMs: 100 });
  expect(complaints(report, { memoryMargin: MEMORY_MARGIN })).toEqual([]);
  expect(Object.values(report.visits).reduce((sum, visits) => sum + visits, 0)).toBeGreaterThan(20);
});
