import { describe, expect, it } from "vitest";
import { generalModels, listedAs } from "./generalModels.js";

const named = (...names: readonly string[]) => names.map((name) => ({ name }));
const best = (...names: readonly string[]) => generalModels(named(...names))[0]?.name;

describe("the general model of a list", () => {
  it("of Codex's own is the default of Codex, in the order of its catalogue", () => {
    const names = ["gpt-5.5", "gpt-6-luna", "gpt-6.1-terra", "gpt-6-astra", "gpt-5.6-sol", "gpt-6.1-sol", "gpt-6-sol", "gpt-5.6-luna"];
    expect(generalModels(named(...names)).map(({ name }) => name)).toEqual([
      "gpt-6.1-sol",
      "gpt-6.1-terra",
      "gpt-6-sol",
      "gpt-6-astra",
      "gpt-6-luna",
      "gpt-5.6-sol",
      "gpt-5.6-luna",
      "gpt-5.5",
    ]);
  });

  it.each([
    [["gpt-6.1-sol", "gpt-6.2-sol"], "gpt-6.2-sol"],
    [["gpt-6.1-sol", "gpt-10"], "gpt-10"],
    [["gpt-5.1", "gpt-5-mini", "gpt-4.1", "gpt-5.1-codex-mini"], "gpt-5.1"],
    [["gpt-4.1", "gpt-5-mini"], "gpt-5-mini"],
    [["gpt-5", "gpt-5.1-codex-mini"], "gpt-5"],
    [["gpt-5.2", "gpt-5.2-2026-01-01", "gpt-5.2-chat-latest", "gpt-5.2-pro"], "gpt-5.2"],
    [["gpt-5.2-2026-01-01", "gpt-5"], "gpt-5.2-2026-01-01"],
    [["o4-mini", "gpt-4o", "o3"], "o3"],
    [["text-embedding-3-large", "gpt-image-2", "gpt-realtime", "whisper-1", "gpt-oss:20b"], "gpt-oss:20b"],
    [["openai/gpt-5.5", "anthropic/claude-opus-5", "openai/gpt-6-sol"], "openai/gpt-6-sol"],
    [["llama3.3", "qwen3-coder:30b", "nomic-embed-text"], "qwen3-coder:30b"],
    [["gpt-daybreak-red-latest", "codex-auto-review", "gpt-5.5"], "gpt-5.5"],
    [["text-embedding-3-large"], undefined],
    [[], undefined],
  ])("%j is %s", (names, expected) => {
    expect(best(...names)).toBe(expected);
  });

  it("is never one that was shut down, and the newest among equals", () => {
    const now = new Date("2026-11-16");
    const models = [
      { name: "gpt-6-sol", shutdown: new Date("2026-11-15") },
      { name: "one", created: 1 },
      { name: "two", created: 2 },
    ];
    expect(generalModels(models, now).map(({ name }) => name)).toEqual(["two", "one"]);
  });
});

it("a model is found with any vendor prefix, its own name first", () => {
  expect(listedAs("gpt-6-sol", named("openai/gpt-6-sol", "gpt-6-sol"))?.name).toBe("gpt-6-sol");
  expect(listedAs("gpt-6-sol", named("openai/gpt-6-sol"))?.name).toBe("openai/gpt-6-sol");
  expect(listedAs("gpt-6-sol", named("gpt-6"))).toBeUndefined();
});
