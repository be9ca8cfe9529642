import { choice, flag, inert, integer, listOf, type SettingGroup, table, text, withCommands } from "../types.js";

export const TOOLS_GROUP: SettingGroup = {
  title: "The agent's tools",
  settings: {
    web_search: withCommands(choice(["disabled", "cached", "live"]), "Whether the model may search the web, and how fresh.", "`cached`"),
    tools: withCommands(
      table({
        web_search: withCommands(flag, "Older spelling of `features.web_search_request`, which wins."),
        web_search_request: withCommands(flag, "The same again."),
        view_image: withCommands(flag, "Lets the model look at image files."),
      }),
      "Older switches for tools.",
    ),
    tool_output_token_limit: withCommands(integer("usize"), "How much of a command's output the model sees.", "by model"),
    notify: withCommands(listOf(text), "A program and its arguments, run after each turn with one JSON argument more."),
    agents: inert(
      table({ max_threads: inert(integer("usize", { atLeast: 1 }), "How many sub-agents Codex runs at once.", "`6`") }),
      "Codex's sub-agents.",
    ),
  },
};
