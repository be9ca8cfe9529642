import { describe, expect, it } from "vitest";
import { readableTime, usageLimitText } from "./usageLimit.js";

const NEW_CENTURY = new Date(2100, 0, 1);

describe("the text of a usage limit", () => {
  it.each([
    [
      "plus",
      "You've hit your usage limit. Upgrade to Pro (https://openai.com/chatgpt/pricing), visit https://chatgpt.com/codex/settings/usage to purchase more credits or try again at Jan 1st, 2100 12:00 AM.",
    ],
    [
      "pro",
      "You've hit your usage limit. To go on now, visit https://chatgpt.com/codex/settings/usage to purchase more credits or try again at Jan 1st, 2100 12:00 AM.",
    ],
    ["team", "You've hit your usage limit. Please try again at Jan 1st, 2100 12:00 AM."],
    [undefined, "You've hit your usage limit. Please try again at Jan 1st, 2100 12:00 AM."],
  ])("names the way out of plan %s", (planType, text) => {
    expect(usageLimitText({ planType, resetsAt: NEW_CENTURY.getTime() / 1000 })).toBe(text);
  });

  it("names no time when none is given", () => {
    expect(usageLimitText({ planType: "plus", resetsAt: "soon" })).toMatch(/ or try again later\.$/);
  });
});

describe("a moment, for people", () => {
  const now = new Date(2026, 4, 5, 9, 0);

  it.each([
    [new Date(2026, 4, 5, 0, 5), "12:05 AM"],
    [new Date(2026, 4, 5, 12, 30), "12:30 PM"],
    [new Date(2026, 4, 5, 23, 59), "11:59 PM"],
    [new Date(2026, 4, 2, 9, 0), "May 2nd, 2026 9:00 AM"],
    [new Date(2026, 4, 3, 9, 0), "May 3rd, 2026 9:00 AM"],
    [new Date(2026, 4, 11, 9, 0), "May 11th, 2026 9:00 AM"],
    [new Date(2026, 4, 12, 9, 0), "May 12th, 2026 9:00 AM"],
    [new Date(2026, 4, 13, 9, 0), "May 13th, 2026 9:00 AM"],
    [new Date(2026, 4, 21, 9, 0), "May 21st, 2026 9:00 AM"],
    [new Date(2026, 4, 22, 9, 0), "May 22nd, 2026 9:00 AM"],
    [new Date(2026, 4, 30, 9, 0), "May 30th, 2026 9:00 AM"],
    [new Date(2027, 4, 5, 9, 0), "May 5th, 2027 9:00 AM"],
  ])("%s", (at, text) => {
    expect(readableTime(at, now)).toBe(text);
  });
});
