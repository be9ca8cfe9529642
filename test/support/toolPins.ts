import pins from "./toolPins.generated.json" with { type: "json" };

// The tools as clients rely on them, without descriptions: a change here is a change for clients and belongs in the changelog.

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

/** The tools of the default set, in the order in which clients see them. */
export const TOOL_NAMES: readonly string[] = namesIn("codex");

/** The tools of a server that also serves the extras. */
export const ALL_TOOL_NAMES: readonly string[] = [...TOOL_NAMES, ...namesIn("extras")];

function namesIn(set: string): readonly string[] {
  return pins.tools.filter(({ sets }) => sets.includes(set)).map(({ name }) => name);
}
