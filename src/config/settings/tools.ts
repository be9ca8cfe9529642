import { active, choice, flag, inert, integer, listOf, planned, type SettingGroup, table, text } from "../types.js";

export const TOOLS_GROUP: SettingGroup = {
  title: "The agent's tools",
  settings: {
    web_search: active(
      choice(["disabled", "cached", "live"]),
      "Whether the model may search the web, and how fresh.",
      "`cached` with `openai`, else `disabled`",
    ),
    tools: active(
      table({
        web_search: active(flag, "Older spelling of `features.web_search_request`, which wins."),
        web_search_request: active(flag, "The same again."),
        view_image: planned(flag, "Lets the model look at image files."),
      }),
      "Older switches for tools.",
    ),
    tool_output_token_limit: active(integer("usize"), "How much of a command's output the model sees.", "by model"),
    notify: planned(listOf(text), "A program and its arguments, run after each turn with one JSON argument more."),
    agents: inert(
      table({ max_threads: inert(integer("usize", { atLeast: 1 }), "How many sub-agents Codex runs at once.", "`6`") }),
      "Codex's sub-agents.",
    ),
  },
};
