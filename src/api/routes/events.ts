import { z } from "@hono/zod-openapi";
import { checkScope } from "../../agent/caller.js";
import { type ApiParts, type ApiRequest, askOf } from "../base/apiParts.js";
import { ApiProblem } from "../base/problems.js";
import { ServerStream } from "../events/serverStream.js";
import { sendEvents } from "../events/sse.js";
import { placeNow, ThreadStream } from "../events/threadStream.js";
import { ThreadIdParam } from "../schemas/common.js";
import { ApiEvent, type ApiEventType, EVENT_TYPES } from "../schemas/events.js";
import { type EventSource, parseCursor } from "../timeline/eventSource.js";
import { problems, routes, scoped } from "./route.js";
import { idOf } from "./threads.js";

const CURSOR = z
  .string()
  .max(200)
  .optional()
  .openapi({ description: "The id of the last received event; without it, only new events are sent." });
const QUERY = z.object({
  after: CURSOR,
  types: z.string().max(1_000).optional().openapi({ description: "Only these event types, separated by commas." }),
});
const HEADERS = z.object({ "last-event-id": CURSOR });
const STREAM = {
  description: "Events, each with an `id`. A `reset` means that events were lost or that the server was restarted: reload the state.",
  content: { "text/event-stream": { schema: ApiEvent } },
};

const SERVER_EVENTS = scoped("read", {
  method: "get",
  path: "/events",
  operationId: "watchServer",
  summary: "Events of all threads that the caller may watch",
  request: { query: QUERY, headers: HEADERS },
  responses: { 200: STREAM, ...problems() },
});

const THREAD_EVENTS = scoped("read", {
  method: "get",
  path: "/threads/{threadId}/events",
  operationId: "watchThread",
  summary: "Events of one thread, including those inside its turns",
  request: { params: z.object({ threadId: ThreadIdParam }), query: QUERY, headers: HEADERS },
  responses: { 200: STREAM, ...problems(404) },
});

type EventParts = Pick<ApiParts, "agent" | "streams" | "version" | "instance">;

export function eventRoutes(parts: EventParts) {
  return routes()
    .openapi(SERVER_EVENTS, async (c) => {
      const agent = await parts.agent();
      const { types, after } = wantedOf(c.req.valid("query"), c.req.valid("header"));
      const stream = streaming(c.env);
      const ask = askOf({ ...c.env, signal: stream.signal });
      checkScope(c.env.caller, "read");
      // Throws for a caller inside a turn.
      await agent.activities(ask, []);
      await stream.send(new ServerStream({ agent, ask, after: after?.feed ?? agent.feed.now }), parts, types);
      return c.body(null, 200);
    })
    .openapi(THREAD_EVENTS, async (c) => {
      const agent = await parts.agent();
      const { types, after } = wantedOf(c.req.valid("query"), c.req.valid("header"));
      const threadId = idOf(c.req.valid("param"));
      const stream = streaming(c.env);
      const ask = askOf({ ...c.env, signal: stream.signal });
      // Throws when the caller has no such thread.
      await agent.story(ask, threadId);
      const place = after ?? (await placeNow(agent, ask, threadId));
      await stream.send(new ThreadStream({ agent, ask, threadId, after: place }), parts, types);
      return c.body(null, 200);
    });
}

function wantedOf(query: z.infer<typeof QUERY>, headers: z.infer<typeof HEADERS>) {
  const unknown = query.types?.split(",").find((type) => !EVENT_TYPES.some((known) => known === type.trim()));
  if (unknown !== undefined) throw new ApiProblem("invalid_request", `There are no events of the type ${unknown.slice(0, 60)}.`);
  const types = query.types && new Set(query.types.split(",").map((type) => type.trim() as ApiEventType));
  // A reconnecting browser sends the header, and the query of the original request.
  const cursor = headers["last-event-id"] || query.after;
  const after = cursor ? parseCursor(cursor) : undefined;
  if (cursor && !after) throw new ApiProblem("invalid_request", "`after` or Last-Event-ID is not the id of an event.");
  return { types: types || undefined, after };
}

/** A response whose production ends with its reader. */
function streaming(request: ApiRequest) {
  const ended = new AbortController();
  const signal = AbortSignal.any([request.signal, ended.signal]);
  return {
    signal,
    async send(
      source: EventSource,
      { version, instance, streams }: EventParts,
      types: ReadonlySet<ApiEventType> | undefined,
    ): Promise<void> {
      request.taken = true;
      const hello = { type: "hello", at: new Date().toISOString(), version, instance } as const;
      const { response, headers } = request;
      await sendEvents(response, source, { ...streams, headers, types, hello, signal, stop: () => ended.abort() });
    },
  };
}
