// The tools as clients rely on them, written out but for the descriptions: a change here is a change for them, and belongs into the changelog.

const TEXT = { type: "string" };
const SANDBOX = { type: "string", enum: ["read-only", "workspace-write", "danger-full-access"] };
const ANSWER = { properties: { threadId: TEXT, content: TEXT }, required: ["threadId", "content"], type: "object" };

/** What Codex 0.92.0 showed. */
export const CODEX_TOOLS = [
  {
    inputSchema: {
      properties: {
        "approval-policy": { type: "string", enum: ["untrusted", "on-failure", "on-request", "never"] },
        "base-instructions": TEXT,
        "compact-prompt": TEXT,
        config: { type: "object", additionalProperties: true },
        cwd: TEXT,
        "developer-instructions": TEXT,
        model: TEXT,
        profile: TEXT,
        prompt: TEXT,
        sandbox: SANDBOX,
      },
      required: ["prompt"],
      type: "object",
    },
    name: "codex",
    outputSchema: ANSWER,
    title: "Codex",
  },
  {
    inputSchema: { properties: { conversationId: TEXT, prompt: TEXT, threadId: TEXT }, required: ["prompt"], type: "object" },
    name: "codex-reply",
    outputSchema: ANSWER,
    title: "Codex Reply",
  },
];

/** Ours, after Codex's. */
export const OWN_TOOLS = [
  {
    name: "codex-review",
    title: "Codex Review",
    inputSchema: {
      properties: {
        branch: TEXT,
        commit: TEXT,
        cwd: TEXT,
        instructions: TEXT,
        model: TEXT,
        sandbox: SANDBOX,
        target: { type: "string", enum: ["uncommitted", "branch", "commit", "custom"] },
        threadId: TEXT,
      },
      required: ["target"],
      type: "object",
    },
    outputSchema: ANSWER,
    annotations: { destructiveHint: false },
  },
  {
    name: "codex-steer",
    title: "Codex Steer",
    inputSchema: { properties: { prompt: TEXT, threadId: TEXT }, required: ["prompt", "threadId"], type: "object" },
    annotations: { destructiveHint: false },
  },
  {
    name: "codex-compact",
    title: "Codex Compact",
    inputSchema: { properties: { threadId: TEXT }, required: ["threadId"], type: "object" },
    outputSchema: ANSWER,
  },
  {
    name: "codex-threads",
    title: "Codex Threads",
    inputSchema: {
      properties: {
        action: { type: "string", enum: ["list", "fork", "archive", "unarchive"] },
        archived: { type: "boolean" },
        cursor: TEXT,
        cwd: TEXT,
        limit: { type: "integer", minimum: 1, maximum: 100 },
        search: TEXT,
        threadId: TEXT,
      },
      required: ["action"],
      type: "object",
    },
    annotations: { destructiveHint: false },
  },
  {
    name: "codex-exec",
    title: "Codex Exec",
    inputSchema: {
      properties: {
        command: { type: "array", items: TEXT },
        cwd: TEXT,
        sandbox: SANDBOX,
        timeoutMs: { type: "integer", minimum: 1, maximum: 3_600_000 },
      },
      required: ["command"],
      type: "object",
    },
    outputSchema: {
      properties: { exitCode: { type: "number" }, stdout: TEXT, stderr: TEXT },
      required: ["exitCode", "stdout", "stderr"],
      type: "object",
    },
  },
  {
    name: "codex-models",
    title: "Codex Models",
    inputSchema: { properties: {}, type: "object" },
    annotations: { readOnlyHint: true },
  },
  {
    name: "codex-account",
    title: "Codex Account",
    inputSchema: {
      properties: { action: { type: "string", enum: ["state", "login", "device-login", "logout"] }, apiKey: TEXT },
      required: ["action"],
      type: "object",
    },
  },
  {
    name: "codex-config",
    title: "Codex Config",
    inputSchema: { properties: { cwd: TEXT }, type: "object" },
    annotations: { readOnlyHint: true },
  },
];

export const TOOL_NAMES = [...CODEX_TOOLS, ...OWN_TOOLS].map(({ name }) => name);
