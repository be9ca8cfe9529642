import { z } from "@hono/zod-openapi";
import type { Agent, Ask } from "../../agent/agent.js";
import { InvalidArguments } from "../../agent/errors.js";
import type { AskedSettings } from "../../agent/grantedSettings.js";
import { type ThreadId, turnIdOf } from "../../lib/ids.js";
import { waitFor } from "../../lib/promises.js";
import type { Turn } from "../../threads/turn.js";
import { type ApiParts, askOf } from "../base/apiParts.js";
import { ApiProblem } from "../base/problems.js";
import { ThreadIdParam } from "../schemas/common.js";
import { NewThreadBody, PromptBody, SteerBody, ThreadStart, TurnResource, TurnStart } from "../schemas/threads.js";
import type { TurnBook } from "../timeline/turnBook.js";
import { turnView } from "../timeline/views.js";
import { body, json, problems, routes, scoped } from "./route.js";
import { idOf, summaryOf } from "./threads.js";

const ID = z.object({ threadId: ThreadIdParam });
const TURN_ID = ID.extend({ turnId: z.string().min(1).max(100) });

const CREATE = scoped("call", {
  method: "post",
  path: "/threads",
  operationId: "createThread",
  summary: "Starts a thread, with its first turn or without one",
  request: { body: body(NewThreadBody) },
  responses: { 201: json(ThreadStart, "The thread, and the state of its turn."), ...problems(409, 413, 415, 422, 504) },
});

const PROMPT = scoped("call", {
  method: "post",
  path: "/threads/{threadId}/turns",
  operationId: "promptThread",
  summary: "Starts another turn on a thread; it waits behind a running one",
  request: { params: ID, body: body(PromptBody) },
  responses: { 201: json(TurnStart, "The state of the turn."), ...problems(404, 409, 413, 415, 422, 504) },
});

const GET = scoped("read", {
  method: "get",
  path: "/threads/{threadId}/turns/{turnId}",
  operationId: "getTurn",
  summary: "The state or result of a turn; `wait` waits for its end",
  request: { params: TURN_ID, query: z.object({ wait: z.coerce.number().min(0).max(600).optional() }) },
  responses: { 200: json(TurnResource, "The turn."), ...problems(404) },
});

const STEER = scoped("call", {
  method: "post",
  path: "/threads/{threadId}/steer",
  operationId: "steerThread",
  summary: "Adds instructions to the running turn",
  request: { params: ID, body: body(SteerBody) },
  responses: { 204: { description: "The turn accepted the text." }, ...problems(404, 409, 413, 415, 422, 504) },
});

const INTERRUPT = scoped("call", {
  method: "post",
  path: "/threads/{threadId}/interrupt",
  operationId: "interruptThread",
  summary: "Stops the running turn and those that wait behind it; responds when they have stopped",
  request: { params: ID },
  responses: { 204: { description: "No turn runs any more." }, ...problems(404, 409) },
});

const COMPACT = scoped("call", {
  method: "post",
  path: "/threads/{threadId}/compact",
  operationId: "compactThread",
  summary: "Starts a turn that replaces the thread's history by a summary",
  request: { params: ID },
  responses: { 201: json(TurnStart, "The state of the turn."), ...problems(404, 409, 422, 504) },
});

export function turnRoutes({ agent: open, book }: Pick<ApiParts, "agent"> & { readonly book: TurnBook }) {
  return routes()
    .openapi(CREATE, async (c) => {
      const [agent, ask] = [await open(), askOf(c.env)];
      const { prompt, images, wait = 0, ...named } = c.req.valid("json");
      if (prompt === undefined) {
        if (images) throw new InvalidArguments("Images need a `prompt` that they go with.");
        const { id: threadId } = await agent.open(ask, askedOf(named));
        return c.json({ turn: null, thread: await summaryOf(agent, ask, { threadId }) }, 201);
      }
      const turn = await agent.begin(ask, { text: prompt, images }, { ...askedOf(named), turnId: turnIdOf("0") });
      return c.json(await started(agent, ask, { turn, wait }), 201);
    })
    .openapi(PROMPT, async (c) => {
      const [agent, ask, threadId] = [await open(), askOf(c.env), idOf(c.req.valid("param"))];
      const { prompt, images, wait = 0, ...named } = c.req.valid("json");
      const turn = await agent.replyWith(ask, threadId, { text: prompt, images }, askedOf(named));
      return c.json(await started(agent, ask, { turn, wait }), 201);
    })
    .openapi(GET, async (c) => {
      const [agent, ask, threadId] = [await open(), askOf(c.env), idOf(c.req.valid("param"))];
      const { turnId } = c.req.valid("param");
      const { wait = 0 } = c.req.valid("query");
      const running = (await agent.runningTurns(ask, threadId)).find(({ key }) => key === turnId);
      if (running) return c.json(await seen(agent, ask, { turn: running, wait }), 200);
      const kept = book.find(threadId, turnId);
      if (!kept)
        throw new ApiProblem(
          "turn_not_found",
          `The thread has no turn ${turnId.slice(0, 60)} that is still kept; its items have the content.`,
        );
      return c.json(await kept, 200);
    })
    .openapi(STEER, async (c) => {
      const agent = await open();
      await agent.steer(askOf(c.env), idOf(c.req.valid("param")), c.req.valid("json").text);
      return c.body(null, 204);
    })
    .openapi(INTERRUPT, async (c) => {
      const agent = await open();
      await agent.stop(askOf(c.env), idOf(c.req.valid("param")));
      return c.body(null, 204);
    })
    .openapi(COMPACT, async (c) => {
      const [agent, ask] = [await open(), askOf(c.env)];
      const turn = await agent.compact(ask, idOf(c.req.valid("param")));
      return c.json(await started(agent, ask, { turn, wait: 0 }), 201);
    });
}

type NamedSettings = Omit<z.infer<typeof NewThreadBody>, "prompt" | "images" | "wait">;

function askedOf({ effort, config, ...named }: NamedSettings): AskedSettings {
  return { ...named, config: effort === undefined ? config : { ...config, model_reasoning_effort: effort } };
}

interface Waiting {
  readonly turn: Turn;
  /** Seconds. */
  readonly wait: number;
}

async function started(agent: Agent, ask: Ask, waiting: Waiting): Promise<z.infer<typeof TurnStart>> {
  const visit = agent.visit(waiting.turn);
  try {
    const turn = await seen(agent, ask, waiting);
    if (waiting.turn.ended) visit.received();
    return { turn, thread: await summaryOf(agent, ask, { threadId: waiting.turn.threadId }) };
  } finally {
    visit.leave();
  }
}

/**
 * The turn after the wait, or earlier if it ends. A waiting caller counts as a follower; afterwards, a turn without followers ends as
 * unattended.
 */
async function seen(agent: Agent, ask: Ask, { turn, wait }: Waiting): Promise<z.infer<typeof TurnResource>> {
  using _onlooker = agent.lookOn(turn);
  if (wait > 0) await waitFor(turn.outcome, { ms: wait * 1_000, signal: ask.signal });
  return turnView(agent, turn, { isWaiting: await isWaiting(agent, ask, turn.threadId) });
}

async function isWaiting(agent: Agent, ask: Ask, threadId: ThreadId): Promise<boolean> {
  return (await agent.activities(ask, [threadId])).get(threadId)?.state === "waiting";
}
