import path from "node:path";
import type { OpeningNotice } from "../threads/settings.js";
import { LEGACY_FEATURES } from "./schema/agent.js";
import type { ConfigTree } from "./schema/settingTypes.js";
import { flagAt, tableAt, textAt } from "./tree.js";

/** Features that Codex 0.92.0 marked as under development, from its `codex features list`. */
const UNFINISHED = [
  "apply_patch_freeform",
  "child_agents_md",
  "collab",
  "collaboration_modes",
  "connectors",
  "elevated_windows_sandbox",
  "enable_request_compression",
  "exec_policy",
  "experimental_windows_sandbox",
  "powershell_utf8",
  "remote_compaction",
  "remote_models",
  "responses_websockets",
  "web_search_cached",
];

/** A setting that had no effect outside profiles. */
const ONLY_IN_PROFILES = "include_apply_patch_tool";

/** Settings from outside a profile that Codex 0.92.0 would have used. */
export function effectiveOutsideProfiles(settings: ConfigTree): ConfigTree {
  return Object.fromEntries(Object.entries(settings).filter(([key]) => key !== ONLY_IN_PROFILES));
}

const FLAGS_PAGE = "https://github.com/openai/codex/blob/main/docs/config.md#feature-flags";

/** Codex 0.92.0's notices about settings at the start of a thread: deprecated names, in order, and features under development. */
export function recordedNotices(settings: ConfigTree, codexHome: string): OpeningNotice[] {
  return [...oldSpellings(settings), ...oldInstructions(settings), ...unfinished(settings, codexHome)];
}

function oldSpellings(settings: ConfigTree): OpeningNotice[] {
  const features = tableAt(settings, "features");
  const tools = tableAt(settings, "tools");
  const found = new Map<string, string>();
  for (const [key, feature] of Object.entries(LEGACY_FEATURES)) if (key in features || key in settings) found.set(key, feature);
  if ("web_search" in features) found.set("web_search", "web_search_request");
  if ("web_search" in tools || "web_search_request" in tools) found.set("tools.web_search", "web_search_request");
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, feature]) => oldSpelling(key, feature));
}

function oldSpelling(key: string, feature: string): OpeningNotice {
  return {
    type: "deprecation",
    summary: `\`${key}\` is deprecated. Use \`[features].${feature}\` instead.`,
    details: `Enable it with \`--enable ${feature}\` or \`[features].${feature}\` in config.toml. See ${FLAGS_PAGE} for details.`,
  };
}

function oldInstructions(settings: ConfigTree): OpeningNotice[] {
  if (textAt(settings, "experimental_instructions_file") === undefined) return [];
  return [
    {
      type: "deprecation",
      summary: "`experimental_instructions_file` is deprecated and ignored. Use `model_instructions_file` instead.",
      details: "Move the setting to `model_instructions_file` in config.toml (or under a profile) to load instructions from a file.",
    },
  ];
}

function unfinished(settings: ConfigTree, codexHome: string): OpeningNotice[] {
  if (flagAt(settings, "suppress_unstable_features_warning")) return [];
  const features = tableAt(settings, "features");
  const enabled = UNFINISHED.filter((name) => features[name] === true);
  if (enabled.length === 0) return [];
  const file = path.join(codexHome, "config.toml");
  return [
    {
      type: "warning",
      ofThread: true,
      message: `Under-development features enabled: ${enabled.join(", ")}. Under-development features are incomplete and may behave unpredictably. To suppress this warning, set \`suppress_unstable_features_warning = true\` in ${file}.`,
    },
  ];
}
