import type { ThreadSettings } from "../../../threads/settings.js";
import { traitsOf } from "../models.js";
import { FREEFORM_PATCH, FUNCTION_PATCH } from "./declarations/applyPatch.js";
import { EXEC_COMMAND, WRITE_STDIN } from "./declarations/execCommand.js";
import { UPDATE_PLAN } from "./declarations/plan.js";
import { SHELL, SHELL_COMMAND } from "./declarations/shell.js";
import { VIEW_IMAGE } from "./declarations/viewImage.js";
import type { Declaration } from "./tool.js";

/** What the model is offered of our own tools, in Codex's order; `resources` are what its MCP servers have to read. */
export function offeredTools(settings: ThreadSettings, resources: readonly Declaration[]): readonly Declaration[] {
  return [
    ...COMMANDS[commandToolsOf(settings)],
    ...resources,
    UPDATE_PLAN,
    ...PATCHES[patchToolOf(settings)],
    VIEW_IMAGE,
    ...webSearch(settings),
  ];
}

type CommandTools = "none" | "sessions" | "shell" | "shell_command";
type PatchTool = ReturnType<typeof traitsOf>["patchTool"];

const COMMANDS: Readonly<Record<CommandTools, readonly Declaration[]>> = {
  none: [],
  sessions: [EXEC_COMMAND, WRITE_STDIN],
  shell: [SHELL],
  shell_command: [SHELL_COMMAND],
};
const PATCHES: Readonly<Record<PatchTool, readonly Declaration[]>> = {
  none: [],
  freeform: [FREEFORM_PATCH],
  function: [FUNCTION_PATCH],
};

/** How the model runs commands. */
export function commandToolsOf({ features, model }: ThreadSettings): CommandTools {
  if (features["shell_tool"] === false) return "none";
  return features["unified_exec"] ? "sessions" : traitsOf(model).shellTool;
}

/** How the model sends patches. */
export function patchToolOf({ features, model }: ThreadSettings): PatchTool {
  return features["apply_patch_freeform"] ? "freeform" : traitsOf(model).patchTool;
}

/** The provider searches by itself. Only OpenAI's is known to; elsewhere it has to be asked for. */
function webSearch(settings: ThreadSettings): Declaration[] {
  const mode = settings.webSearch ?? searchFeature(settings) ?? (settings.provider.id === "openai" ? "cached" : "disabled");
  return mode === "disabled" ? [] : [{ type: "web_search", external_web_access: mode === "live" }];
}

function searchFeature({ features }: ThreadSettings): "live" | "cached" | undefined {
  if (features["web_search_request"]) return "live";
  return features["web_search_cached"] ? "cached" : undefined;
}
