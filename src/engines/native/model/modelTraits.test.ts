import { describe, expect, it } from "vitest";
import { settingsIn } from "../../../../test/support/rollouts.js";
import { compactionLimit, traitsOf, usableWindow } from "./modelTraits.js";

describe("what a model can do", () => {
  it.each([
    ["gpt-5.2-codex", { contextWindow: 272_000, reasoning: true, defaultEffort: "medium", verbosity: false, parallelToolCalls: true }],
    ["gpt-5.2", { contextWindow: 272_000, reasoning: true, defaultEffort: "medium", verbosity: true, parallelToolCalls: true }],
    ["gpt-5.1", { contextWindow: 272_000, reasoning: true, defaultEffort: "medium", verbosity: true, parallelToolCalls: true }],
    ["gpt-5.1-codex", { contextWindow: 272_000, reasoning: true, defaultEffort: "medium", verbosity: false, parallelToolCalls: false }],
    ["gpt-5.1-codex-max", { contextWindow: 272_000, reasoning: true, defaultEffort: "medium", verbosity: false, parallelToolCalls: false }],
    ["gpt-5-codex", { contextWindow: 272_000, reasoning: true, defaultEffort: "medium", verbosity: false, parallelToolCalls: false }],
    ["gpt-5-codex-mini", { contextWindow: 272_000, reasoning: true, defaultEffort: "medium", verbosity: false, parallelToolCalls: false }],
    ["gpt-5", { contextWindow: 272_000, reasoning: true, defaultEffort: "medium", verbosity: true, parallelToolCalls: false }],
    ["o3", { contextWindow: 200_000, reasoning: true, defaultEffort: "medium", verbosity: false, parallelToolCalls: false }],
    ["gpt-4.1-mini", { contextWindow: 1_047_576, reasoning: false, defaultEffort: undefined, verbosity: false, parallelToolCalls: false }],
    ["gpt-oss-20b", { contextWindow: 96_000, reasoning: true, defaultEffort: undefined, verbosity: false, parallelToolCalls: false }],
    ["mock-model", { contextWindow: undefined, reasoning: false, defaultEffort: undefined, verbosity: false, parallelToolCalls: false }],
  ])("%s", (model, traits) => {
    expect(traitsOf(model)).toMatchObject(traits);
  });

  it("does not depend on whose name stands before it", () => {
    expect(traitsOf("openai/gpt-oss-120b")).toEqual(traitsOf("gpt-oss-120b"));
  });
});

describe("the room a conversation has", () => {
  it.each([
    [{ model: "gpt-5.2-codex" }, 258_400, 244_800],
    [{ model: "mock-model" }, null, Number.POSITIVE_INFINITY],
    [{ model: "mock-model", contextWindow: 1001 }, 950, 900],
    [{ model: "gpt-5.2-codex", contextWindow: 1000 }, 950, 900],
    [{ model: "gpt-5.2-codex", autoCompactTokenLimit: 500 }, 258_400, 500],
    [{ model: "mock-model", autoCompactTokenLimit: 500 }, null, 500],
  ])("%j", (changes, window, limit) => {
    const settings = settingsIn("/", changes);
    expect([usableWindow(settings), compactionLimit(settings)]).toEqual([window, limit]);
  });
});
