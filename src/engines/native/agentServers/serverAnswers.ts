import * as z from "zod/mini";
import { McpRequestFailed } from "./failures.js";

/** The parts of servers' responses that are validated; everything else is passed on unchanged. */

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

/** A server with more pages repeats itself. */
const MOST_PAGES = 64;

export interface Page<Entry> {
  readonly entries: readonly Entry[];
  readonly nextCursor: string | null | undefined;
}

/** All entries a server lists, over all pages. */
export async function allPages<Entry>(
  method: string,
  pageAt: (params: { cursor?: string }) => Promise<Page<Entry>>,
): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  let params: { cursor?: string } = {};
  for (let count = 0; count < MOST_PAGES; count++) {
    const page = await pageAt(params);
    entries.push(...page.entries);
    if (typeof page.nextCursor !== "string") return entries;
    if (page.nextCursor === params.cursor) throw new McpRequestFailed(`${method} returned duplicate cursor`);
    params = { cursor: page.nextCursor };
  }
  throw new McpRequestFailed(`${method} returned more than ${MOST_PAGES} pages`);
}
