import type { Aspect, Difference } from "./compareTranscripts.js";

/** Our side of some differences: by aspect, then by what it is about. Where we send nothing it says so. */
export type OwnSide = Partial<Record<Aspect, Record<string, unknown>>>;

const NOTHING = "nothing";

export function ownSide(differences: readonly Difference[]): OwnSide {
  const sides: OwnSide = {};
  for (const { aspect, about, ours } of differences) sides[aspect] = { ...sides[aspect], [about]: ours ?? NOTHING };
  return sides;
}

interface DeclaredDifference {
  readonly reason: string;
  /** Exactly what we send where the reference sent something else. */
  readonly ours: OwnSide;
}

const CLEAN_EXIT = [{ exit: { code: 0, signal: null } }, { processesLeft: [] }];

const TURN_BEGINS = ["task_started", "raw_response_item", "item_started", "item_completed", "user_message"];
const FIRST_TURN_BEGINS = ["session_configured", "raw_response_item", "raw_response_item", ...TURN_BEGINS];
const MESSAGE_STREAMS = ["item_started", "agent_message_content_delta", "agent_message_delta"];
const WHOLE_REPLY = [...TURN_BEGINS, ...MESSAGE_STREAMS, "item_completed", "agent_message", "raw_response_item", "task_complete"];

function said(content: string): unknown[] {
  return [{ content: [{ text: content, type: "text" }], structuredContent: { threadId: "<id 1 of 2>", content } }];
}

function interrupted(): unknown[] {
  const content = "The turn was interrupted before it ended. The thread can be continued with codex-reply.";
  return [{ content: [{ text: content, type: "text" }], structuredContent: { threadId: "<id 1 of 2>", content }, isError: true }];
}

function refused(code: number, message: string): unknown[] {
  return [{ error: { code, message } }];
}

function notFound(method: string): unknown[] {
  return [{ error: { code: -32601, message: `method not found: ${method}`, data: { method } } }];
}

/** Where we leave the recordings on purpose, scenario by scenario. The reference left requests and calls without an answer. */
export const DECLARED_DIFFERENCES: Readonly<Record<string, DeclaredDifference>> = {
  "args-all": {
    reason: "Older names of settings are understood without a notice that they are old.",
    ours: { contents: { "deprecation_notice of call 2": NOTHING } },
  },
  "bad-config-toml": {
    reason: "A broken config.toml ends the server at once; the reference stayed until stdin closed.",
    ours: { ending: { "": [{ exit: { code: 1, signal: null } }, { processesLeft: [] }] } },
  },
  "batch-array": {
    reason: "A batch outside the one revision that has them is refused, not ignored.",
    ours: { answers: { null: refused(-32600, "Invalid request: batches exist only in protocol version 2025-03-26") } },
  },
  "cancel-hang": {
    reason: "A cancelled call holds nothing open: the server ends with its stdin.",
    ours: { ending: { "": CLEAN_EXIT } },
  },
  "cancel-mid-stream": {
    reason: "A cancelled call holds nothing open: the server ends with its stdin.",
    ours: { ending: { "": CLEAN_EXIT } },
  },
  "cli-flags": {
    reason: "Overrides on the command line reach the sessions; the reference checked and then ignored them.",
    ours: {
      contents: {
        "session_configured of call 2": [
          {
            "params.id": "",
            type: "session_configured",
            session_id: "<id 1 of 2>",
            model: "from-flag",
            model_provider_id: "mock",
            approval_policy: "never",
            sandbox_policy: { type: "read-only" },
            cwd: "<WS>",
            history_log_id: 0,
            history_entry_count: 0,
            rollout_path: "<varies>",
          },
        ],
      },
    },
  },
  "eof-during-hang": {
    reason:
      "When stdin closes a turn may go on for two seconds, then it is interrupted and its call answered; the reference stayed for ever.",
    ours: {
      answers: { 2: interrupted() },
      events: { 2: [...FIRST_TURN_BEGINS, "turn_aborted"] },
      ending: { "": CLEAN_EXIT },
    },
  },
  "eof-during-stream": {
    reason: "When stdin closes a turn may go on for two seconds, then it is interrupted; the reference waited for its end.",
    ours: {
      answers: { 2: interrupted() },
      events: { 2: [...FIRST_TURN_BEGINS, ...MESSAGE_STREAMS, "turn_aborted"] },
    },
  },
  "init-empty-params": {
    reason: "Parameters that do not parse are refused, not ignored.",
    ours: { answers: { 1: refused(-32602, "initialize: `protocolVersion` must be a string") } },
  },
  "init-no-params": {
    reason: "Parameters that do not parse are refused, not ignored.",
    ours: { answers: { 1: refused(-32602, "initialize: `params` must be an object") } },
  },
  "init-unknown-version": {
    reason: "A revision that does not exist is answered with the newest one we speak; the reference echoed anything.",
    ours: {
      answers: {
        1: [
          {
            capabilities: { tools: { listChanged: true } },
            protocolVersion: "2025-11-25",
            serverInfo: { name: "codex-mcp-server", title: "Codex", version: "<varies>", user_agent: "<varies>" },
          },
        ],
      },
    },
  },
  "malformed-json": {
    reason: "A line that begins as JSON and is none is answered, not ignored.",
    ours: { answers: { null: refused(-32700, "Parse error: the line is not valid JSON") } },
  },
  "optional-methods": {
    reason: "Methods of capabilities we do not announce are refused, not ignored; setting the log level is one we have.",
    ours: {
      answers: {
        2: notFound("resources/list"),
        3: notFound("resources/templates/list"),
        4: notFound("resources/read"),
        5: notFound("resources/subscribe"),
        6: notFound("prompts/list"),
        7: notFound("prompts/get"),
        8: notFound("completion/complete"),
        9: [{}],
        10: notFound("resources/unsubscribe"),
        11: notFound("tasks/list"),
      },
    },
  },
  "reply-after-cancel": {
    reason: "A thread whose turn was cancelled can be used at once, and each call gets its own events; the reference mixed them up.",
    ours: {
      answers: { 2: NOTHING, 3: said("back again") },
      events: { 2: [...FIRST_TURN_BEGINS, "turn_aborted"], 3: WHOLE_REPLY },
      ending: { "": CLEAN_EXIT },
    },
  },
  "reply-after-failed-turn": {
    reason: "A reply after a failed turn is a normal turn; the reference answered with what the failed one had left over.",
    ours: { answers: { 3: said("back again") }, events: { 3: WHOLE_REPLY } },
  },
  "reply-after-restart": {
    reason: "A thread of an earlier process goes on from its rollout; the reference did not know it any more.",
    ours: { answers: { 3: said("second") }, events: { 3: WHOLE_REPLY } },
  },
  "turn-progress-token": {
    reason: "A call with a progress token gets progress; the reference ignored the token.",
    ours: { notifications: { "": ["notifications/progress"] } },
  },
  "two-on-one-thread": {
    reason: "A reply to a busy thread waits for its turn and is answered by it; the reference joined the two and answered one.",
    ours: {
      answers: { 3: said(Array.from({ length: 20 }, (_, index) => `w${index} `).join("")), 4: said("second") },
      events: { 3: WHOLE_REPLY, 4: WHOLE_REPLY },
      ending: { "": CLEAN_EXIT },
    },
  },
  "unknown-method": {
    reason: "An unknown method is refused, not ignored.",
    ours: { answers: { 2: notFound("foo/bar"), 3: notFound("foo/bar") } },
  },
};
