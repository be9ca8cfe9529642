import type { Agent } from "../mcp/tools/agent.js";
import { servicesOf } from "../mcp/tools/own/answers.js";
import type { ThreadPage, ThreadQuery, ThreadSummary } from "../threads/store.js";
import type { Caller } from "./caller.js";
import type { SealedCursors } from "./sealedCursors.js";

/** Pages of all threads that are looked through for one page of a caller's own. */
const MOST_PAGES = 20;

/** Who asks for a page, and until when. */
export interface PageReader {
  readonly caller: Caller;
  readonly cursors: SealedCursors;
  readonly signal: AbortSignal;
}

/** The threads that a network caller may use. A page may be short, or empty, and still have a next one. */
export async function visibleThreads(agent: Agent, query: ThreadQuery, { caller, cursors, signal }: PageReader): Promise<ThreadPage> {
  const { threads: catalog } = await servicesOf(agent);
  const threads: ThreadSummary[] = [];
  let cursor = query.cursor === undefined ? undefined : cursors.open(query.cursor, caller);
  for (let page = 0; page < MOST_PAGES && !signal.aborted; page++) {
    const found = await catalog.list({ ...query, cursor, limit: query.limit - threads.length });
    for (const thread of found.threads) if (await agent.access.isOpenTo(thread.id, caller)) threads.push(thread);
    cursor = found.nextCursor;
    if (cursor === undefined) return { threads };
    if (threads.length >= query.limit) break;
  }
  return cursor === undefined ? { threads } : { threads, nextCursor: cursors.seal(cursor, caller) };
}
