import type { DeclaredDifferences } from "./ownSide.js";

function refused(code: number, message: string): unknown[] {
  return [{ error: { code, message } }];
}

function notFound(method: string): unknown[] {
  return [{ error: { code: -32601, message: `method not found: ${method}`, data: { method } } }];
}

/** Requests and settings: the reference did not answer invalid ones. */
export const REQUESTS: DeclaredDifferences = {
  "bad-config-toml": {
    reason: "A broken config.toml ends the server at once; the reference stayed until stdin closed.",
    ours: { ending: { "": [{ exit: { code: 1, signal: null } }, { processesLeft: [] }] } },
  },
  "batch-array": {
    reason: "A batch outside the one revision that has them is refused, not ignored.",
    ours: { answers: { null: refused(-32600, "Invalid request: batches exist only in protocol version 2025-03-26") } },
  },
  "message-without-id": {
    reason: "A message without an id has one name from its begin to its end; the reference gave the end another one.",
    ours: { contents: { "item_completed of call 2": { "1.item.id": "<id 3 of 2>" } } },
  },
  "cli-flags": {
    reason: "Overrides on the command line reach the sessions; the reference checked and then ignored them.",
    ours: {
      contents: {
        "session_configured of call 2": { "0.model": "from-flag", "0.approval_policy": "never" },
      },
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
    reason: "A line that begins like JSON but is invalid is answered, not ignored.",
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
  "turn-progress-token": {
    reason: "A call with a progress token gets progress; the reference ignored the token.",
    ours: { notifications: { "": ["notifications/progress"] } },
  },
  "unknown-method": {
    reason: "An unknown method is refused, not ignored.",
    ours: { answers: { 2: notFound("foo/bar"), 3: notFound("foo/bar") } },
  },
};
