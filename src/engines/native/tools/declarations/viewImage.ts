import type { Declaration } from "../tool.js";

export const VIEW_IMAGE: Declaration = {
  type: "function",
  name: "view_image",
  description: "Shows you a picture file of the workspace.",
  strict: false,
  parameters: {
    type: "object",
    properties: { path: { type: "string", description: "The file; relative to the working directory, or absolute." } },
    required: ["path"],
    additionalProperties: false,
  },
};
