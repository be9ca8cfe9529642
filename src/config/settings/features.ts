import { active, flag, inert, type Setting, type SettingGroup, type Settings, table } from "../types.js";

interface Feature {
  readonly on: boolean;
  readonly setting: (type: typeof flag, about: string, defaultText: string) => Setting;
  readonly about: string;
}

/** The feature keys of Codex and what each is without configuration. */
const FEATURES: Readonly<Record<string, Feature>> = {
  shell_tool: { on: true, setting: active, about: "Offers the model a shell." },
  exec_policy: { on: true, setting: active, about: "Honours the rules in `rules/*.rules`." },
  unified_exec: { on: false, setting: active, about: "Offers long-running terminal sessions instead of single commands." },
  apply_patch_freeform: { on: false, setting: active, about: "Offers `apply_patch` as a tool of its own." },
  shell_snapshot: { on: false, setting: inert, about: "The login environment is always taken once and kept." },
  web_search_request: { on: false, setting: active, about: "Offers live web search." },
  web_search_cached: { on: false, setting: active, about: "Offers web search in a cache." },
  child_agents_md: { on: false, setting: inert, about: "" },
  collab: { on: false, setting: inert, about: "" },
  collaboration_modes: { on: false, setting: inert, about: "" },
  connectors: { on: false, setting: inert, about: "" },
  elevated_windows_sandbox: { on: false, setting: inert, about: "" },
  enable_request_compression: { on: false, setting: inert, about: "" },
  experimental_windows_sandbox: { on: false, setting: inert, about: "" },
  powershell_utf8: { on: process.platform === "win32", setting: inert, about: "" },
  remote_compaction: { on: true, setting: inert, about: "" },
  remote_models: { on: true, setting: inert, about: "" },
  responses_websockets: { on: false, setting: inert, about: "" },
  steer: { on: false, setting: inert, about: "" },
  undo: { on: false, setting: inert, about: "" },
};

export const FEATURE_DEFAULTS: Readonly<Record<string, boolean>> = mapValues(FEATURES, (feature) => feature.on);

const FEATURES_SETTING: Setting = active(
  table(mapValues(FEATURES, ({ setting, about, on }) => setting(flag, about, `\`${on}\``))),
  "Switches of Codex.",
);

/** Older switches outside `features`, each with the feature it stands for. */
export const LEGACY_FEATURES: Readonly<Record<string, string>> = {
  experimental_use_unified_exec_tool: "unified_exec",
  experimental_use_freeform_apply_patch: "apply_patch_freeform",
  include_apply_patch_tool: "apply_patch_freeform",
};

const LEGACY_FEATURE_SETTINGS: Settings = mapValues(LEGACY_FEATURES, (feature) =>
  active(flag, `Older spelling of \`features.${feature}\`, which wins.`),
);

export const FEATURES_GROUP: SettingGroup = {
  title: "Features",
  intro: "Those without a description concern Codex itself.",
  settings: { features: FEATURES_SETTING, ...LEGACY_FEATURE_SETTINGS },
};

function mapValues<From, To>(record: Readonly<Record<string, From>>, map: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
