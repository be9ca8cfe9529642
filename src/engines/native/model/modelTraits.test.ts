import { describe, expect, it } from "vitest";
import { settingsIn } from "../../../../test/support/threads/rollouts.js";
import { CATALOGUE, compactionLimit, traitsOf, usableWindow } from "./modelTraits.js";

const HIGH = ["low", "medium", "high"];
const XHIGH = [...HIGH, "xhigh"];
const MAX = [...XHIGH, "max"];
const ULTRA = [...MAX, "ultra"];
const CAPABLE = { reasoning: true, verbosity: true, parallelToolCalls: true, patchTool: "freeform", truncation: { unit: "tokens" } };

describe("the traits of a model", () => {
  it.each([
    ["gpt-6.1-sol", { ...CAPABLE, contextWindow: 272_000, efforts: ULTRA, defaultEffort: "low" }],
    ["gpt-6-astra", { ...CAPABLE, contextWindow: 272_000, efforts: ULTRA, defaultEffort: "low" }],
    ["gpt-6-sol", { ...CAPABLE, contextWindow: 272_000, efforts: ULTRA, defaultEffort: "medium" }],
    ["gpt-6-luna", { ...CAPABLE, contextWindow: 272_000, efforts: MAX, defaultEffort: "medium" }],
    ["gpt-6.1-terra", { ...CAPABLE, contextWindow: 500_000, efforts: ULTRA, defaultEffort: "low" }],
    ["gpt-5.6-sol", { ...CAPABLE, contextWindow: 272_000, efforts: ULTRA, defaultEffort: "low" }],
    ["gpt-5.6-terra", { ...CAPABLE, contextWindow: 272_000, efforts: ULTRA, defaultEffort: "medium" }],
    ["gpt-5.6-luna", { ...CAPABLE, contextWindow: 272_000, efforts: MAX, defaultEffort: "medium" }],
    ["gpt-5.5", { ...CAPABLE, contextWindow: 272_000, efforts: XHIGH, defaultEffort: "medium" }],
    ["gpt-6.1-sol-2026-10-01", { ...CAPABLE, efforts: ULTRA }],
    ["gpt-5.2-codex", { contextWindow: 272_000, efforts: XHIGH, defaultEffort: "medium", verbosity: false, parallelToolCalls: true }],
    ["gpt-5.2", { contextWindow: 272_000, defaultEffort: "medium", verbosity: true, parallelToolCalls: true }],
    ["gpt-5.1", { contextWindow: 272_000, efforts: ["none", ...HIGH], verbosity: true, parallelToolCalls: true }],
    ["gpt-5.1-codex", { contextWindow: 272_000, efforts: HIGH, verbosity: false, parallelToolCalls: false }],
    ["gpt-5.1-codex-max", { contextWindow: 272_000, efforts: XHIGH, verbosity: false, parallelToolCalls: false }],
    ["gpt-5-codex", { contextWindow: 272_000, efforts: HIGH, verbosity: false, parallelToolCalls: false }],
    ["gpt-5", { contextWindow: 272_000, efforts: ["minimal", ...HIGH], verbosity: true, parallelToolCalls: false }],
    ["o3", { contextWindow: 200_000, efforts: HIGH, defaultEffort: "medium", verbosity: false, parallelToolCalls: false }],
    ["gpt-4.1-mini", { contextWindow: 1_047_576, reasoning: false, efforts: [], verbosity: false }],
    ["gpt-4o", { contextWindow: 128_000, reasoning: false, efforts: [] }],
    ["gpt-oss-20b", { contextWindow: 96_000, reasoning: true, efforts: HIGH, defaultEffort: undefined, patchTool: "function" }],
  ])("%s", (model, traits) => {
    expect(traitsOf({ model })).toMatchObject(traits);
  });

  it.each(["gpt-6", "gpt-6.2-sol", "gpt-7-nova", "gpt-10"])("%s, which has no row, counts as newer: it has the newest traits", (model) => {
    expect(traitsOf({ model })).toEqual({
      ...traitsOf({ model: "gpt-6.1-sol" }),
      ultraIsSentAs: "max",
      efforts: undefined,
      defaultEffort: undefined,
      defaultVerbosity: undefined,
    });
  });

  it.each(["mock-model", "qwen3-coder:30b", "claude-opus-5", ""])(
    "%j, an unknown name, has the newest traits, with function tools only",
    (model) => {
      const { contextWindow, reasoning, verbosity, parallelToolCalls, truncation } = traitsOf({ model: "gpt-6.1-sol" });
      expect(traitsOf({ model })).toMatchObject({
        contextWindow,
        reasoning,
        verbosity,
        parallelToolCalls,
        truncation,
        patchTool: "function",
      });
    },
  );

  it("an unknown name has the traits that Codex 0.92.0 assumed, where that is wanted", () => {
    expect(traitsOf({ model: "mock-model", asRecorded: true })).toMatchObject({
      contextWindow: undefined,
      reasoning: false,
      patchTool: "none",
    });
    expect(traitsOf({ model: "gpt-7-nova", asRecorded: true })).toEqual(traitsOf({ model: "gpt-7-nova" }));
  });

  it.each([
    ["gpt-5-codex", "medium"],
    ["gpt-5-codex-2025-09-23", undefined],
    ["gpt-5.1-codex-mini", "medium"],
    ["gpt-5.1-codex-max-2025-11-19", undefined],
    ["gpt-5.2-codex", "medium"],
    ["gpt-5.2-codex-2026-01-14", undefined],
  ])("as recorded, %s has the default effort %s", (model, defaultEffort) => {
    const recorded = traitsOf({ model, asRecorded: true });
    expect(recorded).toEqual({ ...traitsOf({ model }), defaultEffort, efforts: recorded.efforts });
  });

  it("does not depend on a vendor prefix", () => {
    expect(traitsOf({ model: "openai/gpt-oss-120b" })).toEqual(traitsOf({ model: "gpt-oss-120b" }));
  });

  it("each row says where it comes from", () => {
    expect(CATALOGUE.filter(({ source }) => source.length < 20)).toEqual([]);
  });
});

describe("the room a conversation has", () => {
  it.each([
    [{ model: "gpt-6.1-sol" }, 258_400, 244_800],
    [{ model: "gpt-6.1-terra" }, 475_000, 450_000],
    [{ model: "mock-model" }, 258_400, 244_800],
    [{ model: "mock-model", asRecorded: true }, null, Number.POSITIVE_INFINITY],
    [{ model: "mock-model", contextWindow: 1001 }, 950, 900],
    [{ model: "gpt-6.1-sol", contextWindow: 1000 }, 950, 900],
    [{ model: "gpt-6.1-sol", autoCompactTokenLimit: 500 }, 258_400, 500],
    [{ model: "mock-model", asRecorded: true, autoCompactTokenLimit: 500 }, null, 500],
  ])("%j", (changes, window, limit) => {
    const settings = settingsIn("/", changes);
    expect([usableWindow(settings), compactionLimit(settings)]).toEqual([window, limit]);
  });
});
