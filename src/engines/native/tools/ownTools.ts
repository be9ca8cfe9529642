import type { ThreadSettings } from "../../../threads/settings.js";
import { freeformPatchTool, functionPatchTool } from "./applyPatch.js";
import { execTools } from "./execCommand.js";
import type { Machine } from "./machine.js";
import { commandToolsOf, patchToolOf } from "./offer.js";
import { planTool } from "./plan.js";
import { shellCommandTool, shellTools } from "./shell.js";
import type { Tool } from "./tool.js";
import type { TurnSlot } from "./turnSlot.js";
import { viewImageTool } from "./viewImage.js";
import { Workbench } from "./workbench.js";

/** Our own tools at work on one thread. */
export interface OwnTools {
  readonly bench: Workbench;
  find(name: string): Tool | undefined;
}

export function openOwnTools(settings: ThreadSettings, machine: Machine, turns: TurnSlot): OwnTools {
  const bench = new Workbench(settings, machine, turns);
  const tools = new Map(understoodTools(bench).map((tool) => [tool.name, tool]));
  return { bench, find: (name) => tools.get(name) };
}

/** What is offered, and every shell: models call the one they were trained on. */
function understoodTools(bench: Workbench): readonly Tool[] {
  const sessions = commandToolsOf(bench.settings) === "sessions" ? execTools(bench) : [];
  return [...shellTools(bench), shellCommandTool(bench), ...sessions, planTool, ...patchTools(bench), viewImageTool(bench)];
}

function patchTools(bench: Workbench): readonly Tool[] {
  switch (patchToolOf(bench.settings)) {
    case "freeform":
      return [freeformPatchTool(bench)];
    case "function":
      return [functionPatchTool(bench)];
    case "none":
      return [];
  }
}
