import * as z from "zod/mini";
import type { ThreadEvent } from "../../../threads/model.js";
import type { Tool } from "./tool.js";

const PlanArguments = z.object({
  explanation: z.optional(z.nullable(z.string())),
  plan: z.array(z.object({ step: z.string(), status: z.enum(["pending", "in_progress", "completed"]) })),
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

  async *run(args): AsyncGenerator<readonly ThreadEvent[], string> {
    const parsed = parseArguments(args);
    if ("complaint" in parsed) return `failed to parse function arguments: ${parsed.complaint}`;
    yield [{ type: "planUpdated", explanation: parsed.explanation ?? null, plan: parsed.plan }];
    return "Plan updated";
  },
};

function parseArguments(args: string): z.infer<typeof PlanArguments> | { readonly complaint: string } {
  let value: unknown;
  try {
    value = JSON.parse(args);
  } catch (error) {
    return { complaint: error instanceof Error ? error.message : String(error) };
  }
  const checked = PlanArguments.safeParse(value);
  if (checked.success) return checked.data;
  const issue = checked.error.issues[0];
  return { complaint: `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "invalid"}` };
}
