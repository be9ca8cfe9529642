import * as z from "zod/mini";
import type { ThreadSettings } from "../../../threads/settings.js";
import { freeformPatchTool, functionPatchTool } from "./applyPatch.js";
import { commandToolsOf, patchToolOf } from "./declarations.js";
import { execTools } from "./execCommand.js";
import type { HostEnvironment } from "./hostEnvironment.js";
import { shellCommandTool, shellTools } from "./shell.js";
import { readArguments, type Tool, type ToolRun } from "./tool.js";
import { type CurrentTurn, ToolRuntime } from "./toolRuntime.js";
import { viewImageTool } from "./viewImage.js";

/** Our own tools at work on one thread. */
export interface NativeTools {
  readonly runtime: ToolRuntime;
  find(name: string): Tool | undefined;
}

export function openNativeTools(settings: ThreadSettings, host: HostEnvironment, turns: CurrentTurn): NativeTools {
  const runtime = new ToolRuntime(settings, host, turns);
  const tools = new Map(understoodTools(runtime).map((tool) => [tool.name, tool]));
  return { runtime, find: (name) => tools.get(name) };
}

/** What is offered, and every shell: models call the one they were trained on. */
function understoodTools(runtime: ToolRuntime): readonly Tool[] {
  const sessions = commandToolsOf(runtime.settings) === "sessions" ? execTools(runtime) : [];
  return [...shellTools(runtime), shellCommandTool(runtime), ...sessions, planTool, ...patchTools(runtime), viewImageTool(runtime)];
}

function patchTools(runtime: ToolRuntime): readonly Tool[] {
  switch (patchToolOf(runtime.settings)) {
    case "freeform":
      return [freeformPatchTool(runtime)];
    case "function":
      return [functionPatchTool(runtime)];
    case "none":
      return [];
  }
}

const PlanArguments = z.strictObject({
  explanation: z.optional(z.nullable(z.string())),
  plan: z.array(z.strictObject({ step: z.string(), status: z.enum(["pending", "in_progress", "completed"]) })),
});

/** `update_plan`: the model's list of steps, shown to whoever watches. */
export const planTool: Tool = {
  name: "update_plan",
  async *run(args): ToolRun {
    const read = readArguments(args, PlanArguments);
    if ("complaint" in read) return { output: read.complaint };
    yield [{ type: "planUpdated", explanation: read.value.explanation ?? null, plan: read.value.plan }];
    return { output: "Plan updated" };
  },
};
