import { expect, it } from "vitest";
import { readRateLimits } from "./rateLimits.js";

it("limits are read from the headers of an answer", () => {
  expect(
    readRateLimits({
      "x-codex-primary-used-percent": "12.5",
      "x-codex-primary-window-minutes": "300",
      "x-codex-primary-reset-at": "1767225600",
      "x-codex-secondary-used-percent": "3",
      "x-codex-credits-has-credits": "true",
      "x-codex-credits-unlimited": "False",
      "x-codex-credits-balance": "9.99",
    }),
  ).toEqual({
    primary: { used_percent: 12.5, window_minutes: 300, resets_at: 1767225600 },
    secondary: { used_percent: 3, window_minutes: null, resets_at: null },
    credits: { has_credits: true, unlimited: false, balance: "9.99" },
    plan_type: null,
  });
});

it("credits without a balance have none", () => {
  expect(readRateLimits({ "x-codex-credits-has-credits": "1", "x-codex-credits-unlimited": "1", "x-codex-credits-balance": "" })).toEqual({
    primary: null,
    secondary: null,
    credits: { has_credits: true, unlimited: true, balance: null },
    plan_type: null,
  });
});

it.each([
  {},
  { "content-type": "text/event-stream" },
  { "x-codex-primary-window-minutes": "300" },
  { "x-codex-primary-used-percent": "much" },
  { "x-codex-primary-used-percent": " " },
  { "x-codex-primary-used-percent": ["1", "2"] },
  { "x-codex-credits-has-credits": "true" },
])("headers that tell no limit: %j", (headers) => {
  expect(readRateLimits(headers)).toBeUndefined();
});
