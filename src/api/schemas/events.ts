import { z } from "@hono/zod-openapi";
import { PlanSteps, Settlement, Time, Tokens } from "./common.js";
import { TimelineItem } from "./items.js";
import { Approval, TurnResource } from "./threads.js";

const THREAD = { threadId: z.uuid(), at: Time };
const TURN = { ...THREAD, turnId: z.string() };

function event<Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape, name: string) {
  return z.object({ type: z.literal(type), ...shape }).openapi(name);
}

/** Thread-level events: on the server's stream and on the thread's. */
export const STATE_EVENTS = [
  event(
    "hello",
    { at: Time, version: z.string(), instance: z.string().openapi({ description: "Changes with every restart." }) },
    "HelloEvent",
  ),
  event("reset", { at: Time, reason: z.string() }, "ResetEvent"),
  event("heartbeat", { at: Time }, "HeartbeatEvent"),
  event("thread.opened", { ...THREAD, cwd: z.string(), model: z.string(), origin: z.enum(["new", "stored"]) }, "ThreadOpenedEvent"),
  event(
    "thread.changed",
    { ...THREAD, change: z.enum(["renamed", "archived", "unarchived", "removed", "forked"]), name: z.string().nullable() },
    "ThreadChangedEvent",
  ),
  event("thread.closed", THREAD, "ThreadClosedEvent"),
  event("turn.queued", TURN, "TurnQueuedEvent"),
  event("turn.started", TURN, "TurnStartedEvent"),
  event("turn.ended", { ...TURN, status: z.enum(["completed", "failed", "interrupted"]), turn: TurnResource.optional() }, "TurnEndedEvent"),
  event(
    "approval.asked",
    { ...TURN, approvalId: z.string(), kind: z.enum(["command", "patch", "form"]), approval: Approval.optional() },
    "ApprovalAskedEvent",
  ),
  event("approval.settled", { ...TURN, approvalId: z.string(), settlement: Settlement }, "ApprovalSettledEvent"),
] as const;

/** Events inside a turn: only on its thread's stream. */
export const ITEM_EVENTS = [
  event("item.started", { ...TURN, item: TimelineItem }, "ItemStartedEvent"),
  event(
    "item.delta",
    {
      ...TURN,
      itemId: z.string(),
      field: z.enum(["text", "summary", "content", "output"]),
      index: z.number().int().openapi({ description: "The index in `summary` or `content`; 0 otherwise." }),
      delta: z.string(),
    },
    "ItemDeltaEvent",
  ),
  event("item.completed", { ...TURN, item: TimelineItem }, "ItemCompletedEvent"),
  event("turn.plan", { ...TURN, plan: PlanSteps }, "TurnPlanEvent"),
  event("turn.diff", { ...TURN, unifiedDiff: z.string(), truncated: z.boolean() }, "TurnDiffEvent"),
  event("turn.usage", { ...TURN, usage: Tokens, threadUsage: Tokens, contextWindow: z.number().nullable() }, "TurnUsageEvent"),
] as const;

/** The `data` of each event; the SSE field `event` equals `type`. */
export const ApiEvent = z.discriminatedUnion("type", [...STATE_EVENTS, ...ITEM_EVENTS]).openapi("Event");
export type ApiEvent = z.infer<typeof ApiEvent>;
export type ApiEventType = ApiEvent["type"];

export const EVENT_TYPES: readonly ApiEventType[] = [...STATE_EVENTS, ...ITEM_EVENTS].map(({ shape }) => shape.type.value);
