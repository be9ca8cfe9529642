import { InvalidArguments } from "../../../agent/errors.js";
import type { ThreadId } from "../../../lib/ids.js";
import { InvalidUuid, parseThreadId } from "../../../lib/uuid.js";
import type { Turn } from "../../../threads/turn.js";
import type { CallToolResult, EndedTurn } from "../../wording/callResult.js";
import type { OutputSchema, TurnAnswer } from "../tool.js";

/** The structured result of a turn in this design, whose names use underscores. */
export const OPENOXIDE_OUTPUT: OutputSchema = {
  properties: {
    thread_id: { type: "string" },
    content: { type: "string" },
    status: { type: "string", enum: ["completed", "failed", "interrupted"] },
  },
  required: ["thread_id", "content", "status"],
  type: "object",
};

/** Throws `InvalidArguments`. */
export function parseOpenoxideThread(id: string): ThreadId {
  try {
    return parseThreadId(id);
  } catch (error) {
    if (error instanceof InvalidUuid) throw new InvalidArguments(`Failed to parse thread_id: ${error.message}`, { cause: error });
    throw error;
  }
}

/** The result of all three tools: the turn's outcome and the thread id, in the text too for models that see only text. */
export function openoxideAnswer(turn: Turn): TurnAnswer {
  return { turn, present: resultOf };
}

function resultOf({ threadId, outcome, remarks }: EndedTurn): CallToolResult {
  const { status } = outcome;
  const named = [`thread_id: ${threadId}`, ...remarks].join("\n");
  if (outcome.status === "completed") {
    const content = outcome.lastMessage ?? "";
    return {
      content: [content, named].map((text) => ({ text, type: "text" })),
      structuredContent: { thread_id: threadId, content, status },
    };
  }
  const content = outcome.status === "failed" ? outcome.message : "The turn was interrupted before it ended.";
  const next = `Thread ${threadId} keeps what it has done. Go on with openoxide-reply and this thread_id.`;
  return {
    content: [`${content}\n\n${next}`, named].map((text) => ({ text, type: "text" })),
    isError: true,
    structuredContent: { thread_id: threadId, content, status },
  };
}
