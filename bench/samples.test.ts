import { describe, expect, it } from "vitest";
import { quantile, Samples } from "./samples.js";

describe("quantile", () => {
  it.each([
    [[], 0.5, undefined],
    [[7], 0.95, 7],
    [[3, 1, 2], 0.5, 2],
    [[1, 2, 3, 4], 0.5, 2.5],
    [[10, 0], 0.25, 2.5],
  ])("of %j at %d is %d", (values, share, expected) => {
    expect(quantile(values, share)).toBe(expected);
  });
});

describe("Samples", () => {
  it("keeps every value under its case, server and metric", () => {
    const samples = new Samples();
    samples.add({ caseName: "turns", target: "ours", metric: "reply" }, [1]);
    samples.add({ caseName: "turns", target: "floor", metric: "cpu" }, [5]);
    samples.add({ caseName: "turns", target: "ours", metric: "reply" }, [3, 2]);
    expect(JSON.parse(JSON.stringify(samples))).toEqual({ turns: { ours: { reply: [1, 3, 2] }, floor: { cpu: [5] } } });
    expect(samples.median({ caseName: "turns", target: "ours", metric: "reply" })).toBe(2);
    expect(samples.metricsOf("turns")).toEqual(["reply", "cpu"]);
  });
});
