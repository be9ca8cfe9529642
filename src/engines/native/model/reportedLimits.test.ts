import { describe, expect, it } from "vitest";
import { settingsIn } from "../../../../test/support/threads/rollouts.js";
import { durationMs, ReportedLimits } from "./provider.js";

const { provider } = settingsIn("/");
const NOW = 1_790_000_000_000;

describe("the limits of an account", () => {
  it("are read from the headers of OpenAI's API", () => {
    const limits = new ReportedLimits();
    limits.record(
      provider,
      {
        "x-ratelimit-limit-requests": "500",
        "x-ratelimit-remaining-requests": "499",
        "x-ratelimit-reset-requests": "120ms",
        "x-ratelimit-limit-tokens": "30000",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "6m0s",
      },
      NOW,
    );
    expect(limits.of(provider)).toEqual({
      requests: { limit: 500, remaining: 499, resetsAt: 1_790_000_001 },
      tokens: { limit: 30_000, remaining: 0, resetsAt: 1_790_000_360 },
      at: NOW,
    });
  });

  it("are read from those of Codex, and remain after an answer without them", () => {
    const limits = new ReportedLimits();
    limits.record(provider, { "x-codex-primary-used-percent": "41.5", "x-codex-primary-window-minutes": "300" }, NOW);
    limits.record(provider, { "content-type": "text/event-stream" }, NOW + 1);
    limits.record(provider, { "x-ratelimit-limit-tokens": "2", "x-ratelimit-remaining-tokens": "1" }, NOW + 2);
    expect(limits.of(provider)).toEqual({
      windows: { primary: { used_percent: 41.5, window_minutes: 300, resets_at: null }, secondary: null, credits: null, plan_type: null },
      tokens: { limit: 2, remaining: 1, resetsAt: null },
      at: NOW + 2,
    });
  });

  it("are kept per provider, for a limited number", () => {
    const limits = new ReportedLimits();
    const other = (at: number) => ({ ...provider, baseUrl: `http://127.0.0.1:${at}/v1` });
    for (let at = 0; at < 100; at++) limits.record(other(at), { "x-codex-primary-used-percent": String(at) }, NOW);
    expect(limits.of(other(99))?.windows?.primary?.used_percent).toBe(99);
    expect([limits.of(other(0)), limits.of(provider)]).toEqual([undefined, undefined]);
  });

  it.each([
    ["1s", 1000],
    ["6m0s", 360_000],
    ["1h2m3.5s", 3_723_500],
    ["20ms", 20],
    ["", undefined],
    ["soon", undefined],
    ["5", undefined],
    [undefined, undefined],
  ])("%j is so many milliseconds: %s", (text, ms) => {
    expect(durationMs(text)).toBe(ms);
  });
});
