import { expect, it } from "vitest";
import type { Verdict } from "./goals.js";
import { lastLine } from "./report.js";

const met: Verdict = { what: "reply, ms", against: "floor", limit: "≤ 3", ratio: 2, verdict: "met", beyondNoise: false };

it("the last line counts the goals and names each missed one", () => {
  const missed = { ...met, what: "ping", against: "bare-http", verdict: "missed", beyondNoise: true } as const;
  const nearly = { ...met, verdict: "missed" } as const;
  const unknown = { ...met, ratio: undefined, verdict: "not measured" } as const;
  expect(lastLine([met, met, unknown])).toBe("Goals: 2 met, 1 not measured, 0 missed");
  expect(lastLine([met, missed, nearly])).toBe(
    "Goals: 1 met, 0 not measured, 2 missed: ping against bare-http; reply, ms against floor (within noise)",
  );
});
