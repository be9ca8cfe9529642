import { active, filePath, inert, integer, listOf, type SettingGroup, text } from "../types.js";

export const INSTRUCTIONS_GROUP: SettingGroup = {
  title: "Instructions",
  settings: {
    model_instructions_file: active(
      filePath,
      "A file whose text replaces the built-in instructions. It must not be empty.",
      "built-in text",
    ),
    developer_instructions: active(text, "Text sent as a developer message at the start of a thread."),
    compact_prompt: active(text, "What the model is told when a history is summarised.", "built-in text"),
    experimental_compact_prompt_file: active(filePath, "The same from a file; `compact_prompt` wins."),
    project_doc_max_bytes: active(integer("usize"), "How much of the AGENTS.md files is read; 0 leaves them out.", "`32768`"),
    project_doc_fallback_filenames: active(listOf(text), "File names tried where a folder has no AGENTS.md.", "`[]`"),
    project_root_markers: active(
      listOf(text),
      "What marks the top folder of a project, where the search for AGENTS.md begins.",
      '`[".git"]`',
    ),
    instructions: inert(text, "Never used by Codex either; see `developer_instructions`."),
    experimental_instructions_file: inert(filePath, "Old name of `model_instructions_file`; Codex ignores it too."),
  },
};
