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
  declaration: {
    type: "function",
    name: "update_plan",
    description: "Shows the plan for this task and how far it is. Send the whole list each time; at most one step is in progress.",
    strict: false,
    parameters: {
      type: "object",
      properties: {
        explanation: { type: "string", description: "Why the plan changed, if it did." },
        plan: {
          type: "array",
          description: "All steps, in order.",
          items: {
            type: "object",
            properties: {
              step: { type: "string", description: "What is done in this step, in a few words." },
              status: { type: "string", enum: ["pending", "in_progress", "completed"] },
            },
            required: ["step", "status"],
            additionalProperties: false,
          },
        },
      },
      required: ["plan"],
      additionalProperties: false,
    },
  },

  async *run(args): ToolRun {
    const read = readArguments(args, PlanArguments);
    if ("complaint" in read) return { output: read.complaint };
    yield [{ type: "planUpdated", explanation: read.value.explanation ?? null, plan: read.value.plan }];
    return { output: "Plan updated" };
  },
};
