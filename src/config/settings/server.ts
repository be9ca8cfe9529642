import { active, flag, float, integer, type SettingGroup, table } from "../types.js";
import { HTTP_SETTINGS } from "./http.js";

export const DEFAULT_IDLE_THREAD_MINUTES = 30;
export const DEFAULT_APPROVAL_MINUTES = 30;
export const DEFAULT_MAX_DEPTH = 1;

/** Far more than builds need, and far less than a machine can hold. */
export const DEFAULT_COMMAND_LIMITS = { maxProcesses: 1_024, perProcessor: 16, threadsPerProcess: 8, sharedMemoryMib: 1_024 };

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
        commands: active(
          table({
            max_processes: active(
              integer("u64", { atLeast: 0 }),
              "Processes that one command may have at once, with all that it starts; a command with more is ended. 0: any number.",
              "`1024`, or 16 for each processor where that is more",
            ),
            max_threads: active(
              integer("u64", { atLeast: 0 }),
              "Threads of all these processes together. 0: any number.",
              "8 for each process that is allowed",
            ),
            shared_memory_mib: active(
              integer("u64", { atLeast: 1 }),
              "How much a sandboxed command may keep in `/dev/shm`. Needs bubblewrap 0.7.",
              `\`${DEFAULT_COMMAND_LIMITS.sharedMemoryMib}\``,
            ),
            max_file_mib: active(integer("u64", { atLeast: 1 }), "The largest file that a command may write. Needs `prlimit`.", "no limit"),
            max_address_space_mib: active(
              integer("u64", { atLeast: 1 }),
              "The address space of each process of a command. Node, Go and Java reserve far more than they use, and do not start with little. Needs `prlimit`.",
              "no limit",
            ),
          }),
          "What one command of the agent may use. The agent's MCP servers are not commands. With the engine `codex`, Codex runs commands and has no such limits.",
        ),
        http: active(table(HTTP_SETTINGS), "How a server that listens on a port treats its clients."),
      }),
      "Settings of this server.",
    ),
  },
};
