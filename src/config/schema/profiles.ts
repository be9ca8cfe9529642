import { active, mapOf, type Setting, type SettingGroup, type Settings, table, text } from "./settingTypes.js";

/** The target of a profile key that differs from the key of the same name. */
export const PROFILE_KEY_PATHS: Readonly<Record<string, readonly string[]>> = {
  tools_web_search: ["tools", "web_search"],
  tools_view_image: ["tools", "view_image"],
};

const SAME_NAME_KEYS = [
  "model",
  "model_provider",
  "approval_policy",
  "sandbox_mode",
  "model_reasoning_effort",
  "model_reasoning_summary",
  "model_verbosity",
  "model_personality",
  "chatgpt_base_url",
  "model_instructions_file",
  "experimental_compact_prompt_file",
  "include_apply_patch_tool",
  "experimental_use_unified_exec_tool",
  "experimental_use_freeform_apply_patch",
  "web_search",
  "analytics",
  "features",
  "oss_provider",
];

/** Profiles repeat top-level settings, so their schema is derived from them. */
export function profilesGroup(topLevel: Settings): SettingGroup {
  return {
    title: "Profiles",
    intro:
      "A profile is a named set of settings that overrides the rest of config.toml: a file `NAME.config.toml` beside it, which may hold any setting, or the table " +
      "`[profiles.NAME]`, as older Codex versions had it. The keys of such a table mean the settings of the same name; " +
      "`tools_web_search` and `tools_view_image` mean `tools.web_search` and `tools.view_image`.",
    settings: {
      profile: active(text, "The profile to use; a call's `profile` and `-p` override it."),
      profiles: active(mapOf("<name>", table(profileSettings(topLevel))), "By name."),
    },
  };
}

function profileSettings(topLevel: Settings): Settings {
  const paths = { ...Object.fromEntries(SAME_NAME_KEYS.map((key) => [key, [key]])), ...PROFILE_KEY_PATHS };
  return Object.fromEntries(Object.entries(paths).map(([key, path]) => [key, { ...settingAt(topLevel, path), about: "" }]));
}

function settingAt(settings: Settings, path: readonly string[]): Setting {
  const [key = "", ...rest] = path;
  const setting = settings[key];
  if (setting === undefined) throw new Error(`A profile key refers to the unknown setting ${path.join(".")}`);
  return rest.length > 0 && setting.type.kind === "table" ? settingAt(setting.type.fields, rest) : setting;
}
