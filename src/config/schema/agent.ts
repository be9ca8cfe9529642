import { REASONING_SUMMARIES, VERBOSITIES } from "../../threads/settings.js";
import {
  active,
  choice,
  filePath,
  flag,
  inert,
  integer,
  listOf,
  planned,
  type Setting,
  type SettingGroup,
  type Settings,
  table,
  text,
} from "./settingTypes.js";

/** `named`: the efforts that Codex 0.92.0 names in errors. `newer`: efforts of later versions, which are accepted as well. */
export const RECORDED_EFFORTS = { named: ["none", "minimal", "low", "medium", "high", "xhigh"], newer: ["max", "ultra"] };

export const MODEL_GROUP: SettingGroup = {
  title: "Model",
  settings: {
    model: active(text, "The model to use; `latest` means the newest general model of the provider.", "`gpt-6.1-sol`"),
    model_provider: active(text, "The model's provider: a key of `model_providers` or a built-in one.", "`openai`"),
    model_reasoning_effort: active(text, "How much the model reasons: one of the efforts that it offers (see above).", "the model's own"),
    model_reasoning_summary: active(choice(REASONING_SUMMARIES), "How detailed the model's summaries of its reasoning are.", "`auto`"),
    model_verbosity: active(choice(VERBOSITIES), "How long answers are.", "the model's own"),
    model_supports_reasoning_summaries: active(
      flag,
      "Whether summaries may be requested from a model that this server does not know.",
      "by model",
    ),
    model_context_window: active(integer("i64", { atLeast: 1 }), "Size of the model's context window in tokens.", "by model"),
    model_auto_compact_token_limit: active(
      integer("i64", { atLeast: 1 }),
      "Tokens in use at which a thread's history is summarised.",
      "by model",
    ),
    hide_agent_reasoning: inert(flag, "Controls how the Codex CLI displays a turn; clients get all events.", "`false`"),
    show_raw_agent_reasoning: active(flag, "Adds the unsummarised reasoning events, where the provider sends them.", "`false`"),
    openai_base_url: active(text, "Base URL of the built-in `openai` provider; wins over `OPENAI_BASE_URL`.", "OpenAI's"),
    model_personality: inert(choice(["friendly", "pragmatic"]), "Tone of the responses."),
    review_model: inert(text, "Model of Codex's review command.", "`model`"),
  },
};

export const INSTRUCTIONS_GROUP: SettingGroup = {
  title: "Instructions",
  settings: {
    model_instructions_file: active(
      filePath,
      "A file whose text replaces the built-in instructions. It must not be empty.",
      "built-in text",
    ),
    developer_instructions: active(text, "Text sent as a developer message at the start of a thread."),
    compact_prompt: active(text, "The prompt for the summary of a history.", "built-in text"),
    experimental_compact_prompt_file: active(filePath, "The same from a file; `compact_prompt` wins."),
    project_doc_max_bytes: active(integer("usize"), "The most bytes that are read from AGENTS.md files; 0 ignores them.", "`32768`"),
    project_doc_fallback_filenames: active(listOf(text), "File names to try if a folder has no AGENTS.md.", "`[]`"),
    project_root_markers: active(
      listOf(text),
      "Names that mark a project's root folder, where the search for AGENTS.md begins.",
      '`[".git"]`',
    ),
    instructions: inert(text, "Never used by Codex either; see `developer_instructions`."),
    experimental_instructions_file: inert(filePath, "Old name of `model_instructions_file`; Codex ignores it too."),
  },
};

export const TOOLS_GROUP: SettingGroup = {
  title: "The agent's tools",
  settings: {
    web_search: active(
      choice(["disabled", "cached", "live"]),
      "Whether the model may search the web, and whether live or in a cache.",
      "`cached` with `openai`, else `disabled`",
    ),
    tools: active(
      table({
        web_search: active(flag, "Older spelling of `features.web_search_request`, which wins."),
        web_search_request: active(flag, "The same again."),
        view_image: planned(flag, "Lets the model view image files."),
      }),
      "Older switches for tools.",
    ),
    tool_output_token_limit: active(integer("usize"), "How many tokens of a command's output the model gets.", "by model"),
    notify: active(
      listOf(text),
      "A program and its arguments, run after each completed turn with one additional JSON argument. Only from your own configuration, never from a project or a caller on the network.",
    ),
    agents: active(
      table({
        enabled: active(flag, "Engine codex: whether the agent may start sub-agents, which the call waits for.", "`true`"),
        max_threads: inert(integer("usize", { atLeast: 1 }), "How many sub-agents Codex runs at the same time.", "`6`"),
      }),
      "Codex's sub-agents.",
    ),
  },
};

interface Feature {
  readonly on: boolean;
  readonly setting: (type: typeof flag, about: string, defaultText: string) => Setting;
  readonly about: string;
}

/** Codex's feature keys and their defaults. */
const FEATURES: Readonly<Record<string, Feature>> = {
  shell_tool: { on: true, setting: active, about: "Offers the model a shell." },
  exec_policy: { on: true, setting: active, about: "Applies the rules in `rules/*.rules`." },
  unified_exec: { on: false, setting: active, about: "Offers long-running terminal sessions instead of single commands." },
  apply_patch_freeform: { on: false, setting: active, about: "Offers `apply_patch` as a tool of its own." },
  shell_snapshot: { on: false, setting: inert, about: "Ignored: the login environment is always read once and kept." },
  web_search_request: { on: false, setting: active, about: "Offers live web search." },
  web_search_cached: { on: false, setting: active, about: "Offers cached web search." },
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
  multi_agent: { on: true, setting: active, about: "Engine codex: `false` is the same as `agents.enabled = false`, for every model." },
  goals: {
    on: false,
    setting: active,
    about: "Engine codex: if the agent sets a goal, turn and call last until the goal is reached.",
  },
};

export const FEATURE_DEFAULTS: Readonly<Record<string, boolean>> = mapValues(FEATURES, (feature) => feature.on);

const FEATURES_SETTING: Setting = active(
  table(mapValues(FEATURES, ({ setting, about, on }) => setting(flag, about, `\`${on}\``))),
  "Switches of Codex.",
);

/** Older switches outside `features`, each with its feature. */
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
