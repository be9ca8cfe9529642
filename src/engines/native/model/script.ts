import { playDirective } from "./scriptDirectives.js";
import { currentLine, type ScriptInputItem } from "./scriptLines.js";
import { type ResponseStreamEvent, replyEvents } from "./scriptStream.js";
import type { OfferedTool } from "./scriptToolCalls.js";

/** What the scripted model looks at in a request to the Responses API. */
export interface ScriptRequest {
  readonly model: string;
  readonly input: readonly ScriptInputItem[];
  readonly tools: readonly OfferedTool[];
}

/** How a Responses API server would answer: wait, then either an error status with a body, or a stream of events and its ending. */
export interface ScriptedAnswer {
  readonly delayMs: number;
  /** Between two text deltas. */
  readonly gapMs: number;
  readonly status: number;
  /** Only with a status other than 200. */
  readonly body?: string;
  readonly events: readonly ResponseStreamEvent[];
  /** `cut`: the connection breaks off after the events; `hang`: it stays open and nothing more comes. */
  readonly ending: "end" | "cut" | "hang";
}

/**
 * A model that takes its lines from the prompt instead of thinking: each line of the newest user message that starts with a
 * directive (`!say hello`, `!plan a|b`, `!status 500`, …) is one answer. Ids count up from 1 for as long as the instance lives.
 */
export class ScriptedModel {
  #lastId = 0;

  answer(request: ScriptRequest): ScriptedAnswer {
    const newId = (prefix: string) => `${prefix}_${++this.#lastId}`;
    const { line, think, delayMs } = currentLine(request.input);
    const reply = playDirective(line, { tools: request.tools, newId });
    const gapMs = reply.kind === "text" ? (reply.gapMs ?? 0) : 0;
    if (reply.kind === "status") return { delayMs, gapMs, status: reply.status, body: reply.body, events: [], ending: "end" };
    const events = replyEvents(reply, { model: request.model, think, newId });
    const ending = reply.kind === "cut" || reply.kind === "hang" ? reply.kind : "end";
    return { delayMs, gapMs, status: 200, events, ending };
  }
}
