import { active, choice, flag, float, integer, mapOf, type SettingGroup, type Settings, table } from "./settingTypes.js";

export const DEFAULT_IDLE_THREAD_MINUTES = 30;
export const DEFAULT_APPROVAL_MINUTES = 30;
export const DEFAULT_MAX_DEPTH = 1;
export const DEFAULT_UNATTENDED_MINUTES = 15;
export const DEFAULT_TASK_AFTER_SECONDS = 10;

/** Far more than builds need, and far less than a machine can handle. */
export const DEFAULT_COMMAND_LIMITS = { maxProcesses: 1_024, perProcessor: 16, threadsPerProcess: 8, sharedMemoryMib: 1_024 };

/** The defaults of the npm package codex-mcp-server. */
export const DEFAULT_NAMED_SESSIONS = { max: 100, hours: 24 };

export const EVENT_MODES = ["auto", "all", "no-deltas", "none"] as const;
/** Limits how much of the reader's context a result takes. */
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

/** `[mcp_server.http]`: limits and timeouts of a listening server. */
export const HTTP_SETTINGS: Settings = {
  idle_session_minutes: active(
    span,
    "Minutes after which an unused session ends. Never while a turn runs or a stream is open.",
    by("idle_session_minutes"),
  ),
  max_sessions: active(count, "The limit of open sessions; more are refused with 503.", by("max_sessions")),
  max_open_requests: active(
    count,
    "Requests that may be open at the same time, including streams and WebSockets; more are refused with 429.",
    by("max_open_requests"),
  ),
  max_running_sessions: active(
    count,
    "Sessions that may have turns running at the same time; calls of other sessions are queued.",
    by("max_running_sessions"),
  ),
  turns_per_principal: active(count, "Turns of one principal that may run at the same time.", by("turns_per_principal")),
  turns_per_session: active(count, "Turns of one session that may run at the same time.", by("turns_per_session")),
  requests_per_session: active(
    count,
    "Requests of one session, of any kind, that may be in flight; more are refused with 429.",
    by("requests_per_session"),
  ),
  turn_queue: active(count, "Calls that may be queued until their turn can start; more are refused with 429.", by("turn_queue")),
  streams_per_session: active(count, "Streams one session may have open.", by("streams_per_session")),
  queue_length: active(count, "Messages that may be queued for one stream.", by("queue_length")),
  when_behind: active(
    choice(LAG_POLICIES),
    "What happens to a stream with a full queue: `disconnect` it, so that its client reconnects for the rest, or drop the oldest deltas (`drop-oldest`). Responses, questions and state are never dropped.",
    by("when_behind"),
  ),
  slow_reader_seconds: active(span, "How long a stream may have a full queue before it is disconnected.", by("slow_reader_seconds")),
  replay_mib: active(span, "Size of a session's replay buffer for slow and resumed streams.", by("replay_mib")),
  max_body_mib: active(span, "The largest message that is accepted.", by("max_body_mib")),
  header_timeout_seconds: active(span, "How long the headers of a request may take to arrive.", by("header_timeout_seconds")),
  request_timeout_seconds: active(
    span,
    "How long a whole request may take to arrive. Responses and streams have no time limit.",
    by("request_timeout_seconds"),
  ),
  keep_alive_seconds: active(span, "How often an idle stream gets a keep-alive.", by("keep_alive_seconds")),
  attended_seconds: active(
    span,
    "How long a session without a stream keeps exclusive use of its threads after its last request; then another session of the same principal may continue them.",
    by("attended_seconds"),
  ),
  vanished_client_seconds: active(
    span,
    "How long a call continues after its connection broke, if its session has no stream and sends no request; then its turn ends, unless another caller follows it.",
    by("vanished_client_seconds"),
  ),
  websocket_linger_seconds: active(span, "How long a session waits for its WebSocket to reconnect.", by("websocket_linger_seconds")),
  shutdown_grace_seconds: active(
    span,
    "How long running turns may continue after the server gets a signal to end.",
    by("shutdown_grace_seconds"),
  ),
  clients_choose_ids: active(
    flag,
    "Clients may choose the id of a new session. Off by default if other machines can reach the server.",
    "on loopback `true`, else `false`",
  ),
  legacy_sse: active(flag, "Also serves MCP's transport from before 2025-03-26, at `/sse` and `/messages`.", "`false`"),
  metrics: active(flag, "Serve `/metrics` for Prometheus.", "`true`"),
};

export const SERVER_GROUP: SettingGroup = {
  title: "This server",
  intro: "Settings of this server; Codex ignores them.",
  settings: {
    mcp_server: active(
      table({
        idle_thread_minutes: active(
          float({ atLeast: 0 }),
          "Minutes after which an unused thread is unloaded from memory. It is loaded from its file when it is used again.",
          `\`${DEFAULT_IDLE_THREAD_MINUTES}\``,
        ),
        empty_approval_forms: active(
          flag,
          "Questions contain an empty form, as in Codex, instead of one with the decision and a reason.",
          "`false`",
        ),
        events: active(
          choice(EVENT_MODES),
          "Codex's `codex/event` notifications: `all` of them, all but deltas whose complete text follows (`no-deltas`), or `none`. `auto` sends them unless the client is known to ignore them; with the set `codex-original` it always sends them.",
          "`auto`",
        ),
        result_tokens: active(
          integer("u64", { atLeast: 0 }),
          "The limit of tokens (characters ÷ 4) in a result. A longer answer keeps its beginning and its end; `codex-threads` reads the rest. Does not apply to the tool set `codex-original`.",
          `\`${DEFAULT_RESULT_TOKENS}\``,
        ),
        prices: active(
          mapOf(
            "model",
            table(
              {
                input: active(span, "US dollars for a million tokens of input."),
                cached_input: active(span, "US dollars for a million tokens of cached input.", "as `input`"),
                output: active(span, "US dollars for a million tokens of output."),
              },
              { required: ["input", "output"] },
            ),
          ),
          "Prices of models, by name. With them, results state the cost of a turn.",
        ),
        contain_full_access: active(
          flag,
          "Commands with full access and the agent's MCP servers run in a PID namespace of their own, if the system allows it, so that no process outlives this server. If off, set-user-id programs work in them (`sudo`, rootless containers), and the next server ends the processes that a killed one left.",
          "`true`",
        ),
        share_unowned_threads: active(
          flag,
          "Lets network clients continue threads that no network client started: those of the Codex CLI and of stdio clients.",
          "`false`",
        ),
        approval_timeout_minutes: active(
          float({ atLeast: 0 }),
          "Minutes after which an unanswered question counts as denied.",
          `\`${DEFAULT_APPROVAL_MINUTES}\``,
        ),
        wait_seconds: active(
          float({ atLeast: 0 }),
          'How long a call without `wait` waits for its turn before it ends with `status: "running"`; `inf` waits without a limit. `--wait` overrides it.',
          "5/6 of the client's known timeout; 50 for other clients",
        ),
        unattended_turn_minutes: active(
          float({ atLeast: 0 }),
          "Minutes after which an unattended turn ends: no call, task or listener follows it, and none of its questions is open.",
          `\`${DEFAULT_UNATTENDED_MINUTES}\``,
        ),
        task_after_seconds: active(
          float({ atLeast: 0 }),
          "How long a call runs before it becomes a task, for clients that support tasks. A call that ends sooner is answered directly.",
          `\`${DEFAULT_TASK_AFTER_SECONDS}\``,
        ),
        max_depth: active(
          integer("u16", { atLeast: 1 }),
          "How deeply turns may be nested through servers of this kind: 1 allows no nesting. On stdio only; an inner turn is limited to the sandbox of the outer one.",
          `\`${DEFAULT_MAX_DEPTH}\``,
        ),
        commands: active(
          table({
            max_processes: active(
              integer("u64", { atLeast: 0 }),
              "Processes that one command may have at the same time, including all that it starts; a command with more is ended. 0: no limit.",
              "`1024`, or 16 for each processor if that is more",
            ),
            max_threads: active(
              integer("u64", { atLeast: 0 }),
              "Threads of all these processes together. 0: no limit.",
              "8 for each process that is allowed",
            ),
            shared_memory_mib: active(
              integer("u64", { atLeast: 1 }),
              "Size of `/dev/shm` for a sandboxed command. Needs bubblewrap 0.7.",
              `\`${DEFAULT_COMMAND_LIMITS.sharedMemoryMib}\``,
            ),
            max_file_mib: active(integer("u64", { atLeast: 1 }), "The largest file that a command may write. Needs `prlimit`.", "no limit"),
            max_address_space_mib: active(
              integer("u64", { atLeast: 1 }),
              "The address space of each process of a command. Node, Go and Java reserve far more than they use and do not start with a small limit. Needs `prlimit`.",
              "no limit",
            ),
          }),
          "Resource limits of one command of the agent. The agent's MCP servers are not commands. With the engine `codex`, Codex runs the commands and has no such limits.",
        ),
        codex_cli: active(
          table({
            max_sessions: active(
              integer("u64", { atLeast: 1 }),
              "Sessions that one caller may have; a new one replaces the least recently used.",
              `\`${DEFAULT_NAMED_SESSIONS.max}\``,
            ),
            session_hours: active(
              float({ atLeast: 0 }),
              "Hours after which an unused session is forgotten. Its thread stays.",
              `\`${DEFAULT_NAMED_SESSIONS.hours}\``,
            ),
          }),
          "Named sessions of the tool set `codex-cli`.",
        ),
        http: active(table(HTTP_SETTINGS), "Limits and timeouts of a listening server."),
      }),
      "Settings of this server.",
    ),
  },
};
