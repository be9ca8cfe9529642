import { z } from "@hono/zod-openapi";
import type { Agent, Ask } from "../../agent/agent.js";
import { InvalidArguments } from "../../agent/errors.js";
import { tokenCounts } from "../../agent/receipt.js";
import type { ThreadActivity } from "../../agent/threadActivity.js";
import { type ThreadId, timeOfUuid } from "../../lib/ids.js";
import { oneLine } from "../../lib/oneLine.js";
import { parseThreadId } from "../../lib/uuid.js";
import type { ThreadSummary } from "../../threads/store.js";
import { type ApiParts, askOf } from "../base/apiParts.js";
import { orNull, PlanSteps, ThreadIdParam } from "../schemas/common.js";
import { ItemPage, TimelineItem } from "../schemas/items.js";
import { FileLines, ThreadDiff, ThreadPageResource, ThreadPatchBody, ThreadResource, ThreadSummaryResource } from "../schemas/threads.js";
import { ThreadTimeline } from "../timeline/threadTimeline.js";
import { summaryView, turnView } from "../timeline/views.js";
import { body, Cursor, json, Limit, problems, routes, scoped } from "./route.js";

const ID = z.object({ threadId: ThreadIdParam });
const PREVIEW_LENGTH = 200;
const DEFAULT_THREADS = 50;
const DEFAULT_ITEMS = 100;

const LIST = scoped("read", {
  method: "get",
  path: "/threads",
  operationId: "listThreads",
  summary: "Threads, newest first; a page may be short and still have a next one",
  request: {
    query: z.object({
      limit: Limit.optional(),
      cursor: Cursor.optional(),
      cwd: z.string().min(1).max(4_096).optional().openapi({ description: "Only threads that work in this folder." }),
      search: z.string().min(1).max(500).optional().openapi({ description: "Only threads whose title or beginning contains this text." }),
      archived: z.enum(["true", "false"]).optional(),
    }),
  },
  responses: { 200: json(ThreadPageResource, "A page."), ...problems() },
});

const GET = scoped("read", {
  method: "get",
  path: "/threads/{threadId}",
  operationId: "getThread",
  summary: "One thread, with the turns that run on it",
  request: { params: ID },
  responses: { 200: json(ThreadResource, "The thread."), ...problems(404) },
});

const CHANGE = scoped("call", {
  method: "patch",
  path: "/threads/{threadId}",
  operationId: "changeThread",
  summary: "Renames, archives or unarchives a thread",
  request: { params: ID, body: body(ThreadPatchBody) },
  responses: { 200: json(ThreadSummaryResource, "The updated thread."), ...problems(404, 409, 413, 415, 422, 504) },
});

const REMOVE = scoped("call", {
  method: "delete",
  path: "/threads/{threadId}",
  operationId: "deleteThread",
  summary: "Deletes a thread with all its content",
  request: { params: ID },
  responses: { 204: { description: "The thread is deleted." }, ...problems(404, 409, 422, 504) },
});

const FORK = scoped("call", {
  method: "post",
  path: "/threads/{threadId}/fork",
  operationId: "forkThread",
  summary: "Forks a thread: creates a new one with the same history",
  request: { params: ID },
  responses: { 201: json(ThreadSummaryResource, "The new thread."), ...problems(404, 409, 422, 504) },
});

const ITEMS = scoped("read", {
  method: "get",
  path: "/threads/{threadId}/items",
  operationId: "listItems",
  summary: "The thread's items, in pages",
  request: {
    params: ID,
    query: z.object({ limit: Limit.optional(), cursor: Cursor.optional(), order: z.enum(["newest", "oldest"]).optional() }),
  },
  responses: { 200: json(ItemPage, "A page."), ...problems(404) },
});

const ITEM = scoped("read", {
  method: "get",
  path: "/threads/{threadId}/items/{itemId}",
  operationId: "getItem",
  summary: "One item with its complete text",
  request: { params: ID.extend({ itemId: z.string().min(1).max(500) }) },
  responses: { 200: json(TimelineItem, "The item."), ...problems(404) },
});

const DIFF = scoped("read", {
  method: "get",
  path: "/threads/{threadId}/diff",
  operationId: "getDiff",
  summary: "What the agent's patches changed",
  request: { params: ID, query: z.object({ scope: z.enum(["turn", "thread"]).optional() }) },
  responses: { 200: json(ThreadDiff, "The files, each with its hunks."), ...problems(404) },
});

const PLAN = scoped("read", {
  method: "get",
  path: "/threads/{threadId}/plan",
  operationId: "getPlan",
  summary: "The agent's current or last plan",
  request: { params: ID },
  responses: { 200: json(z.object({ plan: orNull(PlanSteps) }), "The plan."), ...problems(404) },
});

const LINE = z.coerce.number().int().min(1).max(100_000_000);

const FILE = scoped("read", {
  method: "get",
  path: "/threads/{threadId}/file",
  operationId: "getFileLines",
  summary: "Lines of a text file in the thread's folder in its current state, with some lines around them",
  request: {
    params: ID,
    query: z.object({
      path: z.string().min(1).max(4_096).openapi({ description: "Relative to the thread's folder, or absolute." }),
      first: LINE.optional().openapi({ description: "Default: 1." }),
      last: LINE.optional().openapi({ description: "Default: `first`." }),
    }),
  },
  responses: { 200: json(FileLines, "At most 200 lines."), ...problems(404, 422, 504) },
});

export function threadRoutes({ agent: open }: Pick<ApiParts, "agent">) {
  return routes()
    .openapi(LIST, async (c) => {
      const [agent, ask] = [await open(), askOf(c.env)];
      const { limit = DEFAULT_THREADS, archived: wanted, ...query } = c.req.valid("query");
      const archived = wanted === "true";
      const page = await agent.watchable(ask, { limit, archived, ...query });
      const activities = await agent.activities(
        ask,
        page.threads.map(({ id }) => id),
      );
      const threads = page.threads.map((thread) => summaryView(thread, { archived, activity: activities.get(thread.id) }));
      return c.json({ threads, nextCursor: page.nextCursor ?? null }, 200);
    })
    .openapi(GET, async (c) => {
      const [agent, ask, threadId] = [await open(), askOf(c.env), idOf(c.req.valid("param"))];
      const timeline = await ThreadTimeline.read(agent, ask, threadId);
      const { stored, plan } = timeline;
      const { usage, settings } = stored;
      const summary = await summaryOf(agent, ask, { threadId, timeline });
      const turns = await agent.runningTurns(ask, threadId);
      const isWaiting = summary.state === "waiting";
      return c.json(
        {
          ...summary,
          model: settings?.model ?? null,
          effort: settings?.reasoningEffort ?? null,
          sandbox: settings?.sandboxPolicy?.type ?? null,
          approvalPolicy: settings?.approvalPolicy ?? null,
          usage: usage ? tokenCounts(usage.total_token_usage) : null,
          contextWindow: usage?.model_context_window ?? null,
          contextTokens: usage?.last_token_usage.total_tokens ?? null,
          turns: await Promise.all(turns.map((turn, at) => turnView(agent, turn, { isWaiting: at === 0 && isWaiting }))),
          plan: plan ?? null,
        },
        200,
      );
    })
    .openapi(CHANGE, async (c) => {
      const [agent, ask, threadId] = [await open(), askOf(c.env), idOf(c.req.valid("param"))];
      const { name, archived } = c.req.valid("json");
      if (name === undefined && archived === undefined) throw new InvalidArguments("Give `name`, `archived` or both.");
      if (name !== undefined) await agent.rename(ask, threadId, name);
      if (archived === true) await agent.archive(ask, threadId);
      if (archived === false) await agent.unarchive(ask, threadId);
      return c.json(await summaryOf(agent, ask, { threadId }), 200);
    })
    .openapi(REMOVE, async (c) => {
      const [agent, ask] = [await open(), askOf(c.env)];
      await agent.remove(ask, idOf(c.req.valid("param")));
      return c.body(null, 204);
    })
    .openapi(FORK, async (c) => {
      const [agent, ask] = [await open(), askOf(c.env)];
      const threadId = await agent.fork(ask, idOf(c.req.valid("param")));
      return c.json(await summaryOf(agent, ask, { threadId }), 201);
    })
    .openapi(ITEMS, async (c) => {
      const [agent, ask] = [await open(), askOf(c.env)];
      const { limit = DEFAULT_ITEMS, cursor, order = "newest" } = c.req.valid("query");
      const timeline = await ThreadTimeline.read(agent, ask, idOf(c.req.valid("param")));
      return c.json(timeline.page({ limit, cursor, order }), 200);
    })
    .openapi(ITEM, async (c) => {
      const [agent, ask] = [await open(), askOf(c.env)];
      const { itemId } = c.req.valid("param");
      const timeline = await ThreadTimeline.read(agent, ask, idOf(c.req.valid("param")), { whole: true });
      return c.json(timeline.item(itemId), 200);
    })
    .openapi(DIFF, async (c) => {
      const [agent, ask] = [await open(), askOf(c.env)];
      const { scope = "turn" } = c.req.valid("query");
      const { items, diff } = await ThreadTimeline.read(agent, ask, idOf(c.req.valid("param")));
      const patches = items.filter((item) => item.type === "patch" && item.status === "completed");
      const lastTurn = items.at(-1)?.turnId;
      const files = patches
        .filter(({ turnId }) => scope === "thread" || turnId === lastTurn)
        .flatMap((item) => (item.type === "patch" ? item.changes : []));
      return c.json({ source: files.length > 0 ? ("turn" as const) : ("none" as const), unifiedDiff: diff ?? "", files }, 200);
    })
    .openapi(FILE, async (c) => {
      const [agent, ask] = [await open(), askOf(c.env)];
      const { path: file, first = 1, last = first } = c.req.valid("query");
      const { path, firstLine, lines, totalLines, isCut } = await agent.excerpt(ask, idOf(c.req.valid("param")), { file, first, last });
      return c.json({ path, firstLine, lines: [...lines], totalLines: totalLines ?? null, truncated: isCut }, 200);
    })
    .openapi(PLAN, async (c) => {
      const [agent, ask] = [await open(), askOf(c.env)];
      const { plan } = await ThreadTimeline.read(agent, ask, idOf(c.req.valid("param")));
      return c.json({ plan: plan ?? null }, 200);
    });
}

/** Throws `InvalidUuid`. */
export function idOf({ threadId }: { readonly threadId: string }): ThreadId {
  return parseThreadId(threadId);
}

interface Known {
  readonly threadId: ThreadId;
  readonly timeline?: ThreadTimeline | undefined;
}

/** One thread as shown in lists. */
export async function summaryOf(agent: Agent, ask: Ask, { threadId, timeline }: Known): Promise<ThreadSummaryResource> {
  const { stored, isArchived, title } = timeline ?? (await ThreadTimeline.read(agent, ask, threadId));
  const activity: ThreadActivity | undefined = (await agent.activities(ask, [threadId])).get(threadId);
  const summary: ThreadSummary = {
    id: threadId,
    preview: oneLine(stored.preview ?? "", PREVIEW_LENGTH),
    // An engine may record a thread only with its first turn.
    cwd: stored.settings?.cwd ?? agent.feed.lastOf(ask.caller, "threadOpened", (entry) => entry.threadId === threadId)?.cwd ?? "",
    startedAt: new Date(timeOfUuid(threadId) ?? 0).toISOString(),
    lastUsedAt: new Date(stored.lastAt ?? timeOfUuid(threadId) ?? 0).toISOString(),
    ...(title !== undefined && { name: title }),
  };
  return summaryView(summary, { archived: isArchived, activity });
}
