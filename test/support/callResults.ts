type Engine = "native" | "scripted";

/** The result of a call whose turn completed with this answer. */
export function completed(threadId: string, content: string, engine: Engine = "scripted"): unknown {
  return {
    content: [{ text: content, type: "text" }],
    structuredContent: { threadId, content },
    _meta: { "codex-mcpd/turn": { engine, status: "completed" } },
  };
}

/** The result of a call whose turn failed on its thread. */
export function failed(threadId: string, why: unknown, engine: Engine = "scripted"): unknown {
  return {
    content: [{ text: why, type: "text" }],
    isError: true,
    structuredContent: { threadId, content: why },
    _meta: { "codex-mcpd/turn": { engine, status: "failed" } },
  };
}

/** The result of a call whose turn was stopped by the server's end. */
export function interrupted(threadId: string, engine: Engine = "scripted"): unknown {
  const why = "The turn was interrupted before it ended. The thread can be continued with codex-reply.";
  return {
    content: [{ text: why, type: "text" }],
    isError: true,
    structuredContent: { threadId, content: why },
    _meta: { "codex-mcpd/turn": { engine, status: "interrupted" } },
  };
}

/** A call that failed before a turn began. */
export function refusedOn(threadId: string, why: unknown): unknown {
  return { content: [{ text: why, type: "text" }], isError: true, structuredContent: { threadId, content: why } };
}

/** A call that never reached a thread. */
export function refused(why: unknown): unknown {
  return { content: [{ text: why, type: "text" }], isError: true };
}
