import { AppError } from "../../lib/errors.js";
import { turnIdOf } from "../../lib/ids.js";
import type { ThreadSettings } from "../../threads/model.js";
import type { Turn } from "../../threads/turn.js";
import { type CallToolResult, refusal } from "../callResult.js";
import { type Agent, answerWithTurn } from "./agent.js";
import { InvalidArguments, parseArguments } from "./arguments.js";
import { CodexArguments } from "./schemas.js";
import type { ToolAction } from "./tool.js";

const ARGUMENTS = {
  schema: CodexArguments,
  structName: "CodexToolCallParam",
  absent: "Missing arguments for codex tool-call; the `prompt` field is required.",
};

/** `codex`: opens a thread and runs its first turn. */
export function codexTool(agent: Agent): ToolAction {
  return async (args, call): Promise<CallToolResult> => {
    let prompt: string;
    let settings: ThreadSettings;
    try {
      ({ prompt, settings } = readCall(args, agent));
    } catch (error) {
      if (error instanceof InvalidArguments) return refusal(error.message);
      if (error instanceof AppError) return refusal(`Failed to load Codex configuration from overrides: ${error.message}`);
      throw error;
    }
    let turn: Turn;
    try {
      turn = await agent.threads.start(settings, { text: prompt }, turnIdOf(String(call.requestId)));
    } catch (error) {
      if (error instanceof AppError) return refusal(error.message);
      throw error;
    }
    return answerWithTurn(turn, call, agent);
  };
}

function readCall(args: unknown, agent: Agent): { prompt: string; settings: ThreadSettings } {
  const { prompt, config, cwd, model, profile, sandbox, ...named } = parseArguments(args, ARGUMENTS);
  const settings = agent.settingsFor({
    config,
    cwd,
    model,
    profile,
    sandbox,
    approvalPolicy: named["approval-policy"],
    baseInstructions: named["base-instructions"],
    developerInstructions: named["developer-instructions"],
    compactPrompt: named["compact-prompt"],
  });
  return { prompt, settings };
}
