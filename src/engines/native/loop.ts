import { randomUUID } from "node:crypto";
import { abortedAnswer } from "../../exec/modelOutput.js";
import type { TurnContext } from "../../threads/engine.js";
import type { Item, RawItem, ThreadEvent, TurnInput } from "../../threads/model.js";
import { compact, needsCompaction } from "./compact.js";
import type { Conversation } from "./conversation.js";
import { message } from "./history.js";
import { type ToolCall, toolOutput, unansweredCalls } from "./items.js";
import { ModelFailure } from "./model/client.js";
import { TURN_ABORTED } from "./prompt.js";
import { sample } from "./sample.js";
import type { ToolResult } from "./tools/tool.js";

/** One turn: the model answers and calls tools until it has nothing more to call. The last event is the turn's end. */
export async function* runTurn(conversation: Conversation, input: TurnInput, ctx: TurnContext): AsyncGenerator<readonly ThreadEvent[]> {
  const { signal } = ctx;
  const { toolbox, sandboxBackend } = conversation.parts;
  toolbox.beginTurn(ctx);
  try {
    if (needsCompaction(conversation)) yield* compact(conversation, signal);
    yield [{ type: "turnStarted", contextWindow: conversation.contextWindow }, ...userMessage(conversation, input)];
    let lastMessage: string | null = null;
    for (;;) {
      yield [{ type: "turnContext", settings: conversation.settings, sandboxBackend }];
      const answer = yield* sample(conversation, signal);
      lastMessage = answer.lastMessage ?? lastMessage;
      for (const call of answer.calls) yield* carryOut(conversation, call, ctx);
      yield turnDiff(conversation);
      if (answer.calls.length === 0) break;
      if (needsCompaction(conversation)) yield* compact(conversation, signal);
    }
    signal.throwIfAborted();
    yield [{ type: "turnCompleted", lastMessage }];
  } catch (error) {
    if (signal.aborted || error instanceof TurnStopped) yield aborted(conversation);
    else if (error instanceof ModelFailure) yield failed(conversation, error);
    else throw error;
  } finally {
    toolbox.endTurn();
  }
}

/** Somebody who was asked decided that the turn ends here. */
class TurnStopped extends Error {}

function userMessage(conversation: Conversation, { text }: TurnInput): ThreadEvent[] {
  const item: Item = { kind: "userMessage", id: randomUUID(), text };
  return [conversation.remember(message("user", text)), { type: "itemStarted", item }, { type: "itemCompleted", item }];
}

async function* carryOut(conversation: Conversation, call: ToolCall, { signal, ask }: TurnContext): AsyncGenerator<readonly ThreadEvent[]> {
  signal.throwIfAborted();
  const tool = await conversation.parts.toolbox.find(call.name, { signal });
  const remember = (item: RawItem) => conversation.remember(item);
  const startedAt = performance.now();
  let result: ToolResult;
  try {
    result = tool ? yield* tool.run(call.args, { callId: call.callId, signal, ask, remember }) : { output: unsupported(call) };
  } catch (error) {
    if (signal.aborted) yield [remember(toolOutput(call, abortedAnswer(performance.now() - startedAt)))];
    throw error;
  }
  yield [remember(toolOutput(call, result.output)), ...(result.after ?? []).map(remember)];
  if (result.endsTurn) throw new TurnStopped();
}

/** After each answer of a turn that changed files, everything it changed so far. */
function turnDiff(conversation: Conversation): ThreadEvent[] {
  const unifiedDiff = conversation.parts.toolbox.turnDiff();
  return unifiedDiff === undefined ? [] : [{ type: "turnDiff", unifiedDiff }];
}

function unsupported(call: ToolCall): string {
  return call.outputType === "custom_tool_call_output" ? `unsupported custom tool call: ${call.name}` : `unsupported call: ${call.name}`;
}

/** Every call gets an output, or the next request would be refused; and the model learns that it was stopped. */
function aborted(conversation: Conversation): ThreadEvent[] {
  const outputs = unansweredCalls(conversation.history.items()).map((call) => conversation.remember(toolOutput(call, "aborted by user")));
  return [...outputs, unseen(conversation, TURN_ABORTED), { type: "turnAborted", reason: "interrupted" }];
}

function unseen(conversation: Conversation, item: RawItem): ThreadEvent {
  conversation.history.append([item]);
  return { type: "unseenItem", item };
}

function failed(conversation: Conversation, failure: ModelFailure): ThreadEvent[] {
  const end: ThreadEvent = { type: "turnFailed", message: failure.message, info: failure.info };
  if (failure.info === "usage_limit_exceeded") return [conversation.tokenCount(), end];
  if (failure.info !== "context_window_exceeded") return [end];
  // Nothing fits any more: counting the window as full makes the next turn begin with a summary.
  if (conversation.contextWindow !== null) conversation.noteSize(conversation.contextWindow);
  return [conversation.tokenCount(), end];
}
