import { describe, expect, it } from "vitest";
import { effectiveOutsideProfiles, recordedNotices } from "./recordedNotices.js";

const summaries = (settings: Parameters<typeof recordedNotices>[0]) =>
  recordedNotices(settings, "/home/codex").map((notice) => (notice.type === "deprecation" ? notice.summary : notice.message));

describe("recordedNotices", () => {
  it.each([
    [{ tools: { web_search: false } }, "`tools.web_search` is deprecated. Use `[features].web_search_request` instead."],
    [{ tools: { web_search_request: true } }, "`tools.web_search` is deprecated. Use `[features].web_search_request` instead."],
    [{ features: { web_search: true } }, "`web_search` is deprecated. Use `[features].web_search_request` instead."],
    [{ include_apply_patch_tool: true }, "`include_apply_patch_tool` is deprecated. Use `[features].apply_patch_freeform` instead."],
    [
      { experimental_use_unified_exec_tool: false },
      "`experimental_use_unified_exec_tool` is deprecated. Use `[features].unified_exec` instead.",
    ],
    [
      { experimental_instructions_file: "/x" },
      "`experimental_instructions_file` is deprecated and ignored. Use `model_instructions_file` instead.",
    ],
  ])("names the older spelling of %j", (settings, summary) => {
    expect(summaries(settings)).toEqual([summary]);
  });

  it("names unfinished features that are switched on, in the order of their names", () => {
    expect(summaries({ features: { connectors: true, collab: true, child_agents_md: false, unified_exec: true } })).toEqual([
      "Under-development features enabled: collab, connectors. Under-development features are incomplete and may behave unpredictably. To suppress this warning, set `suppress_unstable_features_warning = true` in /home/codex/config.toml.",
    ]);
  });

  it.each([
    {},
    effectiveOutsideProfiles({ include_apply_patch_tool: true }),
    { features: { web_search_request: true, nonsense: true } },
    { suppress_unstable_features_warning: true, features: { collab: true } },
  ])("says nothing about %j", (settings) => {
    expect(summaries(settings)).toEqual([]);
  });
});
