import { expect } from "vitest";

type Engine = "native" | "scripted";

/** What a result tells of a turn that neither ran a command nor changed a file. */
function uneventful(engine: Engine, status: "completed" | "failed" | "interrupted"): unknown {
  return { "codex-mcpd/turn": expect.objectContaining({ engine, status, files: [], commands: { run: 0, failed: 0 } }) };
}

/** The result of a call whose turn completed with this answer. */
export function completed(threadId: string, content: string, engine: Engine = "scripted"): unknown {
  return {
    content: [{ text: content, type: "text" }],
    structuredContent: { threadId, content },
    _meta: uneventful(engine, "completed"),
  };
}

/** The result of a call whose turn failed on its thread. */
export function failed(threadId: string, why: unknown, engine: Engine = "scripted"): unknown {
  return {
    content: [{ text: why, type: "text" }],
    isError: true,
    structuredContent: { threadId, content: why },
    _meta: uneventful(engine, "failed"),
  };
}

/** The result of a call whose turn was stopped by the server's end. */
export function interrupted(threadId: string, engine: Engine = "scripted"): unknown {
  const why = "The turn was interrupted before it ended. The thread can be continued with codex-reply.";
  return {
    content: [{ text: why, type: "text" }],
    isError: true,
    structuredContent: { threadId, content: why },
    _meta: uneventful(engine, "interrupted"),
  };
}

/** A call that failed before a turn began. */
export function refusedOn(threadId: string, why: unknown): unknown {
  return { content: [{ text: why, type: "text" }], isError: true, structuredContent: { threadId, content: why }, _meta: WITH_CODE };
}

/** Why a thread cannot be had: what Codex said, and how to find those that can. */
export function noSuchThread(threadId: string): string {
  return `Session not found for thread_id: ${threadId}. \`codex-threads\` lists the threads that you can continue (\`archived: true\`: those that were put away); \`codex\` begins a new one.`;
}

/** A call that never reached a thread. */
export function refused(why: unknown): unknown {
  return { content: [{ text: why, type: "text" }], isError: true, _meta: WITH_CODE };
}

/** Why it was refused, in a word for programs. */
const WITH_CODE = expect.objectContaining({ "codex-mcpd/error": expect.stringMatching(/^[a-z_]+$/) }) as unknown;

/** A call of a tool that does not exist. */
export function unknownTool(name: string): unknown {
  return { content: [{ text: `Unknown tool '${name}'`, type: "text" }], isError: true };
}
