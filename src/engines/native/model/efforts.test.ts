import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { settingsIn } from "../../../../test/support/threads/rollouts.js";
import { EffortNotOffered } from "../../../threads/errors.js";
import { checkEffort, effortOnTheWire, LISTED_MODELS, withOfferedEffort } from "./modelTraits.js";

/** The rows of the table in docs/configuration.md: the model, its efforts, its default, and the effort sent for `ultra`. */
function documentedRows(): string[][] {
  const docs = readFileSync(new URL("../../../../docs/configuration.md", import.meta.url), "utf8");
  const rows = /\| model \| efforts \|.*\n\|[-|]+\n((?:\|.*\n)+)/.exec(docs)?.[1] ?? "";
  return rows
    .trim()
    .split("\n")
    .map((row) =>
      row
        .replaceAll("`", "")
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

const asked = (model: string, reasoningEffort?: string) => settingsIn("/", { model, ...(reasoningEffort && { reasoningEffort }) });

describe("the efforts in the docs", () => {
  it.each(documentedRows())("%s offers %s, with the default %s", (model = "", efforts = "", own = "", ultra = "") => {
    const words = efforts.split(", ");
    const sent = words.map((word) => {
      checkEffort(asked(model, word));
      return effortOnTheWire(asked(model, word));
    });
    expect(sent).toEqual(words.map((word) => (word === "ultra" ? ultra : word)));
    expect(effortOnTheWire(asked(model))).toBe(own);
    for (const other of ["none", "minimal", "max", "ultra", "colossal"].filter((word) => !words.includes(word)))
      expect(() => checkEffort(asked(model, other))).toThrow(EffortNotOffered);
  });

  it("are those of all models that Codex shows", () => {
    expect(documentedRows().map(([model]) => model)).toEqual(LISTED_MODELS);
  });
});

describe("an effort", () => {
  it.each([
    ["gpt-6.1-sol", "low", "low"],
    ["gpt-6.1-sol", "max", "max"],
    ["gpt-6.1-sol", "ultra", "xhigh"],
    ["gpt-6-sol", "ultra", "max"],
    ["gpt-6.1-sol", undefined, "low"],
    ["gpt-6-luna", undefined, "medium"],
    ["somebody-s-model", "colossal", "colossal"],
    ["somebody-s-model", undefined, undefined],
  ])("%s with %s is requested as %s, as Codex does", (model, effort, sent) => {
    const settings = asked(model, effort);
    expect(() => checkEffort(settings)).not.toThrow();
    expect(effortOnTheWire(settings)).toBe(sent);
  });

  it.each([
    ["gpt-6.1-sol", "minimal", "low, medium, high, xhigh, max, ultra"],
    ["gpt-6.1-sol", "none", "low, medium, high, xhigh, max, ultra"],
    ["gpt-6-luna", "ultra", "low, medium, high, xhigh, max"],
    ["gpt-5.5", "max", "low, medium, high, xhigh"],
  ])("%s does not offer %s, and the error names those it does", (model, effort, offered) => {
    expect(() => checkEffort(asked(model, effort))).toThrow(new EffortNotOffered(effort, { model, offered: offered.split(", ") }));
    expect(() => checkEffort(asked(model, effort))).toThrow(`Set model_reasoning_effort to one of ${offered}, or leave it out`);
  });

  it("is checked against the provider's list if that says more than the table", () => {
    expect(() => checkEffort(asked("gpt-6.1-sol", "minimal"), ["minimal"])).not.toThrow();
    expect(() => checkEffort(asked("somebody-s-model", "max"), ["low"])).toThrow(EffortNotOffered);
  });

  it("for all models does not stop a model without reasoning from working", () => {
    expect(() => checkEffort(asked("gpt-4.1", "max"))).not.toThrow();
  });

  it.each([
    ["gpt-5.5", "ultra", "xhigh"],
    ["gpt-5.5", "minimal", "low"],
    ["gpt-5.5", "medium", "medium"],
    ["gpt-5.5", "colossal", "low"],
    ["gpt-5.5", undefined, undefined],
    ["gpt-4.1", "max", "max"],
  ])("of another model becomes one of this: %s, %s → %s", (model, effort, becomes) => {
    expect(withOfferedEffort(asked(model, effort)).reasoningEffort).toBe(becomes);
  });
});
