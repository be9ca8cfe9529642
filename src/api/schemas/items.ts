import { z } from "@hono/zod-openapi";
import { FileDiff, FindingForm, orNull, PlanSteps, Time, Tokens } from "./common.js";

const ItemStatus = z.enum(["running", "completed", "failed", "declined"]);

/** What every item has. */
const COMMON = {
  id: z.string().openapi({ description: "Unique in this thread; the same in events and in pages as long as the turn is kept." }),
  turnId: z.string().openapi({ description: "The same for all items of one turn." }),
  at: Time.nullable(),
  status: ItemStatus,
  truncated: z
    .boolean()
    .optional()
    .openapi({ description: "Long texts are shortened; requesting the single item returns the complete text." }),
};

function item<Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape, name: string) {
  return z.object({ type: z.literal(type), ...COMMON, ...shape }).openapi(name);
}

const UserMessage = item(
  "userMessage",
  { text: z.string(), images: z.number().int().openapi({ description: "How many images it has. They are not returned." }) },
  "UserMessageItem",
);
const AgentMessage = item("agentMessage", { text: z.string().openapi({ description: "Markdown." }) }, "AgentMessageItem");
const Reasoning = item("reasoning", { summary: z.array(z.string()), content: z.array(z.string()) }, "ReasoningItem");
const Command = item(
  "command",
  {
    command: z.array(z.string()),
    commandText: z.string().openapi({ description: "The command as shell text." }),
    cwd: z.string().nullable(),
    exitCode: z.number().nullable(),
    output: z.string().openapi({ description: "Standard output and error in order of arrival; may contain ANSI sequences." }),
    durationMs: z.number().nullable(),
  },
  "CommandItem",
);
const Patch = item("patch", { changes: z.array(FileDiff) }, "PatchItem");
const ToolCall = item(
  "toolCall",
  {
    server: z.string().nullable().openapi({ description: "The MCP server it belongs to; null for a built-in tool." }),
    tool: z.string(),
    arguments: z.unknown(),
    result: z.string().nullable(),
    error: z.string().nullable(),
    durationMs: z.number().nullable(),
  },
  "ToolCallItem",
);
const SubAgent = item(
  "subAgent",
  {
    name: z.string(),
    task: z.string().nullable().openapi({ description: "Its task; null if unknown." }),
    result: z
      .string()
      .nullable()
      .openapi({ description: "Its last message, or the reason for its failure. Null in records, which do not contain it." }),
    tokens: z.number().nullable().openapi({ description: "The tokens it used; not part of the turn's usage." }),
  },
  "SubAgentItem",
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

/** One message or action on a thread. Pages and events use the same form. */
export const TimelineItem = z
  .discriminatedUnion("type", [
    UserMessage,
    AgentMessage,
    Reasoning,
    Command,
    Patch,
    ToolCall,
    SubAgent,
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
    items: z.array(TimelineItem).openapi({ description: "In chronological order, whichever end the page is taken from." }),
    nextCursor: z.string().nullable().openapi({ description: "For `cursor`; null at the end." }),
    eventsAfter: z.string().openapi({
      description: "The cursor of the thread's events after this page, for `?after=` or `Last-Event-ID`. No event is missed or repeated.",
    }),
  })
  .openapi("ItemPage");
export type ItemPage = z.infer<typeof ItemPage>;
