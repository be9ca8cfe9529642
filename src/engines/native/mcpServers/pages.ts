import { McpRequestFailed } from "./failures.js";

/** A server that has more to list than this lists the same again and again. */
const MOST_PAGES = 64;

export interface Page<Entry> {
  readonly entries: readonly Entry[];
  readonly nextCursor: string | null | undefined;
}

/** Everything a server lists, page after page. */
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
