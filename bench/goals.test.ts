import { describe, expect, it } from "vitest";
import { LAYER } from "./cases/layer.js";
import { START } from "./cases/start.js";
import { TURNS } from "./cases/turns.js";
import { judge } from "./goals.js";
import { Samples } from "./samples.js";

function samplesOf(figures: readonly [caseName: string, target: string, metric: string, values: readonly number[]][]): Samples {
  const samples = new Samples();
  for (const [caseName, target, metric, values] of figures) samples.add({ caseName, target, metric }, values);
  return samples;
}

describe("judge", () => {
  it("compares our median with the other server's median of the same run", () => {
    const samples = samplesOf([
      ["turns", "ours", TURNS.reply, [1, 2, 90]],
      ["turns", "codex-0.92", TURNS.reply, [8, 10, 12]],
    ]);
    expect(judge(samples).filter(({ verdict }) => verdict !== "not measured")).toEqual([
      { what: "reply, ms", against: "codex-0.92", limit: "≤ 0.25", ratio: 0.2, verdict: "met", beyondNoise: false },
    ]);
  });

  it("counts a goal as missed only if the difference exceeds the noise", () => {
    const initializeAt = (ms: number) =>
      judge(
        samplesOf([
          ["start", "ours", START.initialize, [ms]],
          ["start", "codex-0.92-npm", START.initialize, [100]],
        ]),
      )[0];
    expect([100, 120, 130].map((ms) => initializeAt(ms))).toMatchObject([
      { verdict: "met", beyondNoise: false },
      { verdict: "missed", beyondNoise: false },
      { verdict: "missed", beyondNoise: true },
    ]);
  });

  it("expects a higher value where higher is better", () => {
    const figure = { caseName: "deltas", metric: "deltas/s at the client" };
    const samples = new Samples();
    samples.add({ ...figure, target: "ours" }, [20_000]);
    samples.add({ ...figure, target: "app-server-0.166" }, [10_000]);
    expect(judge(samples).find(({ ratio }) => ratio !== undefined)).toMatchObject({
      limit: "≥ 3",
      ratio: 2,
      verdict: "missed",
      beyondNoise: true,
    });
  });

  it("limits what our layer may add to the real Codex", () => {
    const samples = samplesOf([
      ["layer", "ours-codex", LAYER.overhead, [2, 4, 90]],
      ["layer", "ours-codex", LAYER.allowedOverhead, [5, 5, 5]],
    ]);
    expect(judge(samples).filter(({ verdict }) => verdict !== "not measured")).toEqual([
      {
        what: LAYER.overhead,
        against: `ours-codex, ${LAYER.allowedOverhead}`,
        limit: "≤ 1",
        ratio: 0.8,
        verdict: "met",
        beyondNoise: false,
      },
    ]);
  });
});
