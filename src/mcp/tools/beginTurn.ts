import { AppError } from "../../lib/errors.js";
import { type ThreadId, turnIdOf } from "../../lib/ids.js";
import type { TurnInput } from "../../threads/events.js";
import type { ThreadSettings } from "../../threads/settings.js";
import type { Call } from "../call.js";
import { type CallToolResult, failureOn, refusal } from "../wording/callResult.js";
import { type Agent, answeredBy } from "./agent.js";
import type { TurnCall } from "./tool.js";

/** A turn that a call asks for. */
export interface AskedTurn {
  readonly input: TurnInput;
  /** The answer, when the turn completes without a word. */
  readonly ifSilent?: string;
}

/** Opens a thread of the caller's with its first turn. */
export async function beginThread(
  agent: Agent,
  call: Call,
  { input, settings }: AskedTurn & { readonly settings: ThreadSettings },
): Promise<CallToolResult | TurnCall> {
  try {
    const opened = (id: ThreadId) => agent.access.claim(id, call);
    const first = { ...input, limits: agent.limitsOf(call.caller), watch: call.watchTurn, opened };
    return answeredBy(await agent.threads.start(settings, first, turnIdOf(String(call.requestId))), agent);
  } catch (error) {
    if (error instanceof AppError) return refusal(error.message);
    throw error;
  }
}

/** One more turn on a thread that the caller may use, whichever process started it. */
export async function continueThread(
  agent: Agent,
  call: Call,
  { input, threadId, ifSilent }: AskedTurn & { readonly threadId: ThreadId },
): Promise<CallToolResult | TurnCall> {
  try {
    const request = { ...input, limits: agent.limitsOf(call.caller), watch: call.watchTurn };
    const turn = await agent.access.using(threadId, call, () => agent.threads.reply(threadId, request));
    return answeredBy(turn, agent, { ifSilent });
  } catch (error) {
    if (error instanceof AppError) return failureOn(threadId, error.message);
    throw error;
  }
}
