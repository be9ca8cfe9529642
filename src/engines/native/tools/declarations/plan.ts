import type { Declaration } from "../tool.js";

export const UPDATE_PLAN: Declaration = {
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
};
