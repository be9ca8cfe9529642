import { active, flag, float, integer, type SettingGroup, table } from "../types.js";
import { HTTP_SETTINGS } from "./http.js";

export const DEFAULT_IDLE_THREAD_MINUTES = 30;
export const DEFAULT_APPROVAL_MINUTES = 30;
export const DEFAULT_MAX_DEPTH = 1;

export const SERVER_GROUP: SettingGroup = {
  title: "This server",
  intro: "Keys of our own; Codex ignores them.",
  settings: {
    mcp_server: active(
      table({
        idle_thread_minutes: active(
          float({ atLeast: 0 }),
          "Minutes after which a thread nobody uses is dropped from memory. It comes back from its file when it is named again.",
          `\`${DEFAULT_IDLE_THREAD_MINUTES}\``,
        ),
        empty_approval_forms: active(
          flag,
          "Questions carry an empty form, as Codex sent them, instead of one with the decision and a reason.",
          "`false`",
        ),
        contain_full_access: active(
          flag,
          "Commands with full access and the agent's MCP servers run in a PID namespace of their own where that can be had, so that nothing outlives this server. Off: what needs set-user-id programs works in them (`sudo`, rootless containers), and what a killed server left is ended by the next one.",
          "`true`",
        ),
        share_unowned_threads: active(
          flag,
          "Lets network clients continue threads that no network client started: those of the Codex CLI and of stdio clients.",
          "`false`",
        ),
        approval_timeout_minutes: active(
          float({ atLeast: 0 }),
          "Minutes after which a question that nobody answered counts as denied.",
          `\`${DEFAULT_APPROVAL_MINUTES}\``,
        ),
        max_depth: active(
          integer("u16", { atLeast: 1 }),
          "How many servers may start turns inside each other: 1 is the outermost alone. On stdio only; turns further in are held to the sandbox of the one around them.",
          `\`${DEFAULT_MAX_DEPTH}\``,
        ),
        http: active(table(HTTP_SETTINGS), "How a server that listens on a port treats its clients."),
      }),
      "Settings of this server.",
    ),
  },
};
