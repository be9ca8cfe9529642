import { PATCH_GRAMMAR } from "../../../../exec/patch/grammar.js";
import type { Declaration } from "../tool.js";

const DESCRIPTION =
  "Changes files by a patch. Name paths relative to the working directory; give a few unchanged lines around each change so that its place is clear.";

export const FREEFORM_PATCH: Declaration = {
  type: "custom",
  name: "apply_patch",
  description: DESCRIPTION,
  format: { type: "grammar", syntax: "lark", definition: PATCH_GRAMMAR },
};

export const FUNCTION_PATCH: Declaration = {
  type: "function",
  name: "apply_patch",
  description: `${DESCRIPTION} The patch begins with a line *** Begin Patch and ends with a line *** End Patch. In between, each file has a header (*** Add File: PATH, *** Delete File: PATH, or *** Update File: PATH, optionally followed by *** Move to: PATH). Lines of an added file begin with +. An update consists of chunks, each introduced by a line @@ (or @@ and a line of the file that precedes the change), whose lines begin with a space (kept), - (removed) or + (added).`,
  strict: false,
  parameters: {
    type: "object",
    properties: { input: { type: "string", description: "The whole patch." } },
    required: ["input"],
    additionalProperties: false,
  },
};
