import type { Caller } from "../../agent/caller.js";
import { AboveCeiling } from "../../agent/ceilings/errors.js";
import { AppError } from "../../lib/errors.js";
import type { ThreadSettings } from "../../threads/settings.js";
import { refusal } from "../wording/callResult.js";
import type { Agent } from "./agent.js";
import { InvalidArguments, parseArguments, type ToolStruct } from "./arguments.js";
import { beginThread } from "./beginTurn.js";
import schemas from "./schemas.generated.json" with { type: "json" };
import type { CodexArguments } from "./schemas.js";
import type { ToolAction } from "./tool.js";

const ARGUMENTS: ToolStruct<CodexArguments> = {
  schema: schemas.codexInput,
  structName: "CodexToolCallParam",
  absent: "Missing arguments for codex tool-call; the `prompt` field is required.",
};

/** `codex`: opens a thread and runs its first turn. */
export function codexTool(agent: Agent): ToolAction {
  return async (args, call) => {
    let prompt: string;
    let settings: ThreadSettings;
    try {
      ({ prompt, settings } = readCall(args, agent, call.caller));
    } catch (error) {
      if (error instanceof InvalidArguments || error instanceof AboveCeiling) return refusal(error.message);
      if (error instanceof AppError) return refusal(`Failed to load Codex configuration from overrides: ${error.message}`);
      throw error;
    }
    return beginThread(agent, call, { settings, input: { text: prompt } });
  };
}

function readCall(args: unknown, agent: Agent, caller: Caller | undefined): { prompt: string; settings: ThreadSettings } {
  const { prompt, config, cwd, model, profile, sandbox, ...named } = parseArguments(args, ARGUMENTS);
  const asked = {
    config,
    cwd,
    model,
    profile,
    sandbox,
    approvalPolicy: named["approval-policy"],
    baseInstructions: named["base-instructions"],
    developerInstructions: named["developer-instructions"],
    compactPrompt: named["compact-prompt"],
  };
  return { prompt, settings: agent.settingsFor(asked, caller) };
}
