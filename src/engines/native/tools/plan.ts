import * as z from "zod/mini";
import { readArguments } from "./arguments.js";
import type { Tool, ToolRun } from "./tool.js";

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
