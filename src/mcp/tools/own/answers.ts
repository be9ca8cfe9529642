import { AppError } from "../../../lib/errors.js";
import type { EngineServices } from "../../../threads/engineServices.js";
import { type CallToolResult, refusal } from "../../wording/callResult.js";
import type { Agent } from "../agent.js";
import type { ToolAction } from "../tool.js";
import { NotOffered } from "./errors.js";

/** What the engine answers by itself, it answers within this time. */
export const PROMPTLY = { ms: 60_000 };

/** An answer for people and models, and the same for programs. */
export function answer(text: string, structuredContent?: Readonly<Record<string, unknown>>): CallToolResult {
  return { content: [{ text, type: "text" }], ...(structuredContent && { structuredContent }) };
}

/** The same tool; what goes wrong in a way that was foreseen is its answer. */
export function refusing(action: ToolAction): ToolAction {
  return async (args, call) => {
    try {
      return await action(args, call);
    } catch (error) {
      if (call.signal.aborted) return refusal("The call was cancelled.");
      if (error instanceof AppError) return refusal(error.message);
      throw error;
    }
  };
}

export async function servicesOf({ services, engineName }: Agent): Promise<EngineServices> {
  if (!services) throw new NotOffered(engineName);
  return services();
}
