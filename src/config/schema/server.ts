import { active, choice, flag, float, integer, mapOf, type SettingGroup, type Settings, table } from "./settingTypes.js";

export const DEFAULT_IDLE_THREAD_MINUTES = 30;
export const DEFAULT_APPROVAL_MINUTES = 30;
export const DEFAULT_MAX_DEPTH = 1;
export const DEFAULT_UNATTENDED_MINUTES = 15;
export const DEFAULT_TASK_AFTER_SECONDS = 10;

/** Far more than builds need, and far less than a machine can hold. */
export const DEFAULT_COMMAND_LIMITS = { maxProcesses: 1_024, perProcessor: 16, threadsPerProcess: 8, sharedMemoryMib: 1_024 };

/** As the npm package codex-mcp-server had it. */
export const DEFAULT_NAMED_SESSIONS = { max: 100, hours: 24 };

export const EVENT_MODES = ["auto", "all", "no-deltas", "none"] as const;
/** What a result may cost the context of whoever reads it. */
export const DEFAULT_RESULT_TOKENS = 20_000;

export const LAG_POLICIES = ["disconnect", "drop-oldest"] as const;

export const HTTP_DEFAULTS = {
  idle_session_minutes: 30,
  max_sessions: 10_000,
  max_open_requests: 20_000,
  max_running_sessions: 100,
  turns_per_principal: 100,
  turns_per_session: 16,
  requests_per_session: 1_024,
  turn_queue: 128,
  streams_per_session: 32,
  queue_length: 128,
  when_behind: "disconnect",
  slow_reader_seconds: 10,
  replay_mib: 8,
  max_body_mib: 32,
  header_timeout_seconds: 15,
  request_timeout_seconds: 60,
  keep_alive_seconds: 15,
  websocket_linger_seconds: 60,
  attended_seconds: 60,
  vanished_client_seconds: 60,
  shutdown_grace_seconds: 10,
} as const satisfies Readonly<Record<string, number | (typeof LAG_POLICIES)[number]>>;

const by = (key: keyof typeof HTTP_DEFAULTS) => `\`${HTTP_DEFAULTS[key]}\``;
const count = integer("u64", { atLeast: 1 });
const span = float({ atLeast: 0 });

/** `[mcp_server.http]`: how a listening server treats its clients. */
export const HTTP_SETTINGS: Settings = {
  idle_session_minutes: active(
    span,
    "Minutes after which a session nobody uses ends. Never while a turn runs or a stream is open.",
    by("idle_session_minutes"),
  ),
  max_sessions: active(count, "Sessions that may be open; more are refused with 503.", by("max_sessions")),
  max_open_requests: active(
    count,
    "Requests that may be open at once, streams and WebSockets among them; more are refused with 429.",
    by("max_open_requests"),
  ),
  max_running_sessions: active(count, "Sessions that may have turns running at once; calls of others wait.", by("max_running_sessions")),
  turns_per_principal: active(count, "Turns of one principal that may run at once.", by("turns_per_principal")),
  turns_per_session: active(count, "Turns of one session that may run at once.", by("turns_per_session")),
  requests_per_session: active(
    count,
    "Requests of one session that may be in flight, whatever they ask for; more are refused with 429.",
    by("requests_per_session"),
  ),
  turn_queue: active(count, "Calls that may wait for a turn to begin; more are refused with 429.", by("turn_queue")),
  streams_per_session: active(count, "Streams one session may have open.", by("streams_per_session")),
  queue_length: active(count, "Messages that may wait for one stream.", by("queue_length")),
  when_behind: active(
    choice(LAG_POLICIES),
    "What happens to a stream with a full queue: `disconnect` it, so that its client comes back for the rest, or leave out the oldest deltas (`drop-oldest`). Answers, questions and state are never left out.",
    by("when_behind"),
  ),
  slow_reader_seconds: active(span, "How long a stream may have a full queue before it is disconnected.", by("slow_reader_seconds")),
  replay_mib: active(span, "What a session keeps for streams that are behind or come back.", by("replay_mib")),
  max_body_mib: active(span, "The longest message taken.", by("max_body_mib")),
  header_timeout_seconds: active(span, "How long the headers of a request may take to arrive.", by("header_timeout_seconds")),
  request_timeout_seconds: active(
    span,
    "How long a whole request may take to arrive. Answers, streams among them, may take as long as they like.",
    by("request_timeout_seconds"),
  ),
  keep_alive_seconds: active(span, "How often a silent stream gets a sign of life.", by("keep_alive_seconds")),
  attended_seconds: active(
    span,
    "How long a session without a stream keeps its threads to itself after its last request; then another session of the same principal may continue them.",
    by("attended_seconds"),
  ),
  vanished_client_seconds: active(
    span,
    "How long a call goes on whose connection broke, while its session has no stream and sends no request; then its turn ends, unless somebody else follows it.",
    by("vanished_client_seconds"),
  ),
  websocket_linger_seconds: active(span, "How long a session waits for its WebSocket to come back.", by("websocket_linger_seconds")),
  shutdown_grace_seconds: active(span, "How long running turns may go on when the server is told to end.", by("shutdown_grace_seconds")),
  clients_choose_ids: active(
    flag,
    "Clients may choose the id of a new session. Off by default where other machines reach the server.",
    "on loopback `true`, else `false`",
  ),
  legacy_sse: active(flag, "Also serve the transport that MCP had before 2025-03-26, at `/sse` and `/messages`.", "`false`"),
  metrics: active(flag, "Serve `/metrics` for Prometheus.", "`true`"),
};

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
        events: active(
          choice(EVENT_MODES),
          "Codex's `codex/event` notifications: `all` of them, all but the pieces of texts that are told whole later (`no-deltas`), or `none`. `auto` sends them unless the client is known not to read them; the set `codex-original` always does then.",
          "`auto`",
        ),
        result_tokens: active(
          integer("u64", { atLeast: 0 }),
          "The most tokens (characters ÷ 4) of a result. A longer answer keeps its beginning and its end; `codex-threads` reads the rest. Not for the set `codex-original`.",
          `\`${DEFAULT_RESULT_TOKENS}\``,
        ),
        prices: active(
          mapOf(
            "model",
            table(
              {
                input: active(span, "US dollars for a million tokens of input."),
                cached_input: active(span, "For those of them that were cached.", "as `input`"),
                output: active(span, "For a million tokens of output."),
              },
              { required: ["input", "output"] },
            ),
          ),
          "What models cost, by name. Results then say what a turn did.",
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
        wait_seconds: active(
          float({ atLeast: 0 }),
          'How long a call that does not say it itself (`wait`) waits for its turn before it ends with `status: "running"`; `inf` is as long as it takes. `--wait` wins.',
          "5/6 of what is known of the client; 50 for others",
        ),
        unattended_turn_minutes: active(
          float({ atLeast: 0 }),
          "Minutes after which a turn ends that nobody attends: no call, task or listener follows it, and no question of it is open.",
          `\`${DEFAULT_UNATTENDED_MINUTES}\``,
        ),
        task_after_seconds: active(
          float({ atLeast: 0 }),
          "How long a call of a client that takes tasks lasts before it becomes one; what is over sooner is answered at once.",
          `\`${DEFAULT_TASK_AFTER_SECONDS}\``,
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
        codex_cli: active(
          table({
            max_sessions: active(
              integer("u64", { atLeast: 1 }),
              "Sessions that one caller may have; a further one takes the place of the one that was used longest ago.",
              `\`${DEFAULT_NAMED_SESSIONS.max}\``,
            ),
            session_hours: active(
              float({ atLeast: 0 }),
              "Hours after which a session is forgotten that nobody used. Its thread stays.",
              `\`${DEFAULT_NAMED_SESSIONS.hours}\``,
            ),
          }),
          "Of the tool set `codex-cli`.",
        ),
        http: active(table(HTTP_SETTINGS), "How a server that listens on a port treats its clients."),
      }),
      "Settings of this server.",
    ),
  },
};
