import { expect } from "vitest";

type Engine = "native" | "scripted";

type Status = "completed" | "failed" | "interrupted";

/** The report of a turn without commands and changes, for an unknown client. */
function uneventful(engine: Engine, status: Status, threadId: unknown): { report: unknown; fields: object; _meta: unknown } {
  const begins = new RegExp(`^\\nthreadId: ${typeof threadId === "string" ? threadId : ".+"}\\nstatus: ${status} after`);
  return {
    report: { text: expect.stringMatching(begins) as unknown, type: "text" },
    fields: { status, files: [], commands: { run: 0, failed: 0 }, approvals: { asked: 0, allowed: 0, denied: 0 } },
    _meta: { "codex-mcpd/turn": expect.objectContaining({ engine }) as unknown },
  };
}

/** The result of a call whose turn completed with this answer. */
export function completed(threadId: string, content: string, engine: Engine = "scripted"): unknown {
  const { report, fields, _meta } = uneventful(engine, "completed", threadId);
  return {
    content: [{ text: content, type: "text" }, report],
    structuredContent: expect.objectContaining({ threadId, content, ...fields }) as unknown,
    _meta,
  };
}

/** The result of a call whose turn failed on its thread. */
export function failed(threadId: unknown, why: unknown, engine: Engine = "scripted"): unknown {
  return notCompleted(threadId, { why, engine, status: "failed" });
}

/** The result of a call whose turn was stopped, by default by the server's end. */
export function interrupted(threadId: string, cause = "the server is shutting down"): unknown {
  return notCompleted(threadId, { why: `The turn was interrupted before it ended: ${cause}.`, engine: "scripted", status: "interrupted" });
}

function notCompleted(
  threadId: unknown,
  { why, engine, status }: { readonly why: unknown; readonly engine: Engine; readonly status: Status },
): unknown {
  const { report, fields, _meta } = uneventful(engine, status, threadId);
  const first =
    typeof why === "string" ? expect.stringMatching(new RegExp(`^${escaped(why)}\\n\\n.*threadId ".+".*\\.$`)) : expect.any(String);
  return {
    content: [{ text: first as unknown, type: "text" }, report],
    isError: true,
    structuredContent: expect.objectContaining({ threadId, content: why, ...fields }) as unknown,
    _meta,
  };
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/** A call that failed before a turn began. */
export function refusedOn(threadId: string, why: unknown): unknown {
  const named = typeof why === "string" ? (why.includes(threadId) ? why : `${why} (thread ${threadId})`) : undefined;
  const text = named ?? (expect.stringContaining(threadId) as unknown);
  return {
    content: [{ text, type: "text" }],
    isError: true,
    structuredContent: { threadId, content: why, status: "failed" },
    _meta: WITH_CODE,
  };
}

/** The error of an unknown thread: Codex's text, and how to find threads. */
export function noSuchThread(threadId: string): string {
  return `Session not found for thread_id: ${threadId}. \`codex-threads\` lists the threads that you can continue (\`archived: true\`: the archived ones); \`codex\` begins a new one. Over HTTP, a thread that another of your sessions has used is available one minute after the client of that session has left.`;
}

/** A call that never reached a thread. */
export function refused(why: unknown): unknown {
  return { content: [{ text: why, type: "text" }], isError: true, _meta: WITH_CODE };
}

/** The error code of a refusal. */
const WITH_CODE = expect.objectContaining({ "codex-mcpd/error": expect.stringMatching(/^[a-z_]+$/) }) as unknown;

/** A call of a tool that does not exist. */
export function unknownTool(name: string): unknown {
  const text = expect.stringContaining(`Unknown tool '${name}'. The tools of this server are codex, codex-reply, `) as unknown;
  return { content: [{ text, type: "text" }], isError: true };
}
