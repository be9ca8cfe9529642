import { describe, expect, it } from "vitest";
import { threadIdOf } from "../../lib/ids.js";
import { type AnswerBudget, errorWithinBudget, withinBudget } from "./answerBudget.js";

const threadId = threadIdOf("01a1dd1a-6d22-73e1-88aa-ccf523ae5caa");
const budget = (tokens: number, spentCharacters = 0): AnswerBudget => ({ tokens, spentCharacters, threadId });

describe("an answer", () => {
  it("that fits is not changed", () => {
    expect(withinBudget("x".repeat(400), budget(100))).toBe("x".repeat(400));
  });

  it("that does not fit keeps its beginning and its end, within the budget, and says what is missing", () => {
    const answer = Array.from({ length: 10_000 }, (_, line) => `line ${line}`).join("\n");
    const cut = withinBudget(answer, budget(500));
    expect(cut.length).toBeLessThanOrEqual(2_000);
    expect(cut).toMatch(/^line 0\nline 1\n/);
    expect(cut).toMatch(/\nline 9998\nline 9999$/);
    const [, omitted, all] = /\[… (\d+) of (\d+) characters are left out here\. codex-threads .* threadId "01a1/.exec(cut) ?? [];
    expect(Number(all)).toBe(answer.length);
    expect(answer.length - Number(omitted)).toBe(cut.length - (/\n\n\[…[^\]]*…\]\n\n/.exec(cut)?.[0].length ?? 0));
  });

  it("keeps within the budget as JSON too, where quotes and line breaks are longer", () => {
    const code = 'say "a";\n'.repeat(2_000);
    const prose = "word ".repeat(2_000);
    for (const answer of [code, `${code}${prose}${code}`, `${'"'.repeat(3_000)}${prose}${'"'.repeat(3_000)}`])
      expect(JSON.stringify(withinBudget(answer, budget(1_000))).length).toBeLessThanOrEqual(4_000 + 2);
    const short = 'say "a";\n'.repeat(300);
    expect(withinBudget(short, budget(1_000))).toBe(short);
    expect(withinBudget("", budget(0))).toBe("");
  });

  it("gets the part of the budget that the rest of the result leaves", () => {
    expect(withinBudget("x".repeat(5_000), budget(1_000, 2_000)).length).toBeLessThanOrEqual(2_000);
  });

  it.for([0, 1, 10, 60])("with a budget of %i tokens, which the receipt uses up, is replaced by where it can be read", (tokens) => {
    expect(withinBudget("x".repeat(5_000), budget(tokens, 10_000))).toMatch(/^\[… 5000 of 5000 characters .*\]$/);
  });

  it("is never cut inside of a character", () => {
    for (let tokens = 80; tokens < 90; tokens++)
      for (const shift of ["", "a"]) {
        const cut = withinBudget(shift + "😀".repeat(2_000), budget(tokens));
        expect(Buffer.from(cut).toString()).toBe(cut);
      }
  });
});

describe("an error", () => {
  const why = `first cause ${"x".repeat(10_000)} last remedy`;

  it.for([0, 1, 60, 500])("keeps its beginning and its end with a budget of %i tokens, which the receipt uses up", (tokens) => {
    const cut = errorWithinBudget(why, { tokens, spentCharacters: 10_000 });
    expect(cut).toMatch(/^first cause x+\n\n\[… \d+ of 10024 characters are left out here …\]\n\nx+ last remedy$/);
    expect(cut.length).toBeLessThanOrEqual(2_000);
  });

  it("is whole where there is room", () => {
    expect([
      errorWithinBudget(why, { tokens: 20_000, spentCharacters: 500 }),
      errorWithinBudget("no", { tokens: 0, spentCharacters: 0 }),
    ]).toEqual([why, "no"]);
  });
});
