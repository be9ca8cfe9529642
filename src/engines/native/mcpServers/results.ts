import * as z from "zod/mini";

/** What servers answer, as far as it is looked at: everything else is passed on as it came. */

const tool = z.looseObject({
  name: z.string(),
  description: z.optional(z.string()),
  inputSchema: z.optional(z.record(z.string(), z.unknown())),
});

const nextCursor = z.optional(z.nullable(z.string()));
const anyObject = z.record(z.string(), z.unknown());

export const ToolPage = z.looseObject({ tools: z.array(tool), nextCursor });
export const ResourcePage = z.looseObject({ resources: z.array(anyObject), nextCursor });
export const TemplatePage = z.looseObject({ resourceTemplates: z.array(anyObject), nextCursor });
export const ResourceContents = z.looseObject({ contents: z.array(anyObject) });
export const CallResult = z.looseObject({
  content: z._default(z.array(anyObject), []),
  structuredContent: z.optional(z.unknown()),
  isError: z.optional(z.boolean()),
});

export type ListedTool = z.infer<typeof tool>;
export type CallResult = z.infer<typeof CallResult>;
