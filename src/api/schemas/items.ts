import { z } from "@hono/zod-openapi";
import { FileDiff, FindingForm, orNull, PlanSteps, Time, Tokens } from "./common.js";

const ItemStatus = z.enum(["running", "completed", "failed", "declined"]);

/** What every item has. */
const COMMON = {
  id: z.string().openapi({ description: "Of this thread; the same in events and in pages as long as the turn is remembered." }),
  turnId: z.string().openapi({ description: "Items of one turn have the same." }),
  at: Time.nullable(),
  status: ItemStatus,
  truncated: z.boolean().optional().openapi({ description: "Long texts are cut; the item by itself has all of it." }),
};

function item<Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape, name: string) {
  return z.object({ type: z.literal(type), ...COMMON, ...shape }).openapi(name);
}

const UserMessage = item("userMessage", { text: z.string() }, "UserMessageItem");
const AgentMessage = item("agentMessage", { text: z.string().openapi({ description: "Markdown." }) }, "AgentMessageItem");
const Reasoning = item("reasoning", { summary: z.array(z.string()), content: z.array(z.string()) }, "ReasoningItem");
const Command = item(
  "command",
  {
    command: z.array(z.string()),
    commandText: z.string().openapi({ description: "As one would type it into a shell." }),
    cwd: z.string().nullable(),
    exitCode: z.number().nullable(),
    output: z.string().openapi({ description: "Standard output and error in the order they came; may hold ANSI sequences." }),
    durationMs: z.number().nullable(),
  },
  "CommandItem",
);
const Patch = item("patch", { changes: z.array(FileDiff) }, "PatchItem");
const ToolCall = item(
  "toolCall",
  {
    server: z.string().nullable().openapi({ description: "The MCP server it belongs to; null for a tool of the agent's own." }),
    tool: z.string(),
    arguments: z.unknown(),
    result: z.string().nullable(),
    error: z.string().nullable(),
    durationMs: z.number().nullable(),
  },
  "ToolCallItem",
);
const WebSearch = item("webSearch", { query: z.string() }, "WebSearchItem");
const Image = item("image", { path: z.string() }, "ImageItem");
const Plan = item("plan", { plan: PlanSteps }, "PlanItem");
const Review = item("review", { hint: z.string(), text: z.string().nullable(), findings: z.array(FindingForm) }, "ReviewItem");
const Compaction = item("compaction", { message: z.string() }, "CompactionItem");
const Notice = item("notice", { level: z.enum(["info", "warning", "error"]), text: z.string() }, "NoticeItem");
const TurnSummary = item(
  "turnSummary",
  {
    outcome: z.enum(["completed", "failed", "interrupted"]),
    message: z.string().nullable().openapi({ description: "Why it failed." }),
    usage: orNull(Tokens),
    costUsd: z.number().nullable().openapi({ description: "Null where the model's price is not configured." }),
    ms: z.number().nullable(),
  },
  "TurnSummaryItem",
);

/** One thing that was said or done on a thread. Pages and events have the same form. */
export const TimelineItem = z
  .discriminatedUnion("type", [
    UserMessage,
    AgentMessage,
    Reasoning,
    Command,
    Patch,
    ToolCall,
    WebSearch,
    Image,
    Plan,
    Review,
    Compaction,
    Notice,
    TurnSummary,
  ])
  .openapi("Item");
export type TimelineItem = z.infer<typeof TimelineItem>;

export const ItemPage = z
  .object({
    items: z.array(TimelineItem).openapi({ description: "In the order they happened, whichever end the page is taken from." }),
    nextCursor: z.string().nullable().openapi({ description: "For `cursor`; null at the end." }),
    eventsAfter: z.string().openapi({
      description:
        "The thread's events from here on tell what happens after this page: `?after=` or `Last-Event-ID`. Nothing is missed, nothing comes twice.",
    }),
  })
  .openapi("ItemPage");
export type ItemPage = z.infer<typeof ItemPage>;
